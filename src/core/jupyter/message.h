// A Jupyter message as Banyan carries it: the JSON parts stay text, buffers stay where they are.
// Source: Jupyter messaging protocol 5.4, "General message format".
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"

namespace banyan::jupyter {

/// The sockets of a kernel that carry messages.
enum class Channel : std::uint8_t { kShell, kControl, kIopub, kStdin };

/// The channel's name: "shell", "control", "iopub" or "stdin".
std::string_view name_of(Channel channel);
/// The inverse of name_of(); kInvalid for anything else.
Result<Channel> channel_of(std::string_view name);

/// One message. The four parts are JSON texts of objects; `content` and `buffers` may be large and are
/// shared.
struct Message {
  Channel channel = Channel::kShell;
  std::string header;
  std::string parent_header = "{}";
  std::string metadata = "{}";
  Blob content;
  std::vector<Blob> buffers;

  /// The bytes of all parts: what the message costs in a bounded queue.
  [[nodiscard]] std::size_t size() const;

  friend bool operator==(const Message&, const Message&) = default;
};

/// The fields of a header that Banyan reads. An absent field is empty. `date` is not among them:
/// jupyter_server's GatewayKernelClient sends it as a number, other clients as a text.
struct Header {
  std::string msg_id;
  std::string session;
  std::string username;
  std::string msg_type;
  std::string version;

  friend bool operator==(const Header&, const Header&) = default;
};

/// Parses a header or parent_header; kInvalid when it is no JSON object or a field has the wrong type.
Result<Header> parse_header(std::string_view text);

/// The object that a JSON text of a kernel is; null for anything else, and for one that nests deeper than
/// members_of() allows: to copy or to write such a value would overflow the stack.
nlohmann::json object_of(std::string_view text);

/// What a message made by Banyan itself needs beside its content.
struct Author {
  std::string session;  ///< header.session of the logical kernel
  std::string msg_id;   ///< fresh for each message
  WallTime date;
};

/// A message that Banyan makes in the kernel's name, in answer to `parent_header` (JSON text; "{}" for none).
/// `content` is JSON text.
Message make_message(Channel channel, std::string_view msg_type, std::string_view parent_header,
                     std::string content, const Author& author);

/// ISO 8601 with microseconds and `Z`, as clients parse it: 2026-11-21T04:00:00.000000Z.
std::string iso8601(WallTime time);

}  // namespace banyan::jupyter
