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
  settings.peer_listen = "0.0.0.0:7401";
  settings.advertise = "127.0.0.1:7401";
  settings.peers = {{{"gateway"}, "127.0.0.1:7400"}};
  settings.cluster_secret = "quote \" and \\ backslash";
  settings.gateway_key = std::string(64, 'a');
  settings.data_directory = "/data";
  settings.runtime_directory = "/run/b";
  settings.preload = {"numpy", "pandas"};
  settings.kernels = {{.name = "python3", .python = {}, .python_path = {}, .preload = {}},
                      {.name = "torch",
                       .python = "/opt/torch/bin/python",
                       .python_path = "/opt/more",
                       .preload = std::vector<std::string>{}}};
  settings.worker_memory_bytes = std::uint64_t{4} << 30;
  settings.worker_cpus = 1.5;
  return settings;
}

TEST_F(ConfigTest, WhatIsWrittenIsReadBack) {
  const auto back = load_host_settings(write(to_toml(host())));
  ASSERT_TRUE(back.has_value()) << back.error().message;
  EXPECT_EQ(back->id, HostId{"h1"});
  EXPECT_EQ(back->cluster_secret, host().cluster_secret);
  EXPECT_EQ(back->gateway_key, host().gateway_key);
  EXPECT_EQ(back->peers, host().peers);
  EXPECT_EQ(back->preload, host().preload);
  ASSERT_EQ(back->kernels.size(), 2U);
  EXPECT_EQ(back->kernels[0].name, "python3");
  EXPECT_EQ(back->kernels[0].python, "");
  EXPECT_FALSE(back->kernels[0].preload.has_value()) << "the host's";
  EXPECT_EQ(back->kernels[1].python, "/opt/torch/bin/python");
  EXPECT_EQ(back->kernels[1].python_path, "/opt/more");
  EXPECT_EQ(back->kernels[1].preload, std::vector<std::string>{});
  EXPECT_EQ(back->advertise, host().advertise);
  EXPECT_EQ(back->worker_memory_bytes, host().worker_memory_bytes);
  EXPECT_EQ(back->worker_cpus, 1.5);

  GatewaySettings gateway;
  gateway.token = "t";
  gateway.peer_listen = "127.0.0.1:7400";
  gateway.cluster_secret = "s";
  gateway.store_path = "/g.db";
  gateway.http_port = 65535;
  gateway.hosts = {{{"h1"}, "127.0.0.1:7401"}, {{"h.2"}, "127.0.0.1:7402"}};
  gateway.allowed_origins = {"http://a", "http://b"};
  gateway.replicas = 5;
  gateway.gpu_hours_per_user = 48;
  gateway.kernels = {{"python3", "Python"}, {"other", "Other"}};
  gateway.kernels[1].python = "/opt/other/bin/python";
  gateway.kernels[1].gpus = 2;
  gateway.kernels[1].policy = "batch";
  gateway.session_policy = "reservation";
  const auto again = load_gateway_settings(write(to_toml(gateway)));
  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_EQ(again->http_port, 65535);
  EXPECT_EQ(again->hosts, gateway.hosts);
  EXPECT_EQ(again->allowed_origins, gateway.allowed_origins);
  EXPECT_EQ(again->replicas, 5U);
  EXPECT_EQ(again->gpu_hours_per_user, 48U);
  ASSERT_EQ(again->kernels.size(), 2U);
  EXPECT_EQ(again->kernels[1].display_name, "Other");
  EXPECT_EQ(again->kernels[1].python, "/opt/other/bin/python");
  EXPECT_EQ(again->kernels[1].gpus, 2U);
  EXPECT_EQ(again->kernels[0].policy, "");
  EXPECT_EQ(again->kernels[1].policy, "batch");
  EXPECT_EQ(again->session_policy, "reservation");
}

TEST_F(ConfigTest, AHostsKernelsHaveDifferentNamesAndNoPathWithoutAPython) {
  HostSettings twice = host();
  twice.kernels[1].name = "python3";
  EXPECT_NE(error_of(to_toml(twice)).find("two tables [[kernels]] have the name 'python3'"),
            std::string::npos);
  HostSettings pathless = host();
  pathless.kernels[1].python = "";
  EXPECT_NE(error_of(to_toml(pathless)).find("'torch' has a 'python_path' without a 'python'"),
            std::string::npos);
  HostSettings nameless = host();
  nameless.kernels[1].name = "";
  EXPECT_NE(error_of(to_toml(nameless)).find("the key 'name' is missing"), std::string::npos);
  EXPECT_NE(
      error_of(to_toml(host()) + "[[kernels]]\nname = \"x\"\npyton = \"y\"\n").find("did you mean 'python'?"),
      std::string::npos);
}

