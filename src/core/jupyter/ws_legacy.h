// The legacy sub-protocol: a message is one JSON object with its channel in it; with buffers, a binary frame
// of the JSON and the buffers.
// Source: Jupyter Server documentation, "WebSocket protocols"; the sides of jupyter_server and JupyterLab
// agree.
#pragma once

#include "core/jupyter/ws_protocol.h"

namespace banyan::jupyter {

/// Without buffers a text frame. With them a binary frame: n as u32, n offsets as u32 (big endian, from the
/// start of the frame), JSON, n-1 buffers. msg_id and msg_type stand at top level too, where jupyter_server's
/// gateway client looks for them. kTooLarge: the JSON and all buffers but the last exceed 4 GiB.
Result<Frame> encode_legacy(const Message& message);

/// kInvalid: no JSON object, or a part of it is none, or the channel is unknown. An absent channel is shell,
/// an absent or null parent_header, metadata or content is {}. The content shares `bytes`.
Result<Message> decode_legacy_text(const Blob& bytes);
/// Also kCorrupt: the offsets and the frame disagree. Buffers share `bytes`.
Result<Message> decode_legacy_binary(const Blob& bytes);

}  // namespace banyan::jupyter
