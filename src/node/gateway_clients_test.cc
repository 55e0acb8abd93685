// What clients get: windows, buffers, replay, marks.

#include "node/gateway_clients.h"

#include <gmock/gmock.h>

#include "node/test_clients.h"
#include "node/test_gateway.h"

namespace banyan::node {
namespace {

using ::testing::_;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST_F(Clients, WhatIsSentButNotTakenStaysWithinTheWindow) {
  clients.attach({1}, a);
  for (const char* text : {"1", "2", "3", "4", "5", "6"}) clients.publish(output(text));
  EXPECT_THAT(sent({1}), ElementsAre("1", "2", "3", "4")) << "1,000 bytes are reached with the fourth";
  clients.drained({1}, 300);
  EXPECT_THAT(sent({1}), ElementsAre("5"));
  clients.drained({1}, 250);
  EXPECT_THAT(sent({1}), ElementsAre("6")) << "a part of a message counts";
}

TEST_F(Clients, ASlowClientDoesNotSlowOthers) {
  clients.attach({1}, a);
  clients.attach({2}, b);
  for (int i = 1; i <= 10; ++i) {
    clients.publish(output(std::to_string(i)));
    clients.drained({2}, 300);
  }
  EXPECT_EQ(sent({2}).size(), 10U);
  EXPECT_EQ(inbox[{1}].size(), 4U);
}

TEST_F(Clients, TheBufferIsBoundedAndTheSlowClientGetsAMarkWhereItWasCut) {
  clients.attach({1}, a);
  for (int i = 1; i <= 30; ++i) {
    clients.publish(output(std::to_string(i)));
    EXPECT_LE(clients.bytes(), 4000U);
  }
  EXPECT_THAT(sent({1}), ElementsAre("1", "2", "3", "4"));
  clients.drained({1}, 1200);
  const auto next = sent({1});
  ASSERT_GE(next.size(), 2U);
  EXPECT_EQ(
      next[0],
      "[banyan: 13 messages (3900 bytes) of output were cut here: they came faster than this client took "
      "them]\n");
  EXPECT_EQ(next[1], "18") << "4 in flight, 13 cut, 13 kept";
}

TEST_F(Clients, AMarkKeepsNothingThatIsBeforeIt) {
  clients.attach({1}, a);
  clients.attach({2}, b);
  for (int i = 1; i <= 19; ++i) {
    if (i == 7) {
      clients.send(b, reply("for b"));
    } else {
      clients.publish(output(std::to_string(i)));
    }
    clients.drained({2}, 300);
  }
  clients.confirmed({2}, 19);
  clients.drained({1}, 1200);
  clients.confirmed({1}, 4);
  const auto got = sent({1});
  ASSERT_GE(got.size(), 7U);
  EXPECT_THAT(got[4], HasSubstr("2 messages (600 bytes)"));
  EXPECT_EQ(got[5], "8");
  EXPECT_EQ(got[6], "9") << "it is said once";
  EXPECT_EQ(clients.bytes(), 12U * 300U) << "from the eighth one on";
}

TEST_F(Clients, RepliesAndTheEndOfACellOutliveOutputs) {
  clients.expect(a);
  clients.send(a, reply("reply"), {1, 0, false});
  clients.publish(output("idle"), {1, 0, true});
  for (int i = 1; i <= 30; ++i) clients.publish(output(std::to_string(i)));
  clients.attach({1}, a);
  const auto first = sent({1});
  ASSERT_GE(first.size(), 3U);
  EXPECT_EQ(first[0], "reply");
  EXPECT_EQ(first[1], "idle");
  EXPECT_THAT(first[2], HasSubstr("were cut here"));
}

TEST_F(Clients, AClientThatComesBackGoesOnWhereItStopped) {
  clients.attach({1}, a);
  clients.publish(output("1"));
  clients.publish(output("2"));
  clients.drained({1}, 300);
  clients.confirmed({1}, 1);
  clients.detach({1});
  clients.publish(output("3"));
  EXPECT_THAT(sent({1}), ElementsAre("1", "2"));
  EXPECT_TRUE(clients.attach({2}, a));
  EXPECT_THAT(sent({2}), ElementsAre("2", "3")) << "2 had not left";
}

TEST_F(Clients, WhatWasInFlightAndThenCutIsMissedToo) {
  clients.attach({1}, a);
  clients.publish(output("1"));
  clients.detach({1});
  for (int i = 2; i <= 30; ++i) clients.publish(output(std::to_string(i)));
  sent({1});
  clients.attach({2}, a);
  EXPECT_THAT(sent({2})[0], HasSubstr("17 messages"));
}

TEST_F(Clients, ANewClientGetsWhatComesAfterIt) {
  clients.expect(b);
  clients.publish(output("1"));
  clients.attach({1}, a);
  clients.publish(output("2"));
  EXPECT_THAT(sent({1}), ElementsAre("2"));
}

TEST_F(Clients, AReplyGoesToItsClientOnlyAndWaitsForIt) {
  clients.attach({1}, a);
  clients.send(b, reply("for b"));
  EXPECT_THAT(sent({1}), IsEmpty());
  clients.attach({2}, b);
  EXPECT_THAT(sent({2}), ElementsAre("for b"));
}

TEST_F(Clients, ANewerConnectionOfTheSameClientReplacesTheOlder) {
  clients.attach({1}, a);
  clients.publish(output("1"));
  clients.attach({2}, a);
  EXPECT_THAT(sent({2}), ElementsAre("1")) << "it may never have arrived";
  EXPECT_EQ(closed[{1}], 1000);
  EXPECT_EQ(clients.connections(), 1U);
}

TEST_F(Clients, AnAbsentClientIsForgottenAfterTenMinutesOnlyWhileAnotherIsHere) {
  at(0s);
  clients.attach({1}, a);
  clients.detach({1});
  at(24h);
  EXPECT_THAT(clients.forget_absent(), IsEmpty());
  clients.attach({2}, b);
  EXPECT_THAT(clients.forget_absent(), ElementsAre(a));
  EXPECT_FALSE(clients.knows(a));
}

TEST_F(Clients, OfManyAbsentClientsTheLongestAwayGoFirst) {
  for (int i = 0; i < 20; ++i) {
    at(std::chrono::seconds(i));
    clients.expect({"c" + std::to_string(i)});
  }
  EXPECT_EQ(clients.forget_absent().size(), 4U);
  EXPECT_FALSE(clients.knows({"c3"}));
  EXPECT_TRUE(clients.knows({"c4"}));
}

TEST_F(Clients, DeliveryIsReportedWhenTheClientConfirmsIt) {
  clients.attach({1}, a, {.drops_repeats = true});
  clients.publish(output("1"), {7, 1, false});
  clients.publish(output("2"), {7, 2, false});
  clients.drained({1}, 600);
  EXPECT_THAT(clients.take_delivered(), IsEmpty()) << "what has left may never arrive";
  clients.confirmed({1}, 1);
  const auto delivered = clients.take_delivered();
  ASSERT_EQ(delivered.size(), 1U);
  EXPECT_EQ(delivered[0].client, a);
  EXPECT_EQ(delivered[0].tag.cell, 7U);
  EXPECT_EQ(delivered[0].tag.seq, 1U);
  clients.confirmed({1}, 3);
  EXPECT_THAT(clients.take_delivered(), IsEmpty()) << "three were never sent";
  clients.confirmed({1}, 2);
  EXPECT_EQ(clients.take_delivered().size(), 1U);
  EXPECT_EQ(clients.bytes(), 0U);
}

TEST_F(Clients, OutputsThatLeftAreNotForALaterLifeWhereTheClientWouldShowThemTwice) {
  clients.attach({1}, a);
  clients.publish(output("1"), {7, 1, false});
  clients.publish(output("2"), {7, 2, false});
  clients.publish(output("end"), {7, 0, true});
  clients.drained({1}, 300);
  auto delivered = clients.take_delivered();
  ASSERT_EQ(delivered.size(), 1U) << "of the second one a part may not have left";
  EXPECT_EQ(delivered[0].tag.seq, 1U);
  clients.drained({1}, 600);
  delivered = clients.take_delivered();
  ASSERT_EQ(delivered.size(), 1U) << "an end is told until it is confirmed";
  EXPECT_EQ(delivered[0].tag.seq, 2U);
  clients.confirmed({1}, 3);
  delivered = clients.take_delivered();
  ASSERT_EQ(delivered.size(), 1U);
  EXPECT_TRUE(delivered[0].tag.end);
}

TEST_F(Clients, OneQuestionIsOnItsWayAndOnlyWhileSomethingIsUnconfirmed) {
  clients.attach({1}, a);
  clients.publish(output("1"));
  sent({1});
  EXPECT_THAT(asked[{1}], IsEmpty()) << "it follows what has left: no message waits for it";
  clients.drained({1}, 300);
  clients.publish(output("2"));
  clients.drained({1}, 300);
  sent({1});
  EXPECT_THAT(asked[{1}], ElementsAre(1));
  clients.confirmed({1}, 1);
  sent({1});
  EXPECT_THAT(asked[{1}], ElementsAre(1, 2));
  clients.confirmed({1}, 2);
  sent({1});
  EXPECT_THAT(asked[{1}], ElementsAre(1, 2));
}

TEST_F(Clients, AQuestionWithoutAnAnswerIsAskedAgainAfterAWhile) {
  at(0s);
  clients.attach({1}, a);
  for (const Duration time : {0s, 1s, 11s}) {
    at(time);
    clients.publish(output("x"));
    clients.drained({1}, 300);
  }
  sent({1});
  EXPECT_THAT(asked[{1}], ElementsAre(1, 3)) << "a client may answer the newest of several pings only";
}

TEST_F(Clients, AClientThatConfirmsUnaskedIsNotAsked) {
  clients.attach({1}, a, {.drops_repeats = true, .confirms_unasked = true});
  clients.publish(output("1"), {7, 1, false});
  clients.drained({1}, 300);
  sent({1});
  EXPECT_THAT(asked[{1}], IsEmpty());
  EXPECT_THAT(clients.take_delivered(), IsEmpty());
  clients.confirmed({1}, 1);
  EXPECT_EQ(clients.take_delivered().size(), 1U);
}

TEST_F(Clients, WhoDropsRepeatsGetsAllAgainThatItHasNotConfirmed) {
  clients.attach({1}, a, {.drops_repeats = true});
  for (const char* text : {"1", "2", "3"}) clients.publish(output(text));
  clients.drained({1}, 900);
  clients.confirmed({1}, 1);
  clients.detach({1});
  clients.publish(output("4"));
  clients.attach({2}, a, {.drops_repeats = true});
  sent({1});
  EXPECT_THAT(inbox[{2}], ElementsAre("2", "3", "4"));
  clients.detach({2});
  clients.attach({3}, a, {.drops_repeats = true});
  EXPECT_THAT(sent({3}), ElementsAre("2", "3", "4")) << "however often the connection breaks";
}

TEST_F(Clients, OthersAreToldInTheCellHowMuchMayBeMissing) {
  clients.attach({1}, a);
  for (const char* text : {"1", "2", "3", "4"}) clients.publish(output(text));
  clients.drained({1}, 900);
  clients.confirmed({1}, 1);
  clients.detach({1});
  clients.publish(output("5"));
  clients.attach({2}, a);
  sent({1});
  const std::string mark =
      "[banyan: the connection broke here; up to 2 messages (600 bytes) of output may be missing. The cell "
      "itself is not affected]\n";
  EXPECT_THAT(inbox[{2}], ElementsAre(mark, "4", "5")) << "4 had not left";
  clients.detach({2});
  clients.attach({3}, a);
  EXPECT_THAT(sent({3}), ElementsAre(mark, "4", "5")) << "the mark was lost as well";
  clients.drained({3}, 10'000);
  clients.confirmed({3}, 3);
  clients.detach({3});
  clients.attach({4}, a);
  clients.publish(output("6"));
  EXPECT_THAT(sent({4}), ElementsAre("6")) << "nothing is in doubt any more";
}

TEST_F(Clients, EachCellSaysWhatItMayLack) {
  const auto of_cell = [&](const std::string& cell, const std::string& text) {
    jupyter::Message message = output(text);
    message.parent_header = R"({"msg_id":")" + cell + "\"}";
    return message;
  };
  clients.attach({1}, a);
  clients.publish(of_cell("c1", "1"));
  clients.publish(of_cell("c2", "2"));
  clients.publish(of_cell("c2", "3"));
  clients.publish(of_cell("c1", "of its thread"));
  clients.drained({1}, 10'000);
  clients.detach({1});
  gateway.finish();
  clients.attach({2}, a);
  std::vector<std::string> parents;
  for (auto& effect : gateway.finish()) {
    if (const auto* to = std::get_if<ToClient>(&effect)) parents.push_back(to->message.parent_header);
  }
  EXPECT_THAT(parents, ElementsAre(R"({"msg_id":"c1"})", R"({"msg_id":"c2"})")) << "once each";
}

TEST_F(Clients, WhatAClientDoesNotShowIsSentAgainAndNoMarkCountsIt) {
  jupyter::Message input = output("code");
  input.header = R"({"msg_type":"execute_input"})";
  input.parent_header = R"({"msg_id": "c1", "session": "a"})";
  jupyter::Message first = output("1"), second = output("2");
  first.parent_header = R"({"session":"a","msg_id":"c1"})";
  second.parent_header = R"({"msg_id":"c1","session":"a"})";
  clients.attach({1}, a);
  for (const auto& message : {input, first, second}) clients.publish(message);
  clients.drained({1}, 10'000);
  clients.detach({1});
  clients.attach({2}, a);
  sent({1});
  ASSERT_EQ(inbox[{2}].size(), 2U) << "one mark for one cell, however its parent header is written";
  EXPECT_THAT(inbox[{2}][0], HasSubstr("up to 2 messages"));
  EXPECT_EQ(inbox[{2}][1], "code");
}

TEST_F(Clients, RepliesAndEndsInDoubtAreSentAgainToEveryone) {
  clients.attach({1}, a);
  clients.publish(output("1"), {1, 1, false});
  clients.send(a, reply("reply"), {1, 0, false});
  clients.publish(output("idle"), {1, 0, true});
  clients.drained({1}, 900);
  clients.detach({1});
  clients.attach({2}, a);
  sent({1});
  ASSERT_EQ(inbox[{2}].size(), 3U);
  EXPECT_THAT(inbox[{2}][0], HasSubstr("may be missing"));
  EXPECT_THAT(inbox[{2}], ElementsAre(_, "reply", "idle")) << "nobody waits for ever";
}

TEST_F(Clients, WhatIsInDoubtIsBoundedByTheBuffer) {
  clients.attach({1}, a, {.drops_repeats = true});
  for (int i = 1; i <= 30; ++i) {
    clients.publish(output(std::to_string(i)));
    clients.drained({1}, 300);
    EXPECT_LE(clients.bytes(), 4000U);
  }
  EXPECT_EQ(sent({1}).size(), 30U) << "a client that takes its messages is told of no cut";
  clients.detach({1});
  clients.attach({2}, a, {.drops_repeats = true});
  EXPECT_THAT(sent({2})[0], HasSubstr("17 messages"));
}

TEST_F(Clients, AMessageLargerThanEveryLimitStillPasses) {
  clients.attach({1}, a);
  jupyter::Message huge = output("huge");
  huge.buffers.emplace_back(std::string(10'000, 'x'));
  clients.publish(huge);
  EXPECT_THAT(sent({1}), ElementsAre("huge"));
}

/// With the whole gateway around it.
class GatewayConnections : public ::testing::Test {
 protected:
  void SetUp() override {
    gateway.start_with_hosts();
    session = gateway.create();
  }
  int open(const std::string& target, std::map<std::string, std::string> headers) {
    const ConnectionId id{900 + ++opened};
    gateway.step(ClientOpening{id, target, std::move(headers)});
    return gateway.clients[id].open ? 101 : gateway.clients[id].refused;
  }

  TestGateway gateway;
  SessionId session;
  std::uint64_t opened = 0;
};

TEST_F(GatewayConnections, NeedTheTokenAndAKernelWhateverTheCaseOfThePath) {
  const std::string path = "/api/kernels/" + session.value + "/channels";
  EXPECT_EQ(open(path, {}), 403);
  EXPECT_EQ(open(path, {{"authorization", "token wrong"}}), 403);
  EXPECT_EQ(open(path + "?token=secret", {}), 101);
  EXPECT_EQ(open(path, {{"authorization", "Bearer secret"}}), 101);
  std::string upper = path;
  for (char& c : upper) c = static_cast<char>(std::toupper(c));
  EXPECT_EQ(open(upper, {{"authorization", "token secret"}}), 101);
  EXPECT_EQ(open("/api/kernels/unknown/channels?token=secret", {}), 404);
  EXPECT_EQ(open("/elsewhere?token=secret", {}), 404);
}

TEST_F(GatewayConnections, AreCountedInTheModel) {
  const ConnectionId one = gateway.connect(session, "one");
  gateway.connect(session, "two");
  EXPECT_EQ(gateway.model(session)["connections"], 2);
  gateway.disconnect(one);
  EXPECT_EQ(gateway.model(session)["connections"], 1);
}

TEST_F(GatewayConnections, WithoutASessionIdTheFirstMessageNamesTheClient) {
  const ConnectionId first = gateway.connect(session, "");
  gateway.execute(first, "c1");
  const HostId host = gateway.who_got<Execute>()[0];
  gateway.disconnect(first);
  gateway.output(host, session, "c1", 1, "while away");
  const ConnectionId second = gateway.connect(session, "");
  gateway.say(second, TestGateway::request("kernel_info_request", "i1"));
  EXPECT_EQ(gateway.heard(second)[0], "stream:while away(c1)");
}

TEST_F(GatewayConnections, WithoutASessionIdASilentListenerHearsOutputsSoon) {
  const ConnectionId speaker = gateway.connect(session, "tab");
  const ConnectionId listener = gateway.connect(session, "");
  gateway.advance(600ms);
  gateway.execute(speaker, "c1");
  gateway.output(gateway.who_got<Execute>()[0], session, "c1", 1, "a");
  EXPECT_THAT(gateway.heard(listener), ElementsAre("stream:a(c1)"));
}

TEST_F(GatewayConnections, SayInTheirAddressWhatBecomesOfOutputsInDoubt) {
  const auto told_after_a_break = [&](const std::string& client, const std::string& manner) {
    ConnectionId tab = gateway.connect(session, client, manner);
    gateway.clients[tab].confirms = false;
    const std::string cell = "cell-of-" + client;
    gateway.say(tab, TestGateway::request("execute_request", cell, R"({"code":"1"})",
                                          jupyter::Channel::kShell, client));
    const HostId host = gateway.who_got<Execute>()[0];
    gateway.output(host, session, cell, 1, "a");
    gateway.disconnect(tab);
    tab = gateway.connect(session, client, manner);
    auto heard = gateway.heard(tab);
    gateway.end(host, session, cell, 1);
    gateway.disconnect(tab);
    gateway.forget();
    return heard;
  };
  EXPECT_THAT(told_after_a_break("drops", "&repeats=dropped"), Contains("stream:a(cell-of-drops)"));
  const auto stock = told_after_a_break("stock", "");
  EXPECT_THAT(stock, Contains(HasSubstr("up to 1 message (")));
  EXPECT_THAT(stock, Not(Contains("stream:a(cell-of-stock)")));
}

TEST_F(GatewayConnections, ThatConfirmUnaskedAreNotAsked) {
  const ConnectionId tab = gateway.connect(session, "tab");
  const ConnectionId relay = gateway.connect(session, "relay", "&confirmations=unasked");
  for (const ConnectionId id : {tab, relay}) gateway.clients[id].confirms = false;
  gateway.execute(tab, "c1");
  gateway.output(gateway.who_got<Execute>()[0], session, "c1", 1, "a");
  EXPECT_THAT(gateway.heard(relay), Contains("stream:a(c1)"));
  EXPECT_GT(gateway.clients[tab].asked, 0U);
  EXPECT_EQ(gateway.clients[relay].asked, 0U);
}

TEST_F(GatewayConnections, AClientThatConnectsWhileACellRunsHearsThatItDoes) {
  const ConnectionId first = gateway.connect(session, "one");
  gateway.execute(first, "c1");
  const ConnectionId second = gateway.connect(session, "two");
  EXPECT_THAT(gateway.heard(second), ElementsAre("status:busy(c1)"));
}

TEST_F(GatewayConnections, AreClosedForGoodWhenTheKernelIsDeleted) {
  const ConnectionId tab = gateway.connect(session, "tab");
  EXPECT_EQ(gateway.http("DELETE", "/api/kernels/" + session.value).status, 204);
  EXPECT_EQ(gateway.clients[tab].close_code, 1000);
}

}  // namespace
}  // namespace banyan::node
