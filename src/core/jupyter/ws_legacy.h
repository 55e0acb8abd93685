// The legacy sub-protocol: a message is one JSON object with its channel in it; with buffers, a binary frame
// of the JSON and the buffers.
// Source: Jupyter Server documentation, "WebSocket protocols"; the sides of jupyter_server and JupyterLab
// agree.
#pragma once

#include "core/jupyter/ws_protocol.h"

namespace banyan::jupyter {

/// Encodes a message: without buffers as a text frame, with buffers as a binary frame: n as u32, n offsets as
/// u32 (big endian, from the start of the frame), JSON, n-1 buffers. msg_id and msg_type stand at top level
/// too, where jupyter_server's gateway client looks for them. kTooLarge: the JSON and all buffers but the
/// last exceed 4 GiB.
Result<Frame> encode_legacy(const Message& message);

/// Decodes a text frame. kInvalid when it or a part of it is no JSON object, or the channel is unknown. An
/// absent channel means shell; an absent or null parent_header, metadata or content means {}. The content
/// shares `bytes`.
Result<Message> decode_legacy_text(const Blob& bytes);
/// Decodes a binary frame; also kCorrupt, when the offsets and the frame disagree. Buffers share `bytes`.
Result<Message> decode_legacy_binary(const Blob& bytes);

}  // namespace banyan::jupyter
