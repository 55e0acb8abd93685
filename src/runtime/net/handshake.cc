#include "runtime/net/handshake.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/codec.h"
#include "base/hex.h"
#include "node/http_target.h"
#include "runtime/http/endpoint.h"

namespace banyan::runtime {

namespace {

constexpr std::size_t kNonceBytes = 32;
constexpr std::size_t kNameBytesMax = 255;
constexpr std::size_t kLogBytesMax = 1000;
constexpr std::string_view kPath = "peers";
constexpr const char* kNonceKey = "nonce";
constexpr const char* kListenKey = "listen";

std::string mac_of(const std::string& secret, std::string_view text) {
  std::string mac(32, '\0');
  unsigned int size = 0;
  const auto* done = HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
                          reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                          reinterpret_cast<unsigned char*>(mac.data()), &size);
  CHECK(done != nullptr && size == mac.size(), "OpenSSL computes an HMAC");
  return mac;
}

/// Takes the same time wherever the two differ.
bool same_mac(const std::string& a, const std::string& b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

/// The secret comes first: what else a stranger says is not looked at.
Result<Done> check_proof(const PeerProof& proof, const std::string& secret, const std::string& text) {
  if (!same_mac(proof.mac, mac_of(secret, text)))
    return fail(ErrorKind::kDenied,
                "the two daemons have different cluster secrets: they belong to different clusters, or "
                "'cluster_secret' is wrong in one of their files");
  if (!is_signed_by(proof.key, text, proof.signature))
    return fail(ErrorKind::kDenied, "a daemon shows a key and does not prove that the key is its own");
  return Done{};
}

tl::unexpected<Error> other_version() {
  return fail(ErrorKind::kInvalid,
              "the other side does not speak as a daemon of this version does; update all daemons of the "
              "cluster together");
}

/// Names are shown to people, and kept.
bool is_peer_name(std::string_view name) {
  return !name.empty() && name.size() <= kNameBytesMax &&
         std::ranges::none_of(name, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

}  // namespace

std::string fresh_nonce() {
  std::string nonce(kNonceBytes, '\0');
  CHECK(RAND_bytes(reinterpret_cast<unsigned char*>(nonce.data()), static_cast<int>(nonce.size())) == 1,
        "the system has random bytes");
  return nonce;
}

std::string for_log(std::string_view text) {
  std::string line(text.substr(0, kLogBytesMax));
  for (char& c : line)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  return line;
}

/// A client's proof names the listener's key too. Otherwise a daemon that knows the secret could pass the
/// proof that it gets as a listener on to another listener, and be taken for the client there.
std::string transcript(PeerRole role, const Meeting& meeting, const std::string& own_key,
                       const std::string& peer_key, const std::string& refusal) {
  Encoder out;
  out.put(std::string("banyan peers 1"));
  out.put(std::string(role == PeerRole::kListener ? "listener" : "client"));
  for (const std::string& field : {meeting.client, meeting.listener, meeting.address, meeting.client_nonce,
                                   meeting.listener_nonce, own_key, peer_key, refusal})
    out.put(field);
  return out.take();
}

PeerProof prove(const Identity& own, const std::string& secret, const std::string& text) {
  return {.key = own.key(), .signature = own.sign(text), .mac = mac_of(secret, text)};
}

ClientHandshake::ClientHandshake(Identity own, std::string secret, std::string name, std::string address,
                                 std::string peer, std::string nonce)
    : own_(std::move(own)),
      secret_(std::move(secret)),
      meeting_{.client = std::move(name),
               .listener = std::move(peer),
               .address = std::move(address),
               .client_nonce = std::move(nonce),
               .listener_nonce = {}} {}

std::string ClientHandshake::target() const {
  std::string text = "/" + std::string(kPath) + "/" + percent_encode(meeting_.client) + "?" + kNonceKey +
                     "=" + hex_text(meeting_.client_nonce);
  if (!meeting_.address.empty())
    text += std::string("&") + kListenKey + "=" + percent_encode(meeting_.address);
  return text;
}

Result<std::string> ClientHandshake::accept(std::string_view hello) {
  const auto said = decode<ListenerHello>(hello);
  if (!said || said->nonce.size() != kNonceBytes) return other_version();
  Meeting meeting = meeting_;
  meeting.listener = said->name;
  meeting.listener_nonce = said->nonce;
  const std::string text = transcript(PeerRole::kListener, meeting, said->proof.key, {}, {});
  if (const auto proven = check_proof(said->proof, secret_, text); !proven)
    return tl::unexpected(proven.error());
  if (said->name != meeting_.listener)
    return fail(ErrorKind::kConflict, "the daemon that listens there is " + for_log(said->name) + ", not " +
                                          meeting_.listener +
                                          "; correct the address in the file that names it");
  meeting_ = std::move(meeting);
  peer_key_ = said->proof.key;
  return said->proof.key;
}

std::string ClientHandshake::answer(const std::string& refusal) const {
  CHECK(!peer_key_.empty(), "a client proves itself to a listener that has proven itself");
  const std::string text = transcript(PeerRole::kClient, meeting_, own_.key(), peer_key_, refusal);
  return encode(ClientAnswer{.proof = prove(own_, secret_, text), .refusal = refusal});
}

ListenerHandshake::ListenerHandshake(Identity own, std::string secret, Meeting meeting)
    : own_(std::move(own)), secret_(std::move(secret)), meeting_(std::move(meeting)) {}

Result<ListenerHandshake> ListenerHandshake::begin(Identity own, std::string secret, std::string name,
                                                   std::string_view target, std::string nonce) {
  const node::HttpTarget parts = node::parse_target(target);
  if (parts.path.size() != 2 || parts.path[0] != kPath || !is_peer_name(parts.path[1]))
    return fail(ErrorKind::kNotFound, "daemons ask for /peers/NAME");
  const auto said = [&](const char* key) {
    const auto found = parts.query.find(key);
    return found == parts.query.end() ? std::string() : found->second;
  };
  auto client_nonce = bytes_of_hex(said(kNonceKey));
  if (!client_nonce || client_nonce->size() != kNonceBytes)
    return fail(ErrorKind::kDenied, "daemons of this version send a nonce; an earlier one does not");
  return ListenerHandshake(std::move(own), std::move(secret),
                           {.client = parts.path[1],
                            .listener = std::move(name),
                            .address = said(kListenKey),
                            .client_nonce = std::move(*client_nonce),
                            .listener_nonce = std::move(nonce)});
}

std::string ListenerHandshake::hello() const {
  const std::string text = transcript(PeerRole::kListener, meeting_, own_.key(), {}, {});
  return encode(ListenerHello{
      .name = meeting_.listener, .nonce = meeting_.listener_nonce, .proof = prove(own_, secret_, text)});
}

Result<ProvenClient> ListenerHandshake::accept(std::string_view answer) const {
  const auto said = decode<ClientAnswer>(answer);
  if (!said) return other_version();
  const std::string text =
      transcript(PeerRole::kClient, meeting_, said->proof.key, own_.key(), said->refusal);
  if (const auto proven = check_proof(said->proof, secret_, text); !proven)
    return tl::unexpected(proven.error());
  return ProvenClient{.key = said->proof.key, .refusal = for_log(said->refusal)};
}

std::string to_verdict(const std::string& refusal) {
  return encode(PeerVerdict{.welcome = refusal.empty(), .refusal = refusal});
}

Result<std::string> read_verdict(std::string_view verdict) {
  const auto said = decode<PeerVerdict>(verdict);
  if (!said || said->welcome != said->refusal.empty()) return other_version();
  return for_log(said->refusal);
}

}  // namespace banyan::runtime
