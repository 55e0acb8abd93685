#include "daemons/gateway_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "base/random.h"
#include "runtime/net/identity.h"

namespace banyan::daemons {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class GatewayKeyTest : public testing::Test {
 protected:
  GatewayKeyTest() {
    fs::create_directories(folder_ / "keys");
    settings_.id = {"h1"};
    settings_.data_directory = folder_;
  }
  ~GatewayKeyTest() override { fs::remove_all(folder_); }
  GatewayKey loaded() {
    auto result = GatewayKey::load(settings_);
    EXPECT_TRUE(result.has_value()) << result.error().message;
    return std::move(*result);
  }

  const fs::path folder_ =
      fs::temp_directory_path() / ("banyan-gateway-key-" + Rng(std::random_device{}()).uuid());
  const fs::path file_ = folder_ / "keys" / "gateway.key";
  const std::string first_ = runtime::Identity::fresh().key();
  const std::string second_ = runtime::Identity::fresh().key();
  HostSettings settings_;
};

TEST_F(GatewayKeyTest, TheFirstGatewaysKeyIsKept) {
  GatewayKey key = loaded();
  EXPECT_EQ(key.known().key, "");
  EXPECT_TRUE(key.keep(first_).has_value());
  EXPECT_TRUE(key.keep(second_).has_value());
  EXPECT_EQ(key.known().key, first_);
  EXPECT_EQ(loaded().known().key, first_);
  EXPECT_THAT(loaded().known().remedy, HasSubstr("delete " + file_.string()));
}

TEST_F(GatewayKeyTest, WhatTheConfigurationSaysCounts) {
  EXPECT_TRUE(loaded().keep(first_).has_value());
  settings_.gateway_key = second_;
  GatewayKey key = loaded();
  EXPECT_EQ(key.known().key, second_);
  EXPECT_THAT(key.known().remedy, HasSubstr("'gateway_key'"));
  EXPECT_TRUE(key.keep(second_).has_value());
  settings_.gateway_key.clear();
  EXPECT_EQ(loaded().known().key, first_) << "the file is left alone";
}

TEST_F(GatewayKeyTest, APersonMayWriteTheFile) {
  std::ofstream(file_) << first_ << "\n";
  EXPECT_EQ(loaded().known().key, first_);
}

TEST_F(GatewayKeyTest, AFileThatOthersCanWriteIsNotTrusted) {
  ASSERT_TRUE(loaded().keep(first_).has_value());
  fs::permissions(file_, fs::perms(0664));
  const auto result = GatewayKey::load(settings_);
  ASSERT_FALSE(result.has_value());
  EXPECT_THAT(result.error().message, HasSubstr("chmod 600 " + file_.string()));
}

TEST_F(GatewayKeyTest, AFileWithoutAKeyIsAnErrorThatNamesIt) {
  for (const std::string& text : {std::string(), std::string("\n"), first_ + "0", std::string("no key")}) {
    std::ofstream(file_) << text;
    const auto result = GatewayKey::load(settings_);
    ASSERT_FALSE(result.has_value()) << text;
    EXPECT_THAT(result.error().message, HasSubstr(file_.string()));
  }
}

TEST_F(GatewayKeyTest, AKeyThatCannotBeKeptIsAnError) {
  GatewayKey key = loaded();
  fs::remove_all(folder_);
  EXPECT_FALSE(key.keep(first_).has_value());
}

}  // namespace
}  // namespace banyan::daemons
