// Frames of the state channel and of the zygote's control socket (docs/internals/worker.md).
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "runtime/worker/memfd.h"

namespace banyan::runtime {

/// Blobs of this size and more travel in a memfd.
inline constexpr std::size_t kMemfdBlobMin = std::size_t{64} << 10;
inline constexpr std::size_t kFrameJsonMax = std::size_t{256} << 20;
inline constexpr std::size_t kFramePayloadMax = std::size_t{1} << 30;

/// A frame that was received. `body` is a JSON object.
struct Frame {
  nlohmann::json body;
  Blob payload;
  Blob memfd;  ///< mapped read-only; empty when the frame brought none

  /// The bytes to which a blob reference of the body leads; they are shared with the frame. kCorrupt when it
  /// is no reference or leads outside the frame.
  [[nodiscard]] Result<Blob> blob(const nlohmann::json& reference) const;
};

/// A frame to be sent.
struct Outgoing {
  nlohmann::json body;
  std::vector<Blob> payload;
  std::vector<Blob> memfd;
  std::vector<UniqueFd> fds;  ///< file descriptors other than the memfd

  /// Adds a blob and returns its reference for the body.
  nlohmann::json add(const Blob& blob);
  /// How many bytes seal() copies.
  [[nodiscard]] std::size_t memfd_bytes() const { return memfd_end_; }

 private:
  std::size_t payload_end_ = 0;
  std::size_t memfd_end_ = 0;
};

/// An outgoing frame as bytes and file descriptors. The descriptors ride on the first byte.
struct SealedFrame {
  std::vector<Blob> parts;
  std::vector<UniqueFd> fds;
};

/// Makes a frame ready to be sent, and writes its memfd if it has one. It touches no shared state and may run
/// on another thread.
Result<SealedFrame> seal(Outgoing outgoing);

/// Reads frames from a non-blocking Unix stream socket, piece by piece. After an error it must not be used.
class FrameReader {
 public:
  /// `socket` outlives the reader.
  explicit FrameReader(int socket) : socket_(socket) {}

  /// The next frame, or nothing when the rest has not arrived or `budget` bytes were read in this call.
  /// kUnavailable at end of file, kCorrupt when the peer breaks the protocol.
  Result<std::optional<Frame>> next(std::size_t budget);

 private:
  enum class Part { kHeader, kJson, kPayload };

  Result<std::size_t> receive_header();
  Result<std::size_t> receive_body(std::size_t budget);
  Result<Done> start_body();
  Result<Frame> finish();

  int socket_;
  Part part_ = Part::kHeader;
  std::string bytes_;  ///< the part that is being received
  std::size_t wanted_ = 16;
  std::size_t got_ = 0;
  std::size_t payload_size_ = 0;
  nlohmann::json body_;
  std::vector<UniqueFd> fds_;
};

}  // namespace banyan::runtime