TEST_F(ConfigTest, AHostThatNamesNoKernelsRunsTheDefaultOne) {
  HostSettings settings = host();
  settings.kernels.clear();
  const auto back = load_host_settings(write(to_toml(settings)));
  ASSERT_TRUE(back.has_value()) << back.error().message;
  EXPECT_TRUE(back->kernels.empty());
}

TEST_F(ConfigTest, AnUnknownKeyNamesFileLineAndTheNearestKey) {
  const std::string error = error_of("worker_memory_byte = 3\n" + to_toml(host()));
  EXPECT_NE(error.find(path_.string() + ":"), std::string::npos) << error;
  EXPECT_NE(error.find("unknown key 'worker_memory_byte'"), std::string::npos) << error;
  EXPECT_NE(error.find("did you mean 'worker_memory_bytes'?"), std::string::npos) << error;
}

TEST_F(ConfigTest, AKernelsTableIsAsStrict) {
  const auto settings =
      load_gateway_settings(write("token = \"t\"\n[[kernels]]\nname = \"a\"\nlanguag = \"r\"\n"));
  ASSERT_FALSE(settings.has_value());
  EXPECT_EQ(settings.error().message, path_.string() + ":4: unknown key 'languag'; did you mean 'language'?");
}

TEST_F(ConfigTest, AKeyThatIsLikeNoneHasNoSuggestion) {
  const std::string error = error_of("zzzzzzzzzzzz = 3\n" + to_toml(host()));
  EXPECT_NE(error.find("unknown key 'zzzzzzzzzzzz'"), std::string::npos) << error;
  EXPECT_EQ(error.find("did you mean"), std::string::npos) << error;
}

TEST_F(ConfigTest, APortHasSixteenBits) {
  const auto settings = load_gateway_settings(write("http_port = 65536"));
  ASSERT_FALSE(settings.has_value());
  EXPECT_EQ(settings.error().message,
            path_.string() + ":1: key 'http_port' is to be a whole number from 0 to 65535");
}

TEST_F(ConfigTest, WrongTypesRangesAndMissingKeysAreErrors) {
  EXPECT_NE(error_of("id = 3").find(":1: key 'id' is to be a text"), std::string::npos);
  EXPECT_NE(error_of("id = \"h1\"\nworker_pids = -1").find(":2: key 'worker_pids'"), std::string::npos);
  EXPECT_NE(error_of("sandbox = \"maybe\"").find("one of auto, bubblewrap, none"), std::string::npos);
  EXPECT_NE(error_of("id = \"h1\"").find("'peer_listen' is missing"), std::string::npos);
  EXPECT_NE(error_of("preload = [\"a\", 3]").find("a list of texts"), std::string::npos);
  EXPECT_NE(error_of("plan = \"quick\"").find("streamed"), std::string::npos);
  EXPECT_NE(error_of("worker_cpus = nan").find("a number that is not negative"), std::string::npos);
  EXPECT_NE(error_of("[peers]\nh1 = 7401").find(":2: key 'peers.h1' is to be an address"), std::string::npos);
  for (const char* key : {"0123", "'", "secret"})
    EXPECT_NE(
        error_of("gateway_key = \"" + std::string(key) + "\"").find("'gateway_key' is to be 64 hex digits"),
        std::string::npos)
        << key;
  EXPECT_NE(error_of("id = ").find(":1"), std::string::npos);
  EXPECT_FALSE(load_host_settings("/no/such/file").has_value());
}

TEST_F(ConfigTest, APolicyThatDoesNotExistIsNamedWithThoseThatDo) {
  const auto error_of_gateway = [&](const std::string& text) {
    const auto settings = load_gateway_settings(write(text));
    return settings ? "" : settings.error().message;
  };
  for (const std::string line : {"session_policy = \"x\"", "[[kernels]]\nname = \"a\"\npolicy = \"x\""})
    EXPECT_NE(error_of_gateway(line).find("there are: batch, pool, replicated, reservation"),
              std::string::npos)
        << line;
  EXPECT_NE(error_of_gateway("placement = \"x\"").find("there are: least_loaded"), std::string::npos);
}

}  // namespace
}  // namespace banyan::daemons
