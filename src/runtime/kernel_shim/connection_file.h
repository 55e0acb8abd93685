// The file that tells a kernel and its clients where to meet.
// Source: jupyter_client documentation, "Making kernels", Connection files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace banyan::runtime {

struct ConnectionFile {
  std::string transport = "tcp";  ///< tcp or ipc
  std::string ip = "127.0.0.1";   ///< for ipc, the prefix of the sockets' paths
  std::string key;                ///< of the signatures; empty for none
  std::uint32_t shell_port = 0;
  std::uint32_t control_port = 0;
  std::uint32_t stdin_port = 0;
  std::uint32_t iopub_port = 0;
  std::uint32_t hb_port = 0;

  /// ZMQ's address of one of the ports.
  [[nodiscard]] std::string address(std::uint32_t port) const;
};

/// kInvalid names the field that is missing or wrong; the only signature scheme is hmac-sha256.
Result<ConnectionFile> parse_connection_file(std::string_view json);
/// Reads it from disk; kIo when it cannot be read.
Result<ConnectionFile> read_connection_file(const std::string& path);

}  // namespace banyan::runtime
