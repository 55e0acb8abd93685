#include "core/raft/membership.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "core/raft/quorum.h"

namespace banyan::raft {
namespace {

Membership of(std::set<ReplicaId> voters) {
  Membership m;
  m.voters = std::move(voters);
  return m;
}

constexpr ChangeStep add(std::uint64_t id) { return {ChangeKind::kAddVoter, {id}}; }
constexpr ChangeStep learn(std::uint64_t id) { return {ChangeKind::kAddLearner, {id}}; }
constexpr ChangeStep remove(std::uint64_t id) { return {ChangeKind::kRemove, {id}}; }

std::string after(const Membership& before, Transition transition, std::vector<ChangeStep> steps) {
  const auto m = changed(before, {transition, std::move(steps), {}});
  return m ? to_string(*m) : "refused: " + m.error().message;
}

TEST(Membership, OneVoterChangesAtOnce) {
  const Membership m = of({{1}, {2}, {3}});
  EXPECT_EQ(after(m, Transition::kAuto, {add(4)}), "1 2 3 4");
  EXPECT_EQ(after(m, Transition::kAuto, {remove(1)}), "2 3");
  EXPECT_EQ(after(m, Transition::kAuto, {learn(4)}), "1 2 3 learners 4");
  EXPECT_EQ(after(m, Transition::kAuto, {learn(3)}), "1 2 learners 3");
  EXPECT_EQ(after(m, Transition::kAuto, {add(3)}), "1 2 3") << "what is so already is no error";
}

TEST(Membership, OfStepsForOneReplicaTheLastOneCounts) {
  const Membership m = of({{1}, {2}, {3}});
  EXPECT_EQ(after(m, Transition::kAuto, {learn(3), add(3)}), "1 2 3 & 1 2 3 auto-leave");
  EXPECT_EQ(after(m, Transition::kAuto, {learn(3), remove(3)}), "1 2 & 1 2 3 auto-leave");
  EXPECT_EQ(after(m, Transition::kAuto, {learn(4), remove(4)}), "1 2 3 & 1 2 3 auto-leave");
}

TEST(Membership, SeveralVotersChangeThroughAJointPhase) {
  const Membership m = of({{1}, {2}, {3}});
  EXPECT_EQ(after(m, Transition::kAuto, {add(4), remove(1)}), "2 3 4 & 1 2 3 auto-leave");
  EXPECT_EQ(after(m, Transition::kJointImplicit, {add(4)}), "1 2 3 4 & 1 2 3 auto-leave");
  EXPECT_EQ(after(m, Transition::kJointExplicit, {add(4)}), "1 2 3 4 & 1 2 3");
}

TEST(Membership, AVoterThatBecomesALearnerVotesUntilTheJointPhaseEnds) {
  const auto joint = changed(of({{1}, {2}, {3}}), {Transition::kJointExplicit, {learn(3), add(4)}, {}});
  ASSERT_TRUE(joint.has_value());
  EXPECT_EQ(to_string(*joint), "1 2 4 & 1 2 3 learners-next 3");
  EXPECT_TRUE(is_voter(*joint, {3}));
  const auto end = changed(*joint, {});
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(to_string(*end), "1 2 4 learners 3");
}

TEST(Membership, RefusesWhatDoesNotFit) {
  const Membership m = of({{1}});
  EXPECT_FALSE(changed(m, {}).has_value()) << "there is no joint phase to leave";
  EXPECT_FALSE(changed(m, {Transition::kAuto, {remove(1)}, {}}).has_value()) << "no voter is left";
  EXPECT_FALSE(changed(m, {Transition::kAuto, {add(0)}, {}}).has_value()) << "0 is nobody";
  EXPECT_FALSE(changed({}, {Transition::kJointExplicit, {add(1)}, {}}).has_value());
  const auto joint = changed(m, {Transition::kJointExplicit, {add(2)}, {}});
  ASSERT_TRUE(joint.has_value());
  EXPECT_FALSE(changed(*joint, {Transition::kAuto, {add(3)}, {}}).has_value()) << "joint already";
}

TEST(Quorum, NeedsAMajorityOfBothHalves) {
  Membership m = of({{1}, {2}, {3}});
  const std::map<ReplicaId, std::uint64_t> reached{{{1}, 9}, {{2}, 7}, {{3}, 3}, {{4}, 1}, {{5}, 2}};
  const auto value = [&](ReplicaId id) { return reached.at(id); };
  EXPECT_EQ(quorum_reached(m, value), 7U);
  m.outgoing = {{3}, {4}, {5}};
  EXPECT_EQ(quorum_reached(m, value), 2U);
  m.voters = {{1}, {2}, {3}, {4}};
  m.outgoing.clear();
  EXPECT_EQ(quorum_reached(m, value), 3U) << "of four, three are a majority";
  EXPECT_EQ(quorum_reached({}, value), 0U);
}

TEST(Quorum, AVoteIsLostWhenNoMajorityIsLeft) {
  Membership m = of({{1}, {2}, {3}});
  EXPECT_EQ(tally(m, {{{1}, true}}), Tally::kPending);
  EXPECT_EQ(tally(m, {{{1}, true}, {{2}, true}}), Tally::kWon);
  EXPECT_EQ(tally(m, {{{1}, true}, {{2}, false}, {{3}, false}}), Tally::kLost);
  EXPECT_EQ(tally(m, {{{1}, true}, {{7}, true}}), Tally::kPending) << "strangers do not count";
  m.outgoing = {{4}};
  EXPECT_EQ(tally(m, {{{1}, true}, {{2}, true}}), Tally::kPending);
  EXPECT_EQ(tally(m, {{{1}, true}, {{2}, true}, {{4}, false}}), Tally::kLost);
  EXPECT_EQ(tally({}, {}), Tally::kLost);
}

TEST(Quorum, AnyTwoQuorumsOfNeighbouringMembershipsMeet) {
  Rng rng(20261121);
  for (int round = 0; round < 3000; ++round) {
    Membership before;
    for (std::uint64_t id = 1; id <= 5; ++id)
      if (rng.chance(0.6)) before.voters.insert({id});
    const Transition transition = rng.chance(0.5) ? Transition::kAuto : Transition::kJointExplicit;
    std::vector<ChangeStep> steps;
    for (std::uint64_t left = rng.below(4); left > 0; --left)
      steps.push_back({static_cast<ChangeKind>(rng.below(3)), {1 + rng.below(5)}});
    const auto next = changed(before, {transition, steps, {}});
    if (!next || before.voters.empty()) continue;
    // All that are not in the first quorum try to be a second one.
    std::map<ReplicaId, bool> yes;
    std::map<ReplicaId, bool> rest;
    for (std::uint64_t id = 1; id <= 5; ++id) (rng.chance(0.5) ? yes : rest)[{id}] = true;
    EXPECT_FALSE(tally(before, yes) == Tally::kWon && tally(*next, rest) == Tally::kWon)
        << to_string(before) << " -> " << to_string(*next);
  }
}

}  // namespace
}  // namespace banyan::raft
