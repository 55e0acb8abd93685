#include "runtime/net/identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "base/random.h"
#include "runtime/net/key_file.h"

namespace banyan::runtime {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class IdentityTest : public testing::Test {
 protected:
  IdentityTest() { fs::create_directory(folder_); }
  ~IdentityTest() override { fs::remove_all(folder_); }
  static std::string text_of(const fs::path& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  [[nodiscard]] std::string error() const {
    const auto loaded = Identity::load_or_create(file_);
    return loaded ? "" : loaded.error().message;
  }

  const fs::path folder_ =
      fs::temp_directory_path() / ("banyan-identity-" + Rng(std::random_device{}()).uuid());
  const fs::path file_ = folder_ / "identity.pem";
};

TEST_F(IdentityTest, ItIsMadeOnceAndOnlyItsOwnerReadsIt) {
  const auto first = Identity::load_or_create(file_);
  ASSERT_TRUE(first.has_value()) << first.error().message;
  EXPECT_TRUE(is_key(first->key())) << first->key();
  EXPECT_EQ(fs::status(file_).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1)
      << "nothing else is left in the folder";
  const auto again = Identity::load_or_create(file_);
  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_EQ(again->key(), first->key());
  EXPECT_TRUE(is_signed_by(first->key(), "text", again->sign("text")));
}

TEST_F(IdentityTest, TwoDaemonsHaveDifferentKeys) {
  EXPECT_NE(Identity::fresh().key(), Identity::fresh().key());
}

TEST_F(IdentityTest, ASignatureIsOfOneTextAndOneKey) {
  const Identity one = Identity::fresh();
  const std::string signature = one.sign("text");
  EXPECT_TRUE(is_signed_by(one.key(), "text", signature));
  EXPECT_FALSE(is_signed_by(one.key(), "texts", signature));
  EXPECT_FALSE(is_signed_by(Identity::fresh().key(), "text", signature));
  EXPECT_FALSE(is_signed_by(one.key(), "text", signature.substr(1)));
  EXPECT_FALSE(is_signed_by(one.key(), "text", {}));
  std::string changed = signature;
  changed[7] = static_cast<char>(changed[7] ^ 1);
  EXPECT_FALSE(is_signed_by(one.key(), "text", changed));
  for (const std::string& none :
       {std::string(), std::string("key"), std::string(64, 'g'), std::string(62, '0')})
    EXPECT_FALSE(is_signed_by(none, "text", signature)) << none;
}

TEST_F(IdentityTest, AFileThatOthersMayReadIsRefused) {
  ASSERT_TRUE(Identity::load_or_create(file_).has_value());
  for (const fs::perms more : {fs::perms::group_read, fs::perms::others_read, fs::perms::others_write}) {
    fs::permissions(file_, fs::perms::owner_read | fs::perms::owner_write | more);
    EXPECT_THAT(error(), HasSubstr("chmod 600 " + file_.string()));
  }
  fs::permissions(file_, fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(error(), "");
}

TEST_F(IdentityTest, AFileWithoutAKeyIsRefusedAndLeftAlone) {
  const std::string damaged = "-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n";
  for (const std::string& text :
       {std::string(), std::string("no key\n"), damaged, std::string(1 << 20, 'x')}) {
    ASSERT_TRUE(write_key_file(file_, text).has_value());
    EXPECT_THAT(error(), HasSubstr(file_.string()));
    EXPECT_EQ(text_of(file_), text);
  }
}

TEST_F(IdentityTest, AKeyOfAnotherKindIsRefused) {
  // An X25519 key, made by `openssl genpkey -algorithm x25519`.
  ASSERT_TRUE(write_key_file(file_,
                             "-----BEGIN PRIVATE KEY-----\n"
                             "MC4CAQAwBQYDK2VuBCIEIGhVwbu00FjyhVbedp+YVsyIaTM9nvH0aTnwXfuNrMx6\n"
                             "-----END PRIVATE KEY-----\n")
                  .has_value());
  EXPECT_THAT(error(), HasSubstr("no Ed25519 private key"));
}

TEST_F(IdentityTest, AFolderThatIsNotThereIsAnError) {
  const auto none = Identity::load_or_create(folder_ / "none" / "identity.pem");
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().kind, ErrorKind::kIo);
  EXPECT_THAT(none.error().message, HasSubstr((folder_ / "none" / "identity.pem").string()));
}

TEST_F(IdentityTest, WhatADaemonThatDiedHasLeftIsReplaced) {
  std::ofstream(file_.string() + ".new") << "half a k";
  EXPECT_EQ(error(), "");
  EXPECT_EQ(fs::status(file_).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

}  // namespace
}  // namespace banyan::runtime
