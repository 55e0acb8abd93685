#include "runtime/net/handshake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/codec.h"

namespace banyan::runtime {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Host h1 connects to host h2, and a third daemon, which knows the secret, would like to be one of them.
class HandshakeTest : public testing::Test {
 protected:
  ClientHandshake client(const std::string& secret = "s3cret",
                         const std::string& nonce = std::string(32, 'c'),
                         const std::string& address = "10.0.0.1:7401") const {
    return {h1_, secret, "h1", address, "h2", nonce};
  }
  static ListenerHandshake listener(const Identity& own, const std::string& target,
                                    const std::string& name = "h2", const std::string& secret = "s3cret",
                                    const std::string& nonce = std::string(32, 'l')) {
    auto begun = ListenerHandshake::begin(own, secret, name, target, nonce);
    EXPECT_TRUE(begun.has_value());
    return std::move(*begun);
  }
  ListenerHandshake listener(const std::string& target) const { return listener(h2_, target); }
  /// The client's answer to h2.
  std::string answered(const std::string& refusal = {}) const {
    ClientHandshake side = client();
    EXPECT_TRUE(side.accept(listener(side.target()).hello()).has_value());
    return side.answer(refusal);
  }
  static void expect_denied(const auto& result, const std::string& why = "secret") {
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().kind, ErrorKind::kDenied);
    EXPECT_THAT(result.error().message, HasSubstr(why));
  }

  const Identity h1_ = Identity::fresh();
  const Identity h2_ = Identity::fresh();
  const Identity third_ = Identity::fresh();
};

TEST_F(HandshakeTest, BothSidesLearnTheOthersNameAndKey) {
  ClientHandshake one = client();
  const ListenerHandshake other = listener(one.target());
  EXPECT_EQ(other.client(), "h1");
  EXPECT_EQ(other.address(), "10.0.0.1:7401");
  const auto theirs = one.accept(other.hello());
  ASSERT_TRUE(theirs.has_value()) << theirs.error().message;
  EXPECT_EQ(*theirs, h2_.key());
  const auto ours = other.accept(one.answer());
  ASSERT_TRUE(ours.has_value()) << ours.error().message;
  EXPECT_EQ(ours->key, h1_.key());
  EXPECT_EQ(ours->refusal, "");
}

TEST_F(HandshakeTest, NamesAndAddressesMayHaveAnyLetters) {
  ClientHandshake one(h1_, "s", "h 1/ü&?", "[::1]:7&nonce=0", "h2", std::string(32, '\0'));
  const ListenerHandshake other = listener(h2_, one.target(), "h2", "s");
  EXPECT_EQ(other.client(), "h 1/ü&?");
  EXPECT_EQ(other.address(), "[::1]:7&nonce=0");
  ASSERT_TRUE(one.accept(other.hello()).has_value());
  EXPECT_TRUE(other.accept(one.answer()).has_value());
}

TEST_F(HandshakeTest, ADaemonThatDoesNotSayWhereItListensIsKnownAllTheSame) {
  ClientHandshake one = client("s3cret", std::string(32, 'c'), "");
  const ListenerHandshake other = listener(one.target());
  EXPECT_EQ(other.address(), "");
  ASSERT_TRUE(one.accept(other.hello()).has_value());
  EXPECT_TRUE(other.accept(one.answer()).has_value());
}

TEST_F(HandshakeTest, TheSecretIsNeverShown) {
  ClientHandshake one = client();
  const ListenerHandshake other = listener(one.target());
  ASSERT_TRUE(one.accept(other.hello()).has_value());
  for (const std::string& sent : {one.target(), other.hello(), one.answer()})
    EXPECT_THAT(sent, Not(HasSubstr("s3cret")));
}

TEST_F(HandshakeTest, NoncesAreNeverTheSame) {
  EXPECT_EQ(fresh_nonce().size(), 32U);
  EXPECT_NE(fresh_nonce(), fresh_nonce());
}

