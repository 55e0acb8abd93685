// What every accepted WebSocket frame must satisfy.
#pragma once

#include "base/check.h"
#include "core/jupyter/json_text.h"
#include "core/jupyter/ws_protocol.h"

namespace banyan::fuzz {

/// Decodes `bytes` and aborts unless it is refused or gives a message that both sub-protocols carry
/// unchanged.
inline void check_frame(jupyter::SubProtocol protocol, jupyter::FrameKind kind, const Blob& bytes) {
  const auto message = jupyter::decode_frame(protocol, kind, bytes);
  if (!message) return;
  CHECK(jupyter::parse_header(message->header), "an accepted header is readable");
  CHECK(jupyter::check_object(message->parent_header), "an accepted parent_header is an object");
  CHECK(jupyter::check_object(message->metadata), "accepted metadata is an object");
  CHECK(jupyter::check_object(message->content.view()), "accepted content is an object");
  for (const auto out : {jupyter::SubProtocol::kLegacy, jupyter::SubProtocol::kV1}) {
    const auto frame = jupyter::encode_frame(out, *message);
    CHECK(frame, "a small message is never too large");
    const auto back = jupyter::decode_frame(out, frame->kind, Blob(frame->joined()));
    CHECK(back && *back == *message, "encoding and decoding are inverse");
  }
}

}  // namespace banyan::fuzz
