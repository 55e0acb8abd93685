#include "runtime/kernel_shim/gateway_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

namespace banyan::runtime {
namespace {

namespace fs = std::filesystem;

class GatewayAddressTest : public testing::Test {
 protected:
  GatewayAddressTest() { fs::create_directories(root / "work" / "deep"); }
  ~GatewayAddressTest() override { fs::remove_all(root); }

  void write_platform(const std::string& text) {
    fs::create_directories(root / ".banyan");
    std::ofstream(root / ".banyan" / "platform.json") << text;
  }

  Result<Endpoint> find(const AddressOptions& options = {}) {
    return find_gateway(
        options,
        [this](const std::string& name) {
          const auto found = environment.find(name);
          return found == environment.end() ? std::nullopt : std::optional(found->second);
        },
        (root / "work" / "deep").string());
  }

  fs::path root = fs::path(testing::TempDir()) / ("gateway_address_" + std::to_string(::getpid()));
  std::map<std::string, std::string> environment;
};

TEST_F(GatewayAddressTest, PrefersWhatIsSaidMoreExplicitly) {
  EXPECT_THAT(find().error().message, testing::HasSubstr("banyan up"));
  write_platform(R"({"url":"http://127.0.0.1:1","token":"file"})");
  EXPECT_EQ(*find(), (Endpoint{"127.0.0.1", 1, "", "file"})) << "found above the working directory";
  fs::copy(root / ".banyan", root / "other");
  std::ofstream(root / "other" / "platform.json") << R"({"url":"http://127.0.0.1:4","token":"other"})";
  environment = {{"BANYAN_PLATFORM", (root / "other" / "platform.json").string()}};
  EXPECT_EQ(*find(), (Endpoint{"127.0.0.1", 4, "", "other"})) << "the one that a worker belongs to";
  environment.insert({{"BANYAN_URL", "http://127.0.0.1:2"}, {"BANYAN_TOKEN", "env"}});
  EXPECT_EQ(*find(), (Endpoint{"127.0.0.1", 2, "", "env"}));
  const std::string platform = (root / ".banyan" / "platform.json").string();
  EXPECT_EQ(*find({.url = {}, .token = {}, .platform = platform}), (Endpoint{"127.0.0.1", 1, "", "file"}));
  EXPECT_EQ(*find({.url = "http://127.0.0.1:3?token=url", .token = {}, .platform = platform}),
            (Endpoint{"127.0.0.1", 3, "", "url"}));
  EXPECT_EQ(*find({.url = "http://127.0.0.1:3", .token = "flag", .platform = {}}),
            (Endpoint{"127.0.0.1", 3, "", "flag"}));
}

TEST_F(GatewayAddressTest, SaysWhatIsWrongWithThePlatformFile) {
  for (const char* text : {"", "[]", "{}", R"({"url":7})", R"({"url":"ftp://x"})"}) {
    write_platform(text);
    EXPECT_THAT(find().error().message, testing::HasSubstr("platform.json")) << text;
  }
  EXPECT_THAT(find({.url = {}, .token = {}, .platform = "/nowhere/platform.json"}).error().message,
              testing::HasSubstr("banyan up"));
}

}  // namespace
}  // namespace banyan::runtime
