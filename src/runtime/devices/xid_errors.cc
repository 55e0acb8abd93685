#include "runtime/devices/xid_errors.h"

#include <algorithm>
#include <array>

namespace banyan::runtime {

namespace {

using enum XidFault;

// Source: NVIDIA, "XID Errors", its catalog (https://docs.nvidia.com/deploy/xid-errors), and "GPU Memory
// Error Management" for 63, 64, 94 and 95. A GPU is faulty where these ask for a reset of the GPU or of the
// machine, be it at once or when it is convenient. That it is an application's fault follows where they ask
// to restart the application alone. Two are decided otherwise. 109 asks for a reset, but a program can cause
// it, and NVIDIA's device plugin for Kubernetes counts it among the errors of applications: one person's cell
// must not take a GPU from everybody. 155 asks for a reset, and links that are put to sleep on purpose raise
// it too: it is not listed. What 144 to 150 (NVLink 5) and 154 ask for depends on more than their number, so
// they are not listed either.
constexpr std::array kErrors = {
    XidError{8, kApplication, "the GPU stopped processing"},
    XidError{11, kApplication, "an invalid or corrupted push buffer"},
    XidError{13, kApplication, "an exception of the graphics engine"},
    XidError{25, kApplication, "an invalid or illegal push buffer"},
    XidError{31, kApplication, "a page fault in the GPU's memory"},
    XidError{32, kApplication, "an invalid or corrupted push buffer"},
    XidError{39, kApplication, "an exception of a copy engine"},
    XidError{40, kApplication, "an exception of a copy engine"},
    XidError{41, kApplication, "an exception of a copy engine"},
    XidError{43, kApplication, "the GPU stopped the program"},
    XidError{45, kApplication, "the program was torn down after an earlier error"},
    XidError{46, kDevice, "the GPU stopped processing and needs a reset"},
    XidError{48, kDevice, "an uncorrectable memory error (double bit)"},
    XidError{60, kApplication, "an exception of the video processor"},
    XidError{62, kDevice, "a microcontroller of the GPU halted"},
    XidError{63, kDevice, "memory was taken out of service, which a reset completes"},
    XidError{64, kDevice, "memory could not be taken out of service"},
    XidError{68, kApplication, "an exception of the video decoder"},
    XidError{69, kApplication, "a class error of the graphics engine"},
    XidError{74, kDevice, "an error of an NVLink connection"},
    XidError{79, kDevice, "the GPU has fallen off the bus"},
    XidError{80, kApplication, "corrupted data was sent to the GPU"},
    XidError{94, kDevice, "a memory error that hit one program, after which a reset is due"},
    XidError{95, kDevice, "a memory error that may have hit any program"},
    XidError{109, kApplication, "a switch between programs took too long"},
    XidError{110, kDevice, "a security fault"},
    XidError{119, kDevice, "the GPU's system processor does not answer"},
    XidError{120, kDevice, "an error in the GPU's system processor"},
    XidError{136, kDevice, "a link could not be trained"},
    XidError{137, kApplication, "an illegal access over NVLink"},
    XidError{140, kDevice, "an uncorrectable memory error that could not be handled"},
    XidError{143, kDevice, "the GPU could not be initialised"},
    XidError{156, kDevice, "a part of the GPU was taken out of service, which a reset completes"},
    XidError{158, kDevice, "a fatal timeout of the GPU"},
};
static_assert(std::ranges::is_sorted(kErrors, {}, &XidError::xid));

}  // namespace

std::optional<XidError> xid_error(std::uint64_t xid) {
  const auto* const found = std::ranges::lower_bound(kErrors, xid, {}, &XidError::xid);
  if (found == kErrors.end() || found->xid != xid) return std::nullopt;
  return *found;
}

}  // namespace banyan::runtime