TEST_F(HandshakeTest, AWrongSecretIsRefusedByEitherSide) {
  ClientHandshake stranger = client("guess");
  expect_denied(stranger.accept(listener(stranger.target()).hello()));
  const ListenerHandshake same_but_for_the_secret = listener(h2_, client().target(), "h2", "other");
  expect_denied(same_but_for_the_secret.accept(answered()));
}

TEST_F(HandshakeTest, AMessageThatIsSentBackIsRefused) {
  ClientHandshake one = client();
  const ListenerHandshake other = listener(one.target());
  const auto hello = decode<ListenerHello>(other.hello());
  ASSERT_TRUE(hello.has_value());
  expect_denied(other.accept(encode(ClientAnswer{.proof = hello->proof, .refusal = {}})));
  const auto answer = decode<ClientAnswer>(answered());
  ASSERT_TRUE(answer.has_value());
  expect_denied(one.accept(encode(ListenerHello{"h2", hello->nonce, answer->proof})));
}

/// The role alone: everything else in the two transcripts is the same.
TEST_F(HandshakeTest, AProofInOneRoleIsNoneInTheOther) {
  const Meeting meeting{"h1", "h2", "10.0.0.1:7401", std::string(32, 'c'), std::string(32, 'l')};
  EXPECT_NE(transcript(PeerRole::kListener, meeting, h1_.key(), h2_.key(), {}),
            transcript(PeerRole::kClient, meeting, h1_.key(), h2_.key(), {}));
}

TEST_F(HandshakeTest, WhatWasSaidOnAnotherConnectionIsRefused) {
  const ListenerHandshake later =
      listener(h2_, client().target(), "h2", "s3cret", std::string(32, 'm'));  // another nonce
  expect_denied(later.accept(answered()));
  ClientHandshake again = client("s3cret", std::string(32, 'd'));
  expect_denied(again.accept(listener(client().target()).hello()));
}

TEST_F(HandshakeTest, AnotherNameIsRefused) {
  ClientHandshake one = client();
  std::string renamed = one.target();
  renamed.replace(renamed.find("h1"), 2, "h3");
  expect_denied(listener(renamed).accept(answered()));
  expect_denied(one.accept(listener(renamed).hello()));
}

TEST_F(HandshakeTest, AnotherDaemonAtTheAddressSaysWhoItIs) {
  ClientHandshake one = client();
  const ListenerHandshake h4 = listener(third_, one.target(), "h4");
  const auto met = one.accept(h4.hello());
  ASSERT_FALSE(met.has_value());
  EXPECT_EQ(met.error().kind, ErrorKind::kConflict);
  EXPECT_THAT(met.error().message, HasSubstr("is h4, not h2"));
  auto hello = decode<ListenerHello>(h4.hello());
  ASSERT_TRUE(hello.has_value());
  hello->name = "h2";
  expect_denied(one.accept(encode(*hello)));
}

TEST_F(HandshakeTest, AnotherAddressIsRefused) {
  ClientHandshake one = client();
  const std::string moved = client("s3cret", std::string(32, 'c'), "10.6.6.6:7401").target();
  expect_denied(listener(moved).accept(answered()));
  expect_denied(one.accept(listener(moved).hello()));
}

TEST_F(HandshakeTest, AKeyThatIsNotTheDaemonsOwnIsRefused) {
  ClientHandshake one = client();
  const Meeting meeting{"h1", "h2", "10.0.0.1:7401", std::string(32, 'c'), std::string(32, 'l')};
  PeerProof proof = prove(third_, "s3cret", transcript(PeerRole::kListener, meeting, h2_.key(), {}, {}));
  proof.key = h2_.key();
  expect_denied(one.accept(encode(ListenerHello{"h2", std::string(32, 'l'), proof})), "its own");
  proof = prove(third_, "s3cret", transcript(PeerRole::kClient, meeting, h1_.key(), h2_.key(), {}));
  proof.key = h1_.key();
  const ListenerHandshake other = listener(one.target());
  expect_denied(other.accept(encode(ClientAnswer{.proof = proof, .refusal = {}})), "its own");
  auto hello = decode<ListenerHello>(other.hello());
  ASSERT_TRUE(hello.has_value());
  hello->proof.key = third_.key();
  expect_denied(one.accept(encode(*hello)));
}

