// `banyan kernel -f FILE`: what a kernelspec starts.
#pragma once

#include <string>

#include "runtime/kernel_shim/gateway_address.h"

namespace banyan::runtime {

/// What the command line of `banyan kernel` says.
struct KernelOptions {
  std::string connection_file;
  AddressOptions gateway;
  std::string kernel_name;  ///< of the gateway's kernelspec; empty for its default
};

/// Runs until the kernel is shut down and returns the process's exit code (KernelExit). Takes over SIGINT
/// (interrupts the running cell) and SIGTERM (deletes the kernel). Ends also when the process
/// JPY_PARENT_PID is gone. Passes KERNEL_* variables on. Messages go to stderr.
int kernel_main(const KernelOptions& options);

}  // namespace banyan::runtime
