// Questions about a session as a whole, and what goes from the disk with a move of head.

#include "core/session/whole.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/session/removals.h"
#include "core/session/test_session.h"

namespace banyan::session {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A session with `a`, which has bytes, and the live object `g`, which its cell makes again.
class Whole : public testing::Test {
 protected:
  Whole() {
    run(session, "c1", {.changed = {variable({"a"}, "1")}});
    run(session, "c2", {.failed = {"g"}});
  }
  Result<Answer> asked(const json& question) { return ask(session, {}, question.dump()); }
  std::string error(const json& question) {
    const auto answer = asked(question);
    return answer ? "" : answer.error().message;
  }
  json said(const json& question) { return json::parse(asked(question)->content); }
  void act(const json& question) {
    session.apply(Amend{"r", asked(question)->actions, session.last(), session.amended()});
  }
  Session session = fresh();
};

TEST_F(Whole, ACopyNamesVariablesThatAreThere) {
  EXPECT_EQ(error({{"do", "copy"}, {"names", "a z"}}), "there is no variable 'z' before this cell");
  EXPECT_EQ(said({{"do", "copy"}, {"names", "z a"}, {"made_now", true}})["always"], json({"a", "z"}));
  EXPECT_EQ(error({{"do", "copy"}, {"names", "z"}, {"always", false}}), "") << "it may have been deleted";
}

TEST_F(Whole, WhatIsAlwaysCopiedIsSoUntilSomebodySaysOtherwise) {
  act({{"do", "copy"}, {"names", "a g"}});
  EXPECT_THAT(session.copied_always(), ElementsAre("a", "g"));
  EXPECT_EQ(said({{"do", "copy"}, {"names", ""}})["always"], json({"a", "g"}));
  EXPECT_THAT(asked({{"do", "copy"}, {"names", ""}})->actions, IsEmpty()) << "that was a mere question";
  EXPECT_EQ(said({{"do", "copy"}, {"names", "g"}, {"always", false}})["always"], json({"a"}));
  act({{"do", "copy"}, {"names", "g"}, {"always", false}});
  EXPECT_THAT(session.copied_always(), ElementsAre("a"));
}

TEST_F(Whole, WhatIsAlwaysCopiedIsLostWhereItHasNoBytes) {
  EXPECT_EQ(error({{"do", "leave"}}), "");
  act({{"do", "copy"}, {"names", "a g"}});
  EXPECT_THAT(error({{"do", "leave"}}),
              HasSubstr("moving the session would lose 'g' (it is always to be copied, and cannot be):"));
  EXPECT_EQ(said({{"do", "leave"}, {"force", true}})["lost"].size(), 1U) << "a can be copied";
}

TEST_F(Whole, ASuspensionIsAnActionAndSoIsItsEnd) {
  act({{"do", "suspend"}});
  EXPECT_TRUE(session.suspended());
  act({{"do", "resume"}});
  EXPECT_FALSE(session.suspended());
}

TEST_F(Whole, AHandOverGoesToAReplicaOfTheSessionAndLosesNothingUnasked) {
  EXPECT_EQ(error({{"do", "hand_over"}, {"to", 9}}), "the session has no replica 9");
  EXPECT_EQ(said({{"do", "hand_over"}, {"to", 2}})["executor"], 2);
  act({{"do", "copy"}, {"names", "g"}});
  EXPECT_THAT(error({{"do", "hand_over"}, {"to", 2}}), HasSubstr("would lose 'g'"));
  act({{"do", "hand_over"}, {"to", 2}, {"force", true}});
  EXPECT_EQ(session.executor(), kB);
}

TEST_F(Whole, AMoveIsNotAskedForWhereItWouldLoseSomething) {
  EXPECT_TRUE(may_leave(session, {.host = "h4"}).has_value());
  act({{"do", "copy"}, {"names", "g"}});
  EXPECT_EQ(may_leave(session, {.host = "h4"}).error().kind, ErrorKind::kDenied);
  EXPECT_TRUE(may_leave(session, {.host = "h4", .force = true}).has_value());
}

TEST(Removals, AreToldAndNotDoneUnlessTheyAreForced) {
  const std::string said = R"({"head":"ROOT","odd":"\ud83d\ude00"})";
  const std::vector<Removal> removals = {{"d", "/tmp/d"}, {"e", "/tmp/e"}};
  const auto refused = with_removals(said, false, removals);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, ErrorKind::kDenied);
  EXPECT_THAT(refused.error().message,
              HasSubstr("/tmp/d (which goes with 'd'), /tmp/e (which goes with 'e'): copy"));
  const json forced = json::parse(*with_removals(said, true, removals));
  EXPECT_EQ(forced["removes"], json::parse(R"([{"name":"d","path":"/tmp/d"},{"name":"e","path":"/tmp/e"}])"));
  EXPECT_EQ(forced["head"], "ROOT");
  EXPECT_EQ(with_removals(R"({"head":"ROOT"})", false, {}), R"({"head":"ROOT","removes":[]})");
}

}  // namespace
}  // namespace banyan::session
