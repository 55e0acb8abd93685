// Which values the reply of a cell waits for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>

#include "node/cell_run.h"
#include "node/test_group.h"

namespace banyan::node {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const WorkerId kLargeWorker{1};
const HostId kOtherHost{"h2"};

Sizes sizes_of_async(std::uint64_t link_window) {
  Sizes sizes;
  sizes.link_window = link_window;
  sizes.durable_inline = 250'000;
  return sizes;
}

Blob large_block(char letter) { return Blob(std::string(200'000, letter)); }
Digest large_name(char letter) { return digest_of(large_block(letter).view()); }

/// Cells on the first of three members, in a session whose replies wait for values of at most 250,000 bytes.
class LargeEndings : public ::testing::Test {
 protected:
  explicit LargeEndings(std::uint64_t link_window = Sizes().link_window)
      : group_(3, {.kernel_name = "python3", .durability = session::Durability::kAsync},
               sizes_of_async(link_window)) {
    group_.tends = false;
  }

  TestGroup::Member& here() { return group_.at(1); }
  const session::Session& session() { return *here().session; }
  /// A cell runs and ends with values; `letters` are the blocks of one of them, of 200,000 bytes each.
  void run(const std::string& name, const std::vector<std::string>& values, const std::string& code = "f()",
           const std::string& metadata = "{}", const std::vector<checkpoint::Action>& actions = {},
           bool forced = false) {
    cell_.emplace(
        CellRun::Parts{here().context, *here().log, chunks_, sync_, pending_, lease_},
        Execute{.session = {"s"},
                .execution = {name},
                .request = {.channel = jupyter::Channel::kShell,
                            .header = R"({"msg_id":")" + name + R"(","msg_type":"execute_request"})",
                            .metadata = metadata,
                            .content = Blob(R"json({"code":")json" + code + R"json("})json")},
                .lead = {1}},
        HostDevices::Grant{});
    cell_->bid();
    group_.settle();
    cell_->on_started(session().running()->epoch);
    lease_.begin(cell_->bid_at());
    cell_->on_fenced();
    cell_->go(kLargeWorker);
    if (!actions.empty()) cell_->ending.on_history(actions, forced);
    WorkerReport report{.worker = kLargeWorker, .execution = {name}, .execution_count = 1, .delta = {}};
    for (const std::string& letters : values) {
      session::CoVariable value{.names = {"x" + letters},
                                .parts = {static_cast<std::uint32_t>(letters.size())}};
      for (const char letter : letters) value.blocks.push_back(block(letter));
      report.delta.changed.push_back(std::move(value));
    }
    report.reply = {R"({"status":"ok"})", "{}"};
    cell_->on_report(std::move(report), session());
    cell_->on_message({.channel = jupyter::Channel::kIopub,
                       .header = R"({"msg_type":"status"})",
                       .content = Blob(R"({"execution_state":"idle"})")},
                      session());
    group_.settle();
  }
  /// A worker leaves out the bytes of what the session has.
  session::Chunk block(char letter) {
    session::Chunk chunk{.digest = large_name(letter), .size = large_block(letter).size()};
    if (!session().chunks().contains(chunk.digest)) chunk.bytes = large_block(letter);
    return chunk;
  }
  void stored_by_peer(char letter) {
    pending_.on_stored(session(), kOtherHost, large_name(letter));
    cell_->ending.on_chunk_stored(kOtherHost, large_name(letter), session());
    group_.settle();
  }
  void land(char letter) {
    const Digest name = large_name(letter);
    ASSERT_TRUE(chunks_.landed(name) || chunks_.landed_in_background(name));
    pending_.look_at(large_name(letter), session());
    cell_->ending.propose_if_safe(session());
    group_.settle();
  }
  bool ended(const std::string& name) { return session().find({name}) != nullptr; }

  TestGroup group_;
  HostSpeeds speeds_{here().context};
  HostChunks chunks_{here().context, speeds_, false};
  ChunkSync sync_{here().context, chunks_, speeds_, {"s"}};
  PendingChunks pending_{here().context, chunks_};
  Lease lease_{here().context};
  std::optional<CellRun> cell_;
};

TEST_F(LargeEndings, ALargeValueIsCapturedAndNotWaitedFor) {
  run("c", {"ab"});
  EXPECT_TRUE(ended("c"));
  EXPECT_EQ(pending_.bytes(), 400'000U);
  ASSERT_NE(chunks_.captured(large_name('a')), nullptr);
  EXPECT_EQ(chunks_.captured(large_name('a'))->view(), large_block('a').view());
}

TEST_F(LargeEndings, ASmallValueBesideALargeOneIsWaitedFor) {
  run("c", {"ab", "c"});
  EXPECT_FALSE(ended("c"));
  stored_by_peer('c');
  land('c');
  EXPECT_TRUE(ended("c"));
  EXPECT_TRUE(pending_.contains(large_name('a')));
}

TEST_F(LargeEndings, ASmallValueWithABlockThatIsPendingWaitsForThat) {
  run("c", {"ab"});
  run("d", {"a"});
  EXPECT_FALSE(ended("d"));
  stored_by_peer('a');
  EXPECT_FALSE(ended("d"));
  land('a');
  EXPECT_TRUE(ended("d"));
}

TEST_F(LargeEndings, ALargeValueWithBlocksThatArePendingDoesNot) {
  run("c", {"ab"});
  run("d", {"abcd"});
  EXPECT_TRUE(ended("d"));
}

TEST_F(LargeEndings, ADurableCellWaitsForAllOfItsValues) {
  run("c", {"ab"}, "%%durable\\nf()");
  EXPECT_FALSE(ended("c"));
  for (const char letter : {'a', 'b'}) stored_by_peer(letter), land(letter);
  EXPECT_TRUE(ended("c"));
}

TEST_F(LargeEndings, BlanksAroundTheWordMakeNoDifference) {
  run("c", {"ab"}, R"(\n \n%%durable\nf())");
  EXPECT_FALSE(ended("c"));
  for (const char letter : {'a', 'b'}) stored_by_peer(letter), land(letter);
  run("d", {"cd"}, R"(  %%durable  \r\n  f())");
  EXPECT_FALSE(ended("d"));
  for (const char letter : {'c', 'd'}) stored_by_peer(letter), land(letter);
  run("e", {"ef"}, "%%durable");
  EXPECT_FALSE(ended("e"));
}

TEST_F(LargeEndings, OtherWordsAreNotThatOne) {
  run("c", {"ab"}, R"(%%durables\nf())");
  EXPECT_TRUE(ended("c"));
  run("d", {"cd"}, R"(%%durable always\nf())");
  EXPECT_TRUE(ended("d")) << "the worker refuses it";
  run("e", {"ef"}, R"(f()\n%%durable)");
  EXPECT_TRUE(ended("e"));
}

TEST_F(LargeEndings, SoDoesOneWithTheTag) {
  run("c", {"ab"}, "f()", R"({"tags":["other","durable"]})");
  EXPECT_FALSE(ended("c"));
}

TEST_F(LargeEndings, OtherTagsAndMetadataThatIsNoneMakeNoDifference) {
  run("c", {"ab"}, "f()", R"({"tags":["undurable"]})");
  EXPECT_TRUE(ended("c"));
  run("d", {"cd"}, "f()", R"({"tags":"durable"})");
  EXPECT_TRUE(ended("d"));
  run("e", {"ef"}, "f()", "no JSON");
  EXPECT_TRUE(ended("e"));
}

TEST_F(LargeEndings, ADurableCellWaitsAlsoForBlocksOfEarlierCells) {
  run("c", {"ab"});
  run("d", {"abc"}, "%%durable\\nf()");
  stored_by_peer('c');
  land('c');
  EXPECT_FALSE(ended("d"));
  for (const char letter : {'a', 'b'}) {
    stored_by_peer(letter);
    land(letter);
  }
  EXPECT_TRUE(ended("d"));
}

TEST_F(LargeEndings, OneThatSuspendsTheSessionWaitsForAllThatIsPending) {
  run("c", {"ab"});
  run("d", {"cd"}, "%suspend", "{}", {checkpoint::Suspend{.suspended = true}});
  EXPECT_TRUE(pending_.contains(large_name('a')));
  EXPECT_FALSE(pending_.contains(large_name('c'))) << "nobody would ask for it before the commit";
  for (const char letter : {'a', 'b', 'c', 'd'}) {
    EXPECT_FALSE(ended("d"));
    stored_by_peer(letter);
    land(letter);
  }
  EXPECT_TRUE(ended("d"));
  EXPECT_TRUE(session().suspended());
}

TEST_F(LargeEndings, OneThatSuspendsTheSessionWhateverItLosesDoesNotWait) {
  run("c", {"ab"});
  run("d", {"cd"}, "%suspend --force", "{}", {checkpoint::Suspend{.suspended = true}}, true);
  EXPECT_TRUE(ended("d"));
  EXPECT_TRUE(session().suspended());
}

/// With a link that takes one block at a time.
class LargeEndingsOfASlowLink : public LargeEndings {
 protected:
  LargeEndingsOfASlowLink() : LargeEndings(100'000) {}
  /// How many of the blocks have gone to the other host so far.
  std::size_t sent() {
    for (const PeerMessage& message : group_.take_sent(1, kOtherHost))
      if (const auto* const part = std::get_if<ChunkPart>(&message)) sent_.insert(part->digest);
    return sent_.size();
  }

 private:
  std::set<Digest> sent_;
};

TEST_F(LargeEndingsOfASlowLink, BlocksFollowAsTimePasses) {
  run("c", {"abcdef"}, R"(%%durable\nf())");
  EXPECT_LT(sent(), 6U);
  for (int i = 0; i < 20; ++i) {
    group_.advance(50ms);
    cell_->ending.repeat_if_due(session());
    group_.settle();
  }
  EXPECT_EQ(sent(), 6U);
}

TEST_F(LargeEndingsOfASlowLink, BlocksFollowAsOthersAreStored) {
  run("c", {"abcdef"}, R"(%%durable\nf())");
  EXPECT_LT(sent(), 6U);
  for (int i = 0; i < 20; ++i) {
    group_.advance(50ms);
    stored_by_peer('a');
  }
  EXPECT_EQ(sent(), 6U);
}

TEST_F(LargeEndings, OneThatWaitsForLongSaysSo) {
  run("c", {"ab"}, R"(%%durable\nf())");
  const auto shown = [&] {
    std::string all;
    for (const PeerMessage& message : group_.take_sent(1, kGateway))
      if (const auto* const said = std::get_if<FromKernel>(&message)) all += said->message.content.view();
    return all;
  };
  cell_->ending.propose_if_safe(session());
  EXPECT_THAT(shown(), Not(HasSubstr("waits for the disks")));
  group_.advance(2s);
  cell_->ending.propose_if_safe(session());
  EXPECT_THAT(shown(),
              HasSubstr("Banyan waits for the disks of other hosts: ░░░░░░░░░░ a majority stores 0 MB"));
  stored_by_peer('a');
  land('a');
  group_.advance(1s);
  cell_->ending.propose_if_safe(session());
  EXPECT_THAT(shown(), HasSubstr("█████░░░░░"));
  stored_by_peer('b');
  land('b');
  EXPECT_TRUE(ended("c"));
  EXPECT_THAT(shown(), AllOf(HasSubstr("██████████ a majority has stored its values"),
                             Not(HasSubstr("clear_output"))));
}

TEST_F(LargeEndings, WhatWasCapturedForACellIsHeldUntilItsEndIsKnown) {
  run("c", {"ab"});
  EXPECT_FALSE(sync_.at_rest());
  sync_.held().release_ended(session());
  EXPECT_TRUE(sync_.at_rest());
}

}  // namespace
}  // namespace banyan::node
