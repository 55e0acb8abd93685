#include "runtime/kernel_shim/connection_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace banyan::runtime {

using nlohmann::json;

std::string ConnectionFile::address(std::uint32_t port) const {
  if (transport == "ipc") return "ipc://" + ip + "-" + std::to_string(port);
  const bool bracket = ip.find(':') != std::string::npos;
  return "tcp://" + (bracket ? "[" + ip + "]" : ip) + ":" + std::to_string(port);
}

Result<ConnectionFile> parse_connection_file(std::string_view text) {
  const json file = json::parse(text, nullptr, false);
  if (!file.is_object()) return fail(ErrorKind::kInvalid, "the connection file is no JSON object");
  ConnectionFile out;
  try {
    out.transport = file.value("transport", out.transport);
    out.ip = file.value("ip", out.ip);
    out.key = file.value("key", out.key);
    if (file.value("signature_scheme", "hmac-sha256") != "hmac-sha256") {
      return fail(ErrorKind::kInvalid, "the connection file's signature_scheme must be hmac-sha256");
    }
  } catch (const json::exception&) {
    return fail(ErrorKind::kInvalid,
                "transport, ip, key and signature_scheme of a connection file are strings");
  }
  if (out.transport != "tcp" && out.transport != "ipc") {
    return fail(ErrorKind::kInvalid,
                "the connection file's transport must be tcp or ipc, not " + out.transport);
  }
  const std::uint32_t port_max = out.transport == "tcp" ? 65535 : ~std::uint32_t{0};
  for (const auto& [name, port] : {std::pair("shell_port", &out.shell_port),
                                   {"control_port", &out.control_port},
                                   {"stdin_port", &out.stdin_port},
                                   {"iopub_port", &out.iopub_port},
                                   {"hb_port", &out.hb_port}}) {
    const auto field = file.find(name);
    if (field == file.end() || !field->is_number_unsigned() || field->get<std::uint64_t>() == 0 ||
        field->get<std::uint64_t>() > port_max) {
      return fail(ErrorKind::kInvalid, std::string("the connection file needs a port number as ") + name);
    }
    *port = field->get<std::uint32_t>();
  }
  return out;
}

Result<ConnectionFile> read_connection_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return fail(ErrorKind::kIo, "cannot read the connection file " + path + ": " + std::strerror(errno));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  auto parsed = parse_connection_file(text);
  if (!parsed) return fail(parsed.error().kind, path + ": " + parsed.error().message);
  return parsed;
}

}  // namespace banyan::runtime
