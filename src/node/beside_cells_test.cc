#include "node/beside_cells.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/jupyter/message.h"

namespace banyan::node {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

jupyter::Message message(const std::string& type, const std::string& id, jupyter::Channel channel) {
  jupyter::Message message;
  message.channel = channel;
  message.header = R"({"msg_id":")" + id + R"(","msg_type":")" + type + R"(","session":"c","username":"u"})";
  message.content = Blob("{}");
  return message;
}

jupyter::Message request(const std::string& type, const std::string& id) {
  return message(type, id, jupyter::Channel::kShell);
}

class BesidesCells : public testing::Test {
 protected:
  /// Messages that the gateway has got since the last call, unless it takes nothing.
  std::vector<std::string> heard() {
    std::vector<std::string> heard;
    for (auto effects = host_.finish(); !effects.empty(); effects = host_.finish()) {
      for (HostEffect& effect : effects) {
        auto* const frame = std::get_if<SendFrame>(&effect);
        if (frame == nullptr) continue;
        for (PeerMessage& each :
             gateway_.receive(std::get<LinkFrame>(std::move(frame->frame)), Time{}).messages) {
          const auto* said = std::get_if<FromKernel>(&each);
          if (said != nullptr && said->message.header.find("large") == std::string::npos)
            heard.push_back(said->message.header + std::string(said->message.content.view()));
        }
        while (auto answer = gateway_.poll(Time{})) host_.link(kGateway).receive(std::move(*answer), Time{});
      }
    }
    return heard;
  }
  /// Fills the way to the gateway, which takes nothing.
  void block() {
    jupyter::Message large = message("stream", "large", jupyter::Channel::kIopub);
    large.content = Blob(std::string(host_.sizes().session_buffer, 'x'));
    host_.send(kGateway, FromKernel{{"s"}, {}, 0, std::move(large)});
    ASSERT_TRUE(host_.backlogged(kGateway));
  }

  HostContext host_{{.id = {"h1"}, .timing = {}, .sizes = {}}, Incarnation{1}, 7};
  BesideCells beside_{host_, {"s"}};

 private:
  Link gateway_{Incarnation{9}, host_.timing(), host_.sizes()};
};

TEST_F(BesidesCells, WhatAnswersALateRequestIsOfTheSession) {
  beside_.note(request("complete_request", "first"));
  EXPECT_TRUE(beside_.answers("first"));
  EXPECT_FALSE(beside_.answers("other"));
  for (int more = 0; more < 256; ++more) beside_.note(request("complete_request", std::to_string(more)));
  EXPECT_FALSE(beside_.answers("first")) << "only the latest are remembered";
  EXPECT_TRUE(beside_.answers("0"));
}

TEST_F(BesidesCells, RequestsWaitInTheirOrderForWhoTakesThem) {
  EXPECT_FALSE(beside_.some_wait());
  for (const char* id : {"a", "b", "c"}) EXPECT_TRUE(beside_.keep(request(id, id)));
  const auto ids = [](const std::vector<jupyter::Message>& messages) {
    std::vector<std::string> ids;
    for (const jupyter::Message& each : messages) ids.push_back(jupyter::parse_header(each.header)->msg_id);
    return ids;
  };
  EXPECT_THAT(
      ids(beside_.take_if([](const auto& each) { return each.header.find("\"b\"") == std::string::npos; })),
      ElementsAre("a", "c"));
  EXPECT_THAT(ids(beside_.take_if([](const auto&) { return true; })), ElementsAre("b"));
  EXPECT_FALSE(beside_.some_wait());
}

TEST_F(BesidesCells, OnlySoManyWait) {
  for (int each = 0; each < 256; ++each) EXPECT_TRUE(beside_.keep(request("x", "x")));
  EXPECT_FALSE(beside_.keep(request("x", "x")));
  beside_.drop_all();
  EXPECT_FALSE(beside_.some_wait());
}

TEST_F(BesidesCells, UserCodeRunsForMessagesOfComms) {
  beside_.keep(request("complete_request", "a"));
  beside_.keep(request("comm_info_request", "b"));
  EXPECT_FALSE(beside_.callback_waits());
  beside_.keep(request("comm_msg", "c"));
  EXPECT_TRUE(beside_.callback_waits());
}

TEST_F(BesidesCells, WhatIsSaidWhileTheGatewayTakesNothingIsCountedAndNamed) {
  beside_.say(message("stream", "one", jupyter::Channel::kIopub));
  EXPECT_THAT(heard(), SizeIs(1));
  block();
  beside_.say(message("stream", "two", jupyter::Channel::kIopub));
  beside_.say(message("stream", "three", jupyter::Channel::kIopub));
  beside_.say_what_is_missing();
  beside_.say(message("complete_reply", "answer", jupyter::Channel::kShell));
  EXPECT_THAT(heard(), ElementsAre(HasSubstr("complete_reply")));
  beside_.say(message("stream", "four", jupyter::Channel::kIopub));
  EXPECT_THAT(heard(), ElementsAre(HasSubstr("2 messages of output are missing"), HasSubstr("four")));
  beside_.say_what_is_missing();
  EXPECT_THAT(heard(), IsEmpty());
}

TEST_F(BesidesCells, WhatIsMissingIsSaidAlsoWhenNothingElseIs) {
  block();
  beside_.say(message("stream", "two", jupyter::Channel::kIopub));
  heard();
  beside_.say_what_is_missing();
  EXPECT_THAT(heard(), ElementsAre(HasSubstr("1 messages of output are missing")));
}

}  // namespace
}  // namespace banyan::node
