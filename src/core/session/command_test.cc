// What earlier versions wrote is read.

#include <gtest/gtest.h>

#include "base/codec.h"
#include "core/session/session.h"

namespace banyan::session {
namespace {

TEST(Command, ThePlaceOfWhatAnEarlierVersionWroteIsReadAndHasNoEffect) {
  struct Vote {
    ExecutionId execution;
    ReplicaId voter;
    ReplicaId winner;
  };
  const std::string written = encode(std::variant<Propose, Vote>(Vote{{"c1"}, ReplicaId{1}, ReplicaId{2}}));
  const auto command = decode<Command>(written);
  ASSERT_TRUE(command.has_value());
  ASSERT_TRUE(std::holds_alternative<Retired>(*command));
  EXPECT_TRUE(Session({"s"}, Spec{}, {{ReplicaId{1}, {"h1"}}}).apply(*command).empty());
}

TEST(Command, ASpecThatAnEarlierVersionWroteIsRead) {
  struct Earlier {
    std::string kernel_name = "python3";
    std::string working_directory = "/work";
    std::map<std::string, std::string> env = {{"A", "1"}};
    enum class Rounds : std::uint8_t { kFirstLead } rounds = Rounds::kFirstLead;
    Keep keep = {.cells = 7};
    Standbys standbys = Standbys::kWarm;
  };
  const auto spec = decode<Spec>(encode(Earlier{}));
  ASSERT_TRUE(spec.has_value());
  EXPECT_EQ(*spec, (Spec{"python3", "/work", {{"A", "1"}}, {}, {.cells = 7}, Standbys::kWarm}));
}

}  // namespace
}  // namespace banyan::session
