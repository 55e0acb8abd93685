// The requests of clients that the gateway has not answered.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/jupyter/zmq_codec.h"

namespace banyan::runtime {

/// Requests in the order in which they came, each with the identities to which its reply goes. They are kept
/// until they are answered, and sent again after a lost connection: the gateway takes each msg_id once.
class Pending {
 public:
  /// Beyond `messages_max` requests the oldest is forgotten.
  explicit Pending(std::size_t messages_max = 65'536) : messages_max_(messages_max) {}

  /// Whether the kernel answers such a message on the channel on which it came.
  static bool wants_reply(const jupyter::Header& header) { return header.msg_type.ends_with("_request"); }

  /// Takes a message of a client whose header is `header`. A msg_id that is known already is replaced.
  void add(const jupyter::Header& header, jupyter::WireMessage wire);

  /// The messages to send on a new connection, in order. A message that gets no reply (comm_msg, input_reply)
  /// counts as answered once it is taken here.
  std::vector<jupyter::Message> take_to_send();

  /// The identities of the client that sent the request `msg_id`; empty when it is unknown.
  [[nodiscard]] std::vector<std::string> identities(const std::string& msg_id) const;
  /// Returns the same identities as above, and counts the request as answered from now on.
  std::vector<std::string> answered(const std::string& msg_id);

  [[nodiscard]] std::size_t size() const { return by_place_.size(); }

 private:
  struct Entry {
    std::string msg_id;
    bool wants_reply = false;
    jupyter::WireMessage wire;
  };

  std::size_t messages_max_;
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, Entry> by_place_;
  std::map<std::string, std::uint64_t> places_;
};

}  // namespace banyan::runtime