/// A daemon that knows the secret listens under h2's name, with a key of its own, and passes what the client
/// proves to it on to h2.
TEST_F(HandshakeTest, AProofForOneListenerIsNoneForAnother) {
  ClientHandshake one = client();
  ASSERT_TRUE(one.accept(listener(third_, one.target()).hello()).has_value());
  expect_denied(listener(one.target()).accept(one.answer()));
}

TEST_F(HandshakeTest, ARefusalIsProvenLikeAConsent) {
  ClientHandshake one = client();
  const ListenerHandshake other = listener(one.target());
  const auto refused = other.accept(answered("the name h2 belongs to another key"));
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->refusal, "the name h2 belongs to another key");
  auto answer = decode<ClientAnswer>(answered());
  ASSERT_TRUE(answer.has_value());
  answer->refusal = "go away";
  expect_denied(other.accept(encode(*answer)));
}

TEST_F(HandshakeTest, WhatIsNoMessageOfAHandshakeIsAnError) {
  ClientHandshake one = client();
  const ListenerHandshake other = listener(one.target());
  const std::string hello = other.hello();
  const std::string answer = answered();
  for (std::size_t cut = 0; cut < hello.size(); ++cut)
    EXPECT_FALSE(one.accept(hello.substr(0, cut)).has_value()) << cut;
  for (std::size_t cut = 0; cut < answer.size(); ++cut)
    EXPECT_FALSE(other.accept(answer.substr(0, cut)).has_value()) << cut;
  EXPECT_FALSE(one.accept(encode(ListenerHello{})).has_value());
  EXPECT_FALSE(other.accept(encode(ClientAnswer{})).has_value());
}

TEST_F(HandshakeTest, WhatIsNoRequestOfADaemonIsAnError) {
  const auto kind = [&](const std::string& target) {
    const auto begun = ListenerHandshake::begin(h2_, "s3cret", "h2", target);
    return begun ? std::optional<ErrorKind>() : begun.error().kind;
  };
  const std::string nonce = "?nonce=" + std::string(64, '0');
  EXPECT_EQ(kind("/peers/h1" + nonce), std::nullopt);
  for (const std::string& target :
       {"/" + nonce, "/peers" + nonce, "/peers/h1/x" + nonce, "/api/kernels" + nonce, "/peers/h%0A1" + nonce,
        "/peers/" + std::string(256, 'h') + nonce})
    EXPECT_EQ(kind(target), ErrorKind::kNotFound) << target;
  for (const char* rest : {"", "?listen=a:1", "?nonce=", "?nonce=00", "?nonce=secret"})
    EXPECT_EQ(kind(std::string("/peers/h1") + rest), ErrorKind::kDenied) << rest;
}

TEST_F(HandshakeTest, AVerdictIsWelcomeOrAReason) {
  EXPECT_EQ(read_verdict(to_verdict({})).value(), "");
  EXPECT_EQ(read_verdict(to_verdict("no")).value(), "no");
  EXPECT_EQ(read_verdict(to_verdict("no\nand no")).value(), "no and no") << "one line for the log";
  for (const std::string& bad : {std::string(), std::string(1, '\0'), std::string("welcome")})
    EXPECT_FALSE(read_verdict(bad).has_value()) << bad;
  EXPECT_EQ(for_log(std::string(5000, 'x')).size(), 1000U);
}

}  // namespace
}  // namespace banyan::runtime
