// What clients asked and the gateway has not answered.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/jupyter/zmq_codec.h"

namespace banyan::runtime {

/// Requests in the order they came, each with the identities its reply goes back to. They are kept until they
/// are answered and sent again after a lost connection: the gateway takes each msg_id once.
class Pending {
 public:
  /// `messages_max`: beyond it the oldest is forgotten.
  explicit Pending(std::size_t messages_max = 65'536) : messages_max_(messages_max) {}

  /// Whether the kernel answers such a message on the channel it came on.
  static bool wants_reply(const jupyter::Header& header) { return header.msg_type.ends_with("_request"); }

  /// Takes a message of a client whose header is `header`. A msg_id that is known already is replaced.
  void add(const jupyter::Header& header, jupyter::WireMessage wire);

  /// The messages to send on a new connection, in order. What gets no reply (comm_msg, input_reply) counts as
  /// answered once it is taken here.
  std::vector<jupyter::Message> take_to_send();

  /// The identities that the request `msg_id` came from; empty when unknown.
  [[nodiscard]] std::vector<std::string> identities(const std::string& msg_id) const;
  /// The same; the request is answered with it.
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
