// How two daemons prove to each other who they are, before the first frame of a connection counts.
//
//   client                                        listener
//     GET /peers/NAME?nonce=…&listen=HOST:PORT  ->
//                                               <-  ListenerHello: its name, a nonce, its proof
//     ClientAnswer: its proof                   ->
//                                               <-  PeerVerdict: welcome, or why not
//
// A proof is a public key, a signature by it, and an HMAC-SHA256 with the cluster's secret. Both are of one
// transcript, which holds a version, the role of who proves, both names, both nonces, where the client
// listens, and the keys. So the secret is never shown, and a proof is worth nothing in another role, on
// another connection, for another name, address or key.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "runtime/net/identity.h"

namespace banyan::runtime {

/// The longest message of a handshake, in bytes.
inline constexpr std::size_t kHandshakeBytesMax = 16 << 10;

/// What a daemon shows in order to prove its name.
struct PeerProof {
  std::string key;        ///< Identity::key()
  std::string signature;  ///< of the transcript, with that key
  std::string mac;        ///< of the transcript, with the cluster's secret
};

/// The listener's first message. Messages are aggregates for base/codec.h: later versions append fields.
struct ListenerHello {
  std::string name;
  std::string nonce;
  PeerProof proof;
};

/// The client's answer. With a refusal the client does not want this listener; the proof makes sure that
/// nobody else says so.
struct ClientAnswer {
  PeerProof proof;
  std::string refusal;
};

/// The listener's last word.
struct PeerVerdict {
  bool welcome = false;  ///< frames follow
  std::string refusal;   ///< why not
};

/// 32 random bytes.
std::string fresh_nonce();

/// A peer's text as it may stand in a log: one line of printable characters, of bounded length.
std::string for_log(std::string_view text);

/// What both sides know of a connection.
struct Meeting {
  std::string client;    ///< its name
  std::string listener;  ///< its name
  std::string address;   ///< where the client listens, as HOST:PORT; empty when it does not say
  std::string client_nonce;
  std::string listener_nonce;
};

/// Which side of a connection proves something.
enum class PeerRole : std::uint8_t { kListener, kClient };

/// What a proof of `own_key` is of. `peer_key` is empty in the listener's, which does not know it yet. Each
/// field stands behind its length, so that no two proofs have the same transcript.
std::string transcript(PeerRole role, const Meeting& meeting, const std::string& own_key,
                       const std::string& peer_key, const std::string& refusal);
/// The proof of a transcript.
PeerProof prove(const Identity& own, const std::string& secret, const std::string& text);

/// The side that connects.
class ClientHandshake {
 public:
  /// `name` is this daemon's and `address` where it listens; `peer` is whom it wants to reach.
  ClientHandshake(Identity own, std::string secret, std::string name, std::string address, std::string peer,
                  std::string nonce = fresh_nonce());

  /// The target of the upgrade request.
  [[nodiscard]] std::string target() const;
  /// Reads the ListenerHello and returns the key that the listener has proven. kDenied when it does not know
  /// the secret or does not have the key, kConflict when it is another daemon, kInvalid for what is no hello.
  Result<std::string> accept(std::string_view hello);
  /// The ClientAnswer. It follows an accept() that did not fail; a refusal says why this daemon does not want
  /// the listener all the same.
  [[nodiscard]] std::string answer(const std::string& refusal = {}) const;

 private:
  Identity own_;
  std::string secret_;
  Meeting meeting_;
  std::string peer_key_;  ///< after accept()
};

/// What a client has proven.
struct ProvenClient {
  std::string key;
  std::string refusal;  ///< why the client does not want this daemon; empty when it does
};

/// The side that listens.
class ListenerHandshake {
 public:
  /// `name` is this daemon's, `target` that of the upgrade request. kNotFound for a target that is none of
  /// these, kDenied for one without a nonce, as daemons of earlier versions send it.
  static Result<ListenerHandshake> begin(Identity own, std::string secret, std::string name,
                                         std::string_view target, std::string nonce = fresh_nonce());

  /// The name that the client claims, and where it says it listens. Nothing is proven before accept().
  [[nodiscard]] const std::string& client() const { return meeting_.client; }
  [[nodiscard]] const std::string& address() const { return meeting_.address; }

  /// The ListenerHello.
  [[nodiscard]] std::string hello() const;
  /// Reads the ClientAnswer. kDenied when the client does not know the secret or does not have the key that
  /// it shows, kInvalid for what is no answer.
  [[nodiscard]] Result<ProvenClient> accept(std::string_view answer) const;

 private:
  ListenerHandshake(Identity own, std::string secret, Meeting meeting);

  Identity own_;
  std::string secret_;
  Meeting meeting_;
};

/// The PeerVerdict with this refusal; none: welcome.
std::string to_verdict(const std::string& refusal);
/// The refusal of a PeerVerdict; empty: welcome. kInvalid for what is no verdict.
Result<std::string> read_verdict(std::string_view verdict);

}  // namespace banyan::runtime
