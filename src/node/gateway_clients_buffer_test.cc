// What becomes of messages that wait for clients when there are too many, and what counts as delivered then.

#include <gmock/gmock.h>

#include "node/gateway_clients.h"
#include "node/test_clients.h"

namespace banyan::node {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ClientBuffer : public Clients {
 protected:
  explicit ClientBuffer(std::uint64_t window = 1000, std::uint64_t buffer = 4000) : Clients(window, buffer) {}

  /// The numbers of the cells of which something was delivered since the last call.
  std::vector<std::uint64_t> cells_delivered() {
    std::vector<std::uint64_t> cells;
    for (const auto& one : clients.take_delivered()) cells.push_back(one.tag.cell);
    return cells;
  }
  static jupyter::Message status(const std::string& text) {
    jupyter::Message message = output(text);
    message.header = R"({"msg_type":"status"})";
    return message;
  }
};

TEST_F(ClientBuffer, WhereNoOutputIsLeftToCutTheOldestRepliesGo) {
  for (const ClientId& client : {a, b}) clients.expect(client);
  for (std::uint64_t cell = 1; cell <= 13; ++cell)
    clients.send(a, reply(std::to_string(cell)), {cell, 0, false});
  EXPECT_EQ(clients.bytes(), 3900U);
  EXPECT_THAT(cells_delivered(), IsEmpty());
  clients.send(a, reply("14"), {14, 0, false});
  EXPECT_EQ(clients.bytes(), 3900U);
  EXPECT_THAT(cells_delivered(), ElementsAre(1U)) << "nobody waits for that one any more";
  clients.attach({1}, a);
  const auto got = sent({1});
  ASSERT_GE(got.size(), 2U);
  EXPECT_THAT(got[0], HasSubstr("1 message (300 bytes) of output were cut here"));
  EXPECT_EQ(got[1], "2");
  clients.attach({2}, b);
  clients.send(b, reply("for b"));
  EXPECT_THAT(sent({2}), ElementsAre("for b")) << "it has missed nothing";
}

TEST_F(ClientBuffer, WhoHasAMessageDoesNotMissItWhenItGoes) {
  clients.expect(a);
  clients.attach({2}, b);
  for (std::uint64_t cell = 1; cell <= 15; ++cell) {
    clients.publish(status(std::to_string(cell)), {cell, 0, false});
    clients.drained({2}, 300);
    clients.confirmed({2}, cell);
  }
  (void)sent({2});
  (void)clients.take_delivered();
  clients.publish(status("16"));
  EXPECT_THAT(sent({2}), ElementsAre("16"));
  clients.attach({1}, a);
  EXPECT_THAT(sent({1})[0], HasSubstr("3 messages (900 bytes)"));
}

TEST_F(ClientBuffer, WhatWasOnItsWayAndIsNotInTheBufferAnyMoreIsMissed) {
  clients.attach({1}, a);
  clients.send(a, reply("1"));
  for (std::uint64_t cell = 2; cell <= 15; ++cell)
    clients.send(a, reply(std::to_string(cell)), {cell, 0, false});
  EXPECT_THAT(sent({1}), ElementsAre("1", "2", "3", "4"));
  EXPECT_THAT(cells_delivered(), IsEmpty()) << "it may still arrive";
  clients.detach({1});
  EXPECT_THAT(cells_delivered(), ElementsAre(2U)) << "the first one is of no cell";
  clients.attach({2}, a);
  const auto got = sent({2});
  ASSERT_GE(got.size(), 2U);
  EXPECT_THAT(got[0], HasSubstr("2 messages (600 bytes)"));
  EXPECT_EQ(got[1], "3");
}

TEST_F(ClientBuffer, AMarkThatWasNotConfirmedIsMadeAnew) {
  clients.attach({1}, a);
  for (std::uint64_t number = 1; number <= 30; ++number) clients.publish(output(std::to_string(number)));
  (void)sent({1});
  clients.drained({1}, 1200);
  clients.confirmed({1}, 4);
  ASSERT_THAT(sent({1})[0], HasSubstr("13 messages (3900 bytes)"));
  clients.detach({1});
  for (const ConnectionId connection : {ConnectionId{2}, ConnectionId{3}}) {
    clients.attach(connection, a, {.drops_repeats = true});
    const auto got = sent(connection);
    ASSERT_GE(got.size(), 2U);
    EXPECT_THAT(got[0], HasSubstr("13 messages (3900 bytes)"));
    EXPECT_EQ(got[1], "18");
    if (connection == ConnectionId{2}) clients.detach(connection);
  }
  clients.confirmed({3}, 1);
  clients.detach({3});
  clients.attach({4}, a, {.drops_repeats = true});
  EXPECT_EQ(sent({4})[0], "18") << "the mark has arrived";
}

TEST_F(ClientBuffer, AMarkThatWasNotConfirmedGrowsByWhatIsCutMeanwhile) {
  clients.attach({1}, a);
  for (std::uint64_t number = 1; number <= 30; ++number) clients.publish(output(std::to_string(number)));
  (void)sent({1});
  clients.drained({1}, 1200);
  clients.confirmed({1}, 4);
  (void)sent({1});
  clients.detach({1});
  for (std::uint64_t number = 31; number <= 35; ++number) clients.publish(output(std::to_string(number)));
  clients.attach({2}, a, {.drops_repeats = true});
  EXPECT_THAT(sent({2})[0], HasSubstr("18 messages (5400 bytes)"));
}

TEST_F(ClientBuffer, WhatIsCutCountsAsDelivered) {
  clients.expect(a);
  for (std::uint64_t number = 1; number <= 14; ++number)
    clients.publish(output(std::to_string(number)), {7, number, false});
  clients.attach({1}, a);
  const auto delivered = clients.take_delivered();
  ASSERT_EQ(delivered.size(), 1U);
  EXPECT_EQ(delivered[0].client, a);
  EXPECT_EQ(delivered[0].tag.seq, 1U);
}

TEST_F(ClientBuffer, AnOutputInDoubtThatIsNotSentAgainCountsAsDelivered) {
  clients.attach({1}, a);
  clients.publish(output("1"), {7, 1, false});
  clients.drained({1}, 300);
  clients.detach({1});
  (void)clients.take_delivered();
  clients.attach({2}, a);
  EXPECT_THAT(cells_delivered(), ElementsAre(7U));
}

TEST_F(ClientBuffer, WhatWasCutIsNotInDoubtToo) {
  clients.attach({1}, a);
  for (int i = 1; i <= 4; ++i) clients.publish(output(std::to_string(i)));
  clients.drained({1}, 1200);
  clients.detach({1});
  for (int i = 5; i <= 15; ++i) clients.publish(output(std::to_string(i)));
  (void)sent({1});
  clients.attach({2}, a);
  const auto got = sent({2});
  ASSERT_GE(got.size(), 3U);
  EXPECT_THAT(got[0], HasSubstr("up to 2 messages (600 bytes)"));
  EXPECT_THAT(got[1], HasSubstr("2 messages (600 bytes) of output were cut here"));
  EXPECT_EQ(got[2], "5");
}

TEST_F(ClientBuffer, AStatusIsNoOutputThatIsCut) {
  clients.expect(a);
  clients.publish(status("busy"));
  for (int i = 1; i <= 14; ++i) clients.publish(output(std::to_string(i)));
  clients.attach({1}, a);
  EXPECT_EQ(sent({1})[0], "busy");
}

TEST_F(ClientBuffer, TheNewestOutputStaysHoweverLargeItIs) {
  clients.expect(a);
  clients.publish(output("small"));
  jupyter::Message huge = output("huge");
  huge.buffers.emplace_back(std::string(10'000, 'x'));
  clients.publish(huge);
  clients.attach({1}, a);
  EXPECT_THAT(sent({1}), ElementsAre(HasSubstr("1 message (300 bytes)"), "huge"));
}

TEST_F(ClientBuffer, TheOnlyMessageStaysHoweverLargeItIs) {
  clients.expect(a);
  jupyter::Message huge = reply("huge");
  huge.buffers.emplace_back(std::string(10'000, 'x'));
  clients.send(a, huge);
  clients.attach({1}, a);
  EXPECT_THAT(sent({1}), ElementsAre("huge"));
}

/// Limits that whole messages reach exactly.
class FullClientBuffer : public ClientBuffer {
 protected:
  FullClientBuffer() : ClientBuffer(900, 3900) {}
};

TEST_F(FullClientBuffer, NothingGoesBeforeTheLimitIsPassed) {
  clients.expect(a);
  for (int i = 1; i <= 13; ++i) clients.publish(output(std::to_string(i)));
  clients.attach({1}, a);
  EXPECT_THAT(sent({1}), ElementsAre("1", "2", "3")) << "a window that is full takes no more";
  clients.detach({1});
  clients.expect(b);
  for (int i = 1; i <= 13; ++i) clients.send(b, reply(std::to_string(i)));
  clients.attach({2}, b);
  EXPECT_EQ(sent({2})[0], "1");
}

// ---- connections and questions

TEST_F(ClientBuffer, ToAttachSaysWhetherSomethingWaited) {
  EXPECT_FALSE(clients.attach({1}, a));
  clients.detach({1});
  EXPECT_FALSE(clients.attach({2}, a));
  clients.detach({2});
  clients.publish(output("1"));
  EXPECT_TRUE(clients.attach({3}, a));
}

TEST_F(ClientBuffer, WhatAConnectionThatIsNobodysSaysIsNothing) {
  clients.expect(a);
  clients.publish(output("1"));
  clients.drained({9}, 300);
  clients.confirmed({9}, 1);
  clients.detach({9});
  EXPECT_EQ(clients.client_of({9}), nullptr);
  EXPECT_FALSE(clients.connected(b));
  EXPECT_FALSE(clients.has_yet_to_get(b, 0));
  EXPECT_EQ(clients.bytes(), 300U);
}

TEST_F(ClientBuffer, AClientHasYetToGetWhatItHasNotConfirmedAndNothingThatIsToCome) {
  clients.attach({1}, a);
  const std::uint64_t place = clients.send(a, reply("1"));
  EXPECT_TRUE(clients.has_yet_to_get(a, place));
  EXPECT_FALSE(clients.has_yet_to_get(a, place + 1));
  clients.drained({1}, 300);
  clients.confirmed({1}, 1);
  EXPECT_FALSE(clients.has_yet_to_get(a, place));
}

TEST_F(ClientBuffer, WhenAllConnectionsAreClosedNobodyIsKnown) {
  clients.attach({1}, a);
  clients.publish(output("1"));
  clients.close_all(1000, "the end");
  (void)sent({1});
  EXPECT_EQ(closed[{1}], 1000);
  EXPECT_EQ(clients.connections(), 0U);
  EXPECT_FALSE(clients.knows(a));
  EXPECT_EQ(clients.bytes(), 0U);
}

TEST_F(ClientBuffer, WhatWaitedForAClientThatIsForgottenGoes) {
  at(1h);
  clients.attach({1}, a);
  clients.attach({2}, b);
  clients.detach({1});
  clients.send(a, reply("1"));
  at(1h + 10min);
  EXPECT_THAT(clients.forget_absent(), IsEmpty());
  EXPECT_EQ(clients.bytes(), 300U);
  at(1h + 10min + 1s);
  EXPECT_THAT(clients.forget_absent(), ElementsAre(a));
  EXPECT_EQ(clients.bytes(), 0U);
}

TEST_F(ClientBuffer, AClientThatIsBackIsNotForgotten) {
  at(0s);
  clients.attach({1}, a);
  clients.detach({1});
  clients.attach({2}, a);
  at(1h);
  EXPECT_THAT(clients.forget_absent(), IsEmpty());
}

TEST_F(ClientBuffer, AQuestionThatIsOnItsWayIsNotOverByAnAnswerToLess) {
  at(1h);
  clients.attach({1}, a);
  for (const char* text : {"1", "2"}) clients.publish(output(text));
  clients.drained({1}, 600);
  clients.confirmed({1}, 1);
  at(1h + 9s);
  clients.publish(output("3"));
  clients.drained({1}, 300);
  (void)sent({1});
  EXPECT_THAT(asked[{1}], ElementsAre(2U));
  at(1h + 10s);
  clients.drained({1}, 0);
  (void)sent({1});
  EXPECT_THAT(asked[{1}], ElementsAre(2U, 3U));
}

TEST_F(ClientBuffer, AReplyThatHasLeftIsForALaterLifeUntilItIsConfirmed) {
  clients.attach({1}, a);
  clients.publish(output("1"), {1, 1, false});
  clients.send(a, reply("2"), {1, 0, false});
  clients.drained({1}, 600);
  EXPECT_THAT(cells_delivered(), ElementsAre(1U)) << "the output alone";
  clients.confirmed({1}, 2);
  EXPECT_THAT(cells_delivered(), ElementsAre(1U));
}

TEST(ClientManners, AreThoseThatTheAddressNames) {
  EXPECT_FALSE(manner_of({}).drops_repeats);
  EXPECT_FALSE(manner_of(parse_target("/?repeats=shown&confirmations=asked")).drops_repeats);
  EXPECT_FALSE(manner_of(parse_target("/?repeats=shown&confirmations=asked")).confirms_unasked);
  EXPECT_TRUE(manner_of(parse_target("/?repeats=dropped")).drops_repeats);
  EXPECT_TRUE(manner_of(parse_target("/?confirmations=unasked")).confirms_unasked);
}

}  // namespace
}  // namespace banyan::node
