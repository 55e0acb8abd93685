// The two WebSocket sub-protocols of Jupyter, behind one pair of calls.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "core/jupyter/message.h"

namespace banyan::jupyter {

/// How messages lie in WebSocket frames. A client that offers no sub-protocol speaks the legacy one.
enum class SubProtocol : std::uint8_t { kLegacy, kV1 };

/// Value of Sec-WebSocket-Protocol for SubProtocol::kV1; the legacy one has none.
inline constexpr std::string_view kV1Name = "v1.kernel.websocket.jupyter.org";

/// WebSocket's two kinds of data frames (RFC 6455).
enum class FrameKind : std::uint8_t { kText, kBinary };

/// One WebSocket message: the pieces follow each other. Large contents and buffers are pieces of their own
/// and stay where they are.
struct Frame {
  FrameKind kind = FrameKind::kText;
  std::vector<Blob> pieces;

  /// Bytes of all pieces.
  [[nodiscard]] std::size_t size() const;
  /// The pieces in one string.
  [[nodiscard]] std::string joined() const;
};

/// Why a frame is refused: the close code of RFC 6455 (1002 broken framing, 1003 wrong kind of frame, 1007
/// text that is no valid JSON) and what a person should know.
struct Violation {
  int close_code = 1002;
  std::string reason;

  friend bool operator==(const Violation&, const Violation&) = default;
};

/// The sub-protocol to speak with a client whose Sec-WebSocket-Protocol header is `offered` (names separated
/// by commas; empty when absent).
SubProtocol choose_sub_protocol(std::string_view offered);

/// `message` as a frame. Bytes of its parts that are not UTF-8 become U+FFFD: they would end the connection
/// of a client. Fails with kTooLarge only: the legacy framing counts in 32 bits.
Result<Frame> encode_frame(SubProtocol protocol, const Message& message);

/// The message within one WebSocket message of any origin. Its parts are valid JSON objects in UTF-8; its
/// buffers share `bytes`.
tl::expected<Message, Violation> decode_frame(SubProtocol protocol, FrameKind kind, const Blob& bytes);

}  // namespace banyan::jupyter
