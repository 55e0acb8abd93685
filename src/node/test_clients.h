// What the clients of one session have still to get, alone, for tests: the test says what leaves and what is
// confirmed, and sees what is sent.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "node/gateway_clients.h"
#include "node/test_gateway.h"

namespace banyan::node {

/// The buffer alone, with small limits.
class Clients : public ::testing::Test {
 protected:
  /// Limits in bytes.
  explicit Clients(std::uint64_t window = 1000, std::uint64_t buffer = 4000)
      : gateway(config(window, buffer), {1}, 1) {}

  /// An output of exactly 300 bytes.
  static jupyter::Message output(const std::string& text) {
    jupyter::Message message;
    message.channel = jupyter::Channel::kIopub;
    message.header = R"({"msg_type":"stream"})";
    std::string content = R"({"text":")" + text + "\"}";
    content.append(300 - message.size() - content.size(), ' ');
    message.content = Blob(content);
    return message;
  }
  static jupyter::Message reply(const std::string& text) {
    jupyter::Message message = output(text);
    message.channel = jupyter::Channel::kShell;
    return message;
  }
  /// Texts sent to the connection since the last call.
  std::vector<std::string> sent(ConnectionId connection) {
    for (auto& effect : gateway.finish()) {
      if (auto* to = std::get_if<ToClient>(&effect))
        inbox[to->id].push_back(TestGateway::json::parse(to->message.content.view())["text"]);
      if (auto* ping = std::get_if<PingClient>(&effect)) asked[ping->id].push_back(ping->messages);
      if (auto* close = std::get_if<CloseClient>(&effect)) closed[close->id] = close->code;
    }
    return std::exchange(inbox[connection], {});
  }
  void at(Duration time) { gateway.set_now({Time{} + time, {}}); }

  GatewayContext gateway;
  GatewayClients clients{gateway, {"s"}};
  std::map<ConnectionId, std::vector<std::string>> inbox;
  std::map<ConnectionId, std::vector<std::uint64_t>> asked;
  std::map<ConnectionId, int> closed;
  const ClientId a{"a"}, b{"b"};

 private:
  static GatewayConfig config(std::uint64_t window, std::uint64_t buffer) {
    GatewayConfig config;
    config.token = "secret";
    config.sizes.client_window = window;
    config.sizes.session_buffer = buffer;
    return config;
  }
};

}  // namespace banyan::node
