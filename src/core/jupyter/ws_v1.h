// The sub-protocol v1.kernel.websocket.jupyter.org: a table of offsets, then the parts of the message.
// Source: Jupyter Server documentation, "WebSocket protocols"; the sides of jupyter_server and JupyterLab
// agree.
#pragma once

#include "core/jupyter/ws_protocol.h"

namespace banyan::jupyter {

/// Encodes a message as n as u64, n offsets as u64 (little endian, from the start of the frame), then
/// channel, header, parent_header, metadata, content and the buffers. The last offset is the end of the
/// frame.
Frame encode_v1(const Message& message);

/// Decodes a frame. kCorrupt when the table and the frame disagree, or the channel is unknown; kInvalid when
/// a part is no JSON object. An empty parent_header, metadata or content stands for {}. Buffers share
/// `bytes`.
Result<Message> decode_v1(const Blob& bytes);

}  // namespace banyan::jupyter
