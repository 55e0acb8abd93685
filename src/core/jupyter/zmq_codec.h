// Jupyter's ZMQ wire format: multipart frames with a signature.
// Source: Jupyter messaging protocol 5.4, "The wire protocol".
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/jupyter/message.h"

namespace banyan::jupyter {

/// Signs and checks messages with a connection file's key: HMAC-SHA256 in lower-case hex. Immutable; copies
/// share the key.
class Signer {
 public:
  /// What a signature covers: header, parent_header, metadata and content. Buffers are not signed.
  using Parts = std::array<std::string_view, 4>;

  /// An empty key turns signing off: signatures are empty and not checked.
  explicit Signer(std::string_view key);

  [[nodiscard]] std::string sign(const Parts& parts) const;
  /// Whether the signature is right. It takes the same time wherever two signatures differ.
  [[nodiscard]] bool verify(std::string_view signature, const Parts& parts) const;

 private:
  std::shared_ptr<const void> keyed_;  ///< an EVP_MAC_CTX that holds the key; null when signing is off
};

/// A message with the routing frames before `<IDS|MSG>`: a client's identities on a ROUTER, the topic on
/// iopub.
struct WireMessage {
  std::vector<std::string> identities;
  Message message;
};

/// The frames of a message: identities, delimiter, signature, the four parts, buffers. Content and buffers
/// are shared, not copied.
std::vector<Blob> to_wire(std::span<const std::string> identities, const Message& message,
                          const Signer& signer);

/// The inverse of to_wire(). Content and buffers stay views of their frames. The parts are not parsed: who
/// holds the key may still send JSON that is wrong. kInvalid when the frames are no Jupyter message, kDenied
/// when the signature does not fit.
Result<WireMessage> from_wire(Channel channel, std::span<const Blob> frames, const Signer& signer);

}  // namespace banyan::jupyter
