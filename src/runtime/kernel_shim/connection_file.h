// The file that tells a kernel and its clients where to meet.
// Source: jupyter_client documentation, "Making kernels", Connection files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace banyan::runtime {

/// What a connection file says.
struct ConnectionFile {
  std::string transport = "tcp";  ///< tcp or ipc
  std::string ip = "127.0.0.1";   ///< with the transport ipc, the prefix of the sockets' paths
  std::string key;                ///< signs messages; empty when they are not signed
  std::uint32_t shell_port = 0;
  std::uint32_t control_port = 0;
  std::uint32_t stdin_port = 0;
  std::uint32_t iopub_port = 0;
  std::uint32_t hb_port = 0;

  /// The address of one of the ports, as ZMQ writes it.
  [[nodiscard]] std::string address(std::uint32_t port) const;
};

/// Reads the text of a connection file. kInvalid names the field that is missing or wrong. The only signature
/// scheme is hmac-sha256.
Result<ConnectionFile> parse_connection_file(std::string_view json);
/// Reads a connection file from the disk; kIo when it cannot be read.
Result<ConnectionFile> read_connection_file(const std::string& path);

}  // namespace banyan::runtime
