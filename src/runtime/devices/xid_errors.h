// The errors that NVIDIA's driver reports of a GPU, by their numbers (XIDs), and whose fault they are.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace banyan::runtime {

/// Whose fault an error is.
enum class XidFault : std::uint8_t {
  kApplication,  ///< of a program: it ends, and the GPU works on
  kDevice,       ///< of the GPU: no cell gets it until somebody has looked at it
};

/// What an XID stands for.
struct XidError {
  std::uint64_t xid = 0;
  XidFault fault = XidFault::kApplication;
  std::string_view meaning;  ///< for a person
};

/// What is known of an XID; nothing for one that says too little by itself, or that newer drivers have added.
std::optional<XidError> xid_error(std::uint64_t xid);

}  // namespace banyan::runtime
