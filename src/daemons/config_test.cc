#include "daemons/config.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "base/random.h"

namespace banyan::daemons {
namespace {

class ConfigTest : public testing::Test {
 protected:
  ConfigTest()
      : path_(std::filesystem::temp_directory_path() /
              ("banyan-config-" + Rng(std::random_device{}()).uuid())) {}
  ~ConfigTest() override { std::filesystem::remove(path_); }
  std::string write(const std::string& text) {
    std::ofstream(path_) << text;
    return path_;
  }
  std::string error_of(const std::string& text) {
    const auto settings = load_host_settings(write(text));
    return settings ? "" : settings.error().message;
  }
  std::filesystem::path path_;
};

HostSettings host() {
  HostSettings settings;
  settings.id = {"h1"};
  settings.peer_listen = "127.0.0.1:7401";
  settings.peers = {{{"gateway"}, "127.0.0.1:7400"}};
  settings.cluster_secret = "quote \" and \\ backslash";
  settings.data_directory = "/data";
  settings.runtime_directory = "/run/b";
  settings.preload = {"numpy", "pandas"};
  settings.worker_memory_bytes = std::uint64_t{4} << 30;
  settings.worker_cpus = 1.5;
  return settings;
}

TEST_F(ConfigTest, WhatIsWrittenIsReadBack) {
  const auto back = load_host_settings(write(to_toml(host())));
  ASSERT_TRUE(back.has_value()) << back.error().message;
  EXPECT_EQ(back->id, HostId{"h1"});
  EXPECT_EQ(back->cluster_secret, host().cluster_secret);
  EXPECT_EQ(back->peers, host().peers);
  EXPECT_EQ(back->preload, host().preload);
  EXPECT_EQ(back->worker_memory_bytes, host().worker_memory_bytes);
  EXPECT_EQ(back->worker_cpus, 1.5);

  GatewaySettings gateway;
  gateway.token = "t";
  gateway.peer_listen = "127.0.0.1:7400";
  gateway.cluster_secret = "s";
  gateway.store_path = "/g.db";
  gateway.kernels = {{"python3", "Python"}, {"other", "Other"}};
  const auto again = load_gateway_settings(write(to_toml(gateway)));
  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_EQ(again->kernels.size(), 2U);
  EXPECT_EQ(again->kernels[1].display_name, "Other");
}

TEST_F(ConfigTest, AnUnknownKeyNamesFileLineAndTheNearestKey) {
  const std::string error = error_of(to_toml(host()) + "\nworker_memory_byte = 3\n");
  EXPECT_NE(error.find(path_.string() + ":"), std::string::npos) << error;
  EXPECT_NE(error.find("unknown key 'worker_memory_byte'"), std::string::npos) << error;
  EXPECT_NE(error.find("did you mean 'worker_memory_bytes'?"), std::string::npos) << error;
}

TEST_F(ConfigTest, WrongTypesRangesAndMissingKeysAreErrors) {
  EXPECT_NE(error_of("id = 3").find(":1: key 'id' is to be a text"), std::string::npos);
  EXPECT_NE(error_of("id = \"h1\"\nworker_pids = -1").find(":2: key 'worker_pids'"), std::string::npos);
  EXPECT_NE(error_of("sandbox = \"maybe\"").find("one of auto, bubblewrap, none"), std::string::npos);
  EXPECT_NE(error_of("id = \"h1\"").find("'peer_listen' is missing"), std::string::npos);
  EXPECT_NE(error_of("id = ").find(":1"), std::string::npos);
  EXPECT_FALSE(load_host_settings("/no/such/file").has_value());
}

}  // namespace
}  // namespace banyan::daemons
