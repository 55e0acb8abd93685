// The end of a cell: one, told when it is durable, remembered until its client has it.

#include "node/gateway_ends.h"

#include <gmock/gmock.h>

#include "node/gateway_messages.h"
#include "node/test_parts.h"

namespace banyan::node {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CellEndsTest : public ::testing::Test, protected TestGround {
 protected:
  CellEndsTest() { clients.expect(tab); }

  [[nodiscard]] AcceptedCell cell(std::uint64_t number) const {
    AcceptedCell cell{.execution = {"c" + std::to_string(number)}};
    cell.record.number = number;
    cell.record.client = tab;
    cell.record.request.header = R"({"msg_id":"c)" + std::to_string(number) + R"("})";
    return cell;
  }
  /// The types of the messages that the client gets when it comes, which then has all of them.
  std::vector<std::string> delivered() {
    clients.attach({1}, tab);
    std::vector<std::string> types;
    std::uint64_t count = 0;
    for (const GatewayEffect& effect : gateway.finish()) {
      const auto* const sent = std::get_if<ToClient>(&effect);
      if (sent == nullptr) continue;
      types.push_back(text_member(sent->message.header, "msg_type"));
      clients.drained({1}, sent->message.size());
      clients.confirmed({1}, ++count);
    }
    for (const auto& [client, tag] : clients.take_delivered()) ends.on_delivered(client, tag);
    return types;
  }
  std::vector<std::string> keys() {
    finish();
    std::vector<std::string> keys;
    for (const Store& write : std::exchange(writes, {}))
      keys.push_back((write.value.empty() ? "-" : "+") + write.key);
    return keys;
  }

  const ClientId tab{"tab"};
  GatewayClients clients{gateway, record.id};
  CellEnds ends{gateway, record.id, clients};
};

TEST_F(CellEndsTest, AVerdictIsToldWhenItIsDurableAndNotBefore) {
  ends.judge(cell(1), {"NoExecutor", "nobody can"});
  EXPECT_THAT(keys(), ElementsAre("+" + cell_key(record.id, 1)));
  EXPECT_TRUE(ends.knows({"c1"}));
  EXPECT_EQ(clients.bytes(), 0U);
  ends.on_noted(1);
  EXPECT_THAT(delivered(), ElementsAre("status", "error", "execute_reply", "status"));
}

TEST_F(CellEndsTest, ItIsForgottenWhenItsClientHasIt) {
  ends.judge(cell(1), {"NoExecutor", "nobody can"});
  ends.on_noted(1);
  keys();
  EXPECT_FALSE(ends.remembers({"c1"}));
  delivered();
  EXPECT_THAT(keys(), ElementsAre("-" + cell_key(record.id, 1)));
  EXPECT_FALSE(ends.knows({"c1"}));
  EXPECT_TRUE(ends.remembers({"c1"})) << "the client may say it again";
}

TEST_F(CellEndsTest, TheHostKeepsTheOutputsUntilThen) {
  ExecutionEnded end{.session = record.id, .execution = {"c1"}};
  end.reply.header = R"({"msg_type":"execute_reply"})";
  end.reply.content = Blob(std::string(R"({"status":"ok"})"));
  ends.tell(cell(1), h2, end);
  EXPECT_THAT(take<OutputDelivered>(h2), IsEmpty());
  EXPECT_THAT(delivered(), ElementsAre("execute_reply", "status"));
  const auto told = take<OutputDelivered>(h2);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_TRUE(told[0].whole);
}

TEST_F(CellEndsTest, NobodyWaitsForTheEndWhoseClientIsForgotten) {
  ends.judge(cell(1), {});
  ends.on_noted(1);
  keys();
  ends.drop_unwanted();
  EXPECT_THAT(keys(), IsEmpty()) << "the client may come back";
  AcceptedCell stranger = cell(2);
  stranger.record.client = {"gone"};
  ends.judge(stranger, {});
  ends.on_noted(2);
  keys();
  ends.drop_unwanted();
  EXPECT_THAT(keys(), ElementsAre("-" + cell_key(record.id, 2)));
}

TEST_F(CellEndsTest, ALostCellSaysThatItMayHaveRun) {
  ExecutionEnded end{.session = record.id, .execution = {"c1"}, .status = session::Status::kLost};
  end.reason = "Host h1 went down";
  ends.tell(cell(1), h2, end);
  clients.attach({1}, tab);
  std::string texts;
  for (const GatewayEffect& effect : gateway.finish())
    if (const auto* const sent = std::get_if<ToClient>(&effect)) texts += sent->message.content.view();
  EXPECT_THAT(texts, HasSubstr("ExecutionLost"));
  EXPECT_THAT(texts, HasSubstr("Host h1 went down. The cell may have run partly"));
}

TEST_F(CellEndsTest, OfASessionThatEndsNoRecordStays) {
  ends.judge(cell(1), {});
  ends.judge(cell(2), {});
  ends.on_noted(1);
  keys();
  ends.close();
  EXPECT_THAT(keys(), ElementsAre("-" + cell_key(record.id, 2), "-" + cell_key(record.id, 1)));
}

}  // namespace
}  // namespace banyan::node
