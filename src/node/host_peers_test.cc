#include "node/host_peers.h"

#include <gtest/gtest.h>

#include <variant>

namespace banyan::node {
namespace {

std::map<HostId, std::string> connected(HostPeers& peers, PeerAddresses said) {
  std::map<HostId, std::string> result;
  for (const HostEffect& effect : peers.take(std::move(said))) {
    if (const auto* connect = std::get_if<ConnectPeer>(&effect)) result[connect->peer] = connect->address;
    if (const auto* gone = std::get_if<DisconnectPeer>(&effect)) result[gone->peer] = "gone";
  }
  return result;
}

TEST(HostPeers, TheKeysOfOthersAreWhatTheGatewaySays) {
  HostPeers peers{{"h1"}};
  std::map<HostId, std::string> keys;
  for (const HostEffect& effect :
       peers.take({{{{"h2"}, "a:2"}, {{"h3"}, "a:3"}}, {{{"h1"}, "k1"}, {{"h2"}, "k2"}}}))
    if (const auto* connect = std::get_if<ConnectPeer>(&effect)) keys[connect->peer] = connect->key;
  EXPECT_EQ(keys, (std::map<HostId, std::string>{{{"h2"}, "k2"}, {{"h3"}, ""}})) << "of h3 none is known yet";
}

TEST(HostPeers, AHostIsConnectedToAllOthersThatThereAre) {
  HostPeers peers{{"h1"}};
  EXPECT_EQ(connected(peers, {{{{"h1"}, "a:1"}, {{"h2"}, "a:2"}, {{"h3"}, "a:3"}}}),
            (std::map<HostId, std::string>{{{"h2"}, "a:2"}, {{"h3"}, "a:3"}}));
  EXPECT_EQ(connected(peers, {{{{"h1"}, "a:1"}, {{"h3"}, "b:3"}}}),
            (std::map<HostId, std::string>{{{"h2"}, "gone"}, {{"h3"}, "b:3"}}));
  EXPECT_EQ(connected(peers, {}), (std::map<HostId, std::string>{{{"h3"}, "gone"}}));
}

}  // namespace
}  // namespace banyan::node
