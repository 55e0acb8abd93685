// `banyan kernel -f FILE`: what a kernelspec starts.
#pragma once

#include <string>

#include "runtime/kernel_shim/gateway_address.h"

namespace banyan::runtime {

/// What the command line of `banyan kernel` says.
struct KernelOptions {
  std::string connection_file;
  AddressOptions gateway;
  std::string kernel_name;  ///< a kernelspec of the gateway; empty for its default
};

/// Runs until the kernel is shut down, or the process JPY_PARENT_PID is gone, and returns the exit code
/// (KernelExit). SIGINT interrupts the running cell; SIGTERM deletes the kernel. KERNEL_* variables are
/// passed on. Messages go to stderr.
int kernel_main(const KernelOptions& options);

}  // namespace banyan::runtime
