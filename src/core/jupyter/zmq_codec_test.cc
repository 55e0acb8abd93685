#include "core/jupyter/zmq_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace banyan::jupyter {
namespace {

using testing::ElementsAre;

Message sample() {
  Message message;
  message.channel = Channel::kShell;
  message.header = R"({"msg_id":"a1","msg_type":"execute_request"})";
  message.parent_header = R"({"msg_id":"p"})";
  message.metadata = R"({"cellId":"c"})";
  message.content = Blob(R"({"code":"1+1"})");
  message.buffers = {Blob(std::string("\0\xff", 2)), Blob()};
  return message;
}

// RFC 4231, test case 2: key "Jefe", data "what do ya want for nothing?".
TEST(Signer, GivesTheHmacOfTheConcatenatedParts) {
  const Signer signer("Jefe");
  const std::string known = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
  EXPECT_EQ(signer.sign({"what do ya ", "want ", "for nothing?", ""}), known);
  EXPECT_EQ(signer.sign({"", "what do ya want for nothing?", "", ""}), known)
      << "signing leaves no state behind";
  EXPECT_TRUE(signer.verify(known, {"what do ya want for nothing?", "", "", ""}));
}

TEST(Signer, RefusesOtherTextsKeysAndLengths) {
  const Signer signer("Jefe");
  const std::string good = signer.sign({"a", "b", "c", "d"});
  EXPECT_FALSE(signer.verify(good, {"a", "b", "c", "e"}));
  EXPECT_FALSE(Signer("jefe").verify(good, {"a", "b", "c", "d"}));
  EXPECT_FALSE(signer.verify(good.substr(0, 63), {"a", "b", "c", "d"}));
  EXPECT_FALSE(signer.verify("", {"a", "b", "c", "d"}));
}

TEST(Signer, WithoutAKeySignsAndChecksNothing) {
  const Signer signer("");
  EXPECT_EQ(signer.sign({"a", "b", "c", "d"}), "");
  EXPECT_TRUE(signer.verify("whatever", {"a", "b", "c", "d"}));
}

TEST(ZmqCodec, RoundTripKeepsEverything) {
  const Signer signer("key");
  const Message message = sample();
  const std::vector<std::string> identities{"client", std::string("\0id", 3)};
  const std::vector<Blob> frames = to_wire(identities, message, signer);
  ASSERT_EQ(frames.size(), 2U + 2U + 4U + 2U);
  EXPECT_EQ(frames[2].view(), "<IDS|MSG>");
  EXPECT_EQ(frames[7].view().data(), message.content.view().data()) << "content is not copied";

  const Result<WireMessage> back = from_wire(Channel::kShell, frames, signer);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_THAT(back->identities, ElementsAre("client", std::string("\0id", 3)));
  EXPECT_EQ(back->message, message);
  EXPECT_EQ(back->message.content.view().data(), message.content.view().data());
}

TEST(ZmqCodec, TamperingWithAnySignedPartIsDenied) {
  const Signer signer("key");
  const std::vector<Blob> frames = to_wire({}, sample(), signer);
  for (std::size_t part = 1; part <= 5; ++part) {
    std::vector<Blob> tampered = frames;
    tampered[part] = Blob(std::string(tampered[part].view()) + " ");
    const auto result = from_wire(Channel::kShell, tampered, signer);
    ASSERT_FALSE(result) << "frame " << part;
    EXPECT_EQ(result.error().kind, ErrorKind::kDenied);
  }
}

TEST(ZmqCodec, FramesThatAreNoMessageAreInvalid) {
  const Signer signer("key");
  const std::vector<Blob> frames = to_wire({}, sample(), signer);
  for (std::size_t count = 0; count < 6; ++count) {
    const auto result = from_wire(Channel::kShell, std::span(frames).first(count), signer);
    ASSERT_FALSE(result) << count << " frames";
    EXPECT_EQ(result.error().kind, ErrorKind::kInvalid);
  }
}

}  // namespace
}  // namespace banyan::jupyter
