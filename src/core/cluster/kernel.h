// A kernel on a host: whether the host can run it, and with which Python.
#pragma once

#include <cstdint>
#include <string>

namespace banyan::cluster {

/// Whether a host can run a kernel.
enum class KernelState : std::uint8_t {
  kChecking,  ///< its Python is being tried
  kRuns,
  kCannot
};

/// A kernel that a host's configuration names.
struct KernelReport {
  std::string name;  ///< empty: the gateway's default kernel, whatever that is called
  KernelState state = KernelState::kChecking;
  std::string python;  ///< the version of its interpreter, "3.11.2"; empty while it is not known
  std::string reason;  ///< why it cannot be run, for a person

  friend bool operator==(const KernelReport&, const KernelReport&) = default;
};

/// "3.11" of "3.11.2": versions of Python whose values load in each other. Empty when it is not known.
std::string minor_version(const std::string& python);

}  // namespace banyan::cluster
