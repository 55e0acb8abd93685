#include "core/jupyter/ws_protocol.h"

#include <utility>

#include "core/jupyter/json_text.h"
#include "core/jupyter/ws_legacy.h"
#include "core/jupyter/ws_v1.h"

namespace banyan::jupyter {

namespace {

bool all_utf8(const Message& message) {
  return is_utf8(message.header) && is_utf8(message.parent_header) && is_utf8(message.metadata) &&
         is_utf8(message.content.view());
}

Message repaired(const Message& message) {
  return {.channel = message.channel,
          .header = repair_utf8(message.header),
          .parent_header = repair_utf8(message.parent_header),
          .metadata = repair_utf8(message.metadata),
          .content = Blob(repair_utf8(message.content.view())),
          .buffers = message.buffers};
}

}  // namespace

std::size_t Frame::size() const {
  std::size_t bytes = 0;
  for (const Blob& piece : pieces) bytes += piece.size();
  return bytes;
}

std::string Frame::joined() const {
  std::string bytes;
  bytes.reserve(size());
  for (const Blob& piece : pieces) bytes += piece.view();
  return bytes;
}

SubProtocol choose_sub_protocol(std::string_view offered) {
  while (!offered.empty()) {
    const std::size_t comma = offered.find(',');
    std::string_view name = offered.substr(0, comma);
    offered = comma == std::string_view::npos ? std::string_view() : offered.substr(comma + 1);
    while (!name.empty() && (name.front() == ' ' || name.front() == '\t')) name.remove_prefix(1);
    while (!name.empty() && (name.back() == ' ' || name.back() == '\t')) name.remove_suffix(1);
    if (name == kV1Name) return SubProtocol::kV1;
  }
  return SubProtocol::kLegacy;
}

Result<Frame> encode_frame(SubProtocol protocol, const Message& message) {
  if (!all_utf8(message)) return encode_frame(protocol, repaired(message));
  if (protocol == SubProtocol::kV1) return encode_v1(message);
  return encode_legacy(message);
}

tl::expected<Message, Violation> decode_frame(SubProtocol protocol, FrameKind kind, const Blob& bytes) {
  if (protocol == SubProtocol::kV1 && kind == FrameKind::kText) {
    return tl::unexpected<Violation>({1003, std::string(kV1Name) + " has binary frames only"});
  }
  Result<Message> message = protocol == SubProtocol::kV1 ? decode_v1(bytes)
                            : kind == FrameKind::kText   ? decode_legacy_text(bytes)
                                                         : decode_legacy_binary(bytes);
  if (message) return std::move(*message);
  const int code = message.error().kind == ErrorKind::kInvalid ? 1007 : 1002;
  return tl::unexpected<Violation>({code, std::move(message.error().message)});
}

}  // namespace banyan::jupyter
