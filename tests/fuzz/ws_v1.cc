// Fuzzes v1.kernel.websocket.jupyter.org: binary frames of a hostile client.
#include <cstddef>
#include <cstdint>

#include "frame_check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace banyan;
  const Blob bytes(std::string(reinterpret_cast<const char*>(data), size));
  fuzz::check_frame(jupyter::SubProtocol::kV1, jupyter::FrameKind::kBinary, bytes);
  return 0;
}
