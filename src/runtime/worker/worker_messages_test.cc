#include "runtime/worker/worker_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace banyan::runtime {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr WorkerId kWorker{7};

Frame frame_of(const std::string& body, const std::string& payload = "") {
  return {.body = json::parse(body), .payload = Blob(payload), .memfd = {}};
}

TEST(WorkerMessages, AReportBecomesADelta) {
  const Frame frame = frame_of(R"({"type":"report","execution":"m1","count":3,
      "changed":[{"names":["b","a"],"type":"list","parts":[[{"in":"payload","at":0,"size":3}],
                  [{"in":"payload","at":3,"size":2},
                   {"known":"000102030405060708090a0b0c0d0e0f","size":99999}]]}],
      "deleted":["old"],"failed":[{"name":"s","reason":"a socket","alone":true},{"name":"t","reason":"a lock"}],
      "reads":["a"],"reads_all":false,"effects":["wrote x"],"gpus":3,"devices":["nvidia0","nvidia2"],"work":["thread a","thread b"],"begun":["thread b"],
      "serialised":[{"type":"list","us":70},{"type":"dict","us":18446744073709551615}],"later":"versions may add fields"})",
                               "abcde");
  const Result<WorkerSays> says = parse_worker_frame(kWorker, frame);
  ASSERT_TRUE(says) << says.error().message;
  auto report = std::get<node::WorkerReport>(*says);
  EXPECT_EQ(report.execution, ExecutionId{"m1"});
  EXPECT_EQ(report.execution_count, 3U);
  ASSERT_EQ(report.delta.changed.size(), 1U);
  EXPECT_THAT(report.delta.changed[0].names, ElementsAre("a", "b")) << "sorted";
  const auto& blocks = report.delta.changed[0].blocks;
  EXPECT_THAT(report.delta.changed[0].parts, ElementsAre(1, 2));
  EXPECT_EQ(report.delta.changed[0].type, "list");
  ASSERT_EQ(blocks.size(), 3U);
  EXPECT_EQ(blocks[0].bytes->view(), "abc");
  EXPECT_EQ(blocks[1].bytes->view(), "de");
  EXPECT_FALSE(blocks[2].bytes);
  EXPECT_EQ(to_hex(blocks[2].digest), "000102030405060708090a0b0c0d0e0f");
  EXPECT_THAT(report.delta.deleted, ElementsAre("old"));
  EXPECT_THAT(report.delta.failed, ElementsAre("s", "t"));
  EXPECT_THAT(report.delta.alone, ElementsAre("s"));
  EXPECT_THAT(report.delta.footprint.reads, ElementsAre("a"));
  EXPECT_THAT(report.delta.footprint.effects, ElementsAre("wrote x"));
  EXPECT_EQ(report.delta.footprint.gpus, 3U);
  EXPECT_EQ(report.uses, (std::set<DeviceId>{{"nvidia0"}, {"nvidia2"}}));
  EXPECT_THAT(report.delta.footprint.work, ElementsAre("thread a", "thread b"));
  EXPECT_THAT(report.delta.footprint.begun, ElementsAre("thread b"));
  EXPECT_EQ(report.delta.footprint.serialised_us, (std::map<std::string, std::int64_t>{{"list", 70}}))
      << "and nothing that no cell can have taken";
  EXPECT_EQ(bytes_of(report), 5U);
  add_digests(report);
  EXPECT_EQ(blocks[1].digest, digest_of("de"));
}

TEST(WorkerMessages, OfTooManyTypesThoseThatTookLongestCount) {
  json body{{"type", "repeated"}, {"commit", 4}, {"made", {"x"}}, {"changed", json::array()}, {"error", ""}};
  for (int i = 0; i < 100; ++i) body["serialised"].push_back({{"type", std::to_string(i)}, {"us", i}});
  const auto says = parse_worker_frame(kWorker, frame_of(body.dump()));
  ASSERT_TRUE(says) << says.error().message;
  const auto& kept = std::get<node::WorkerRepeated>(*says).serialised_us;
  EXPECT_EQ(kept.size(), 16U);
  EXPECT_TRUE(kept.contains("84") && kept.contains("99"));
}

TEST(WorkerMessages, WhatBreaksTheProtocolIsCorruptAndNamed) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {R"({})", "lacks type"},
      {R"({"type":7})", "no string"},
      {R"({"type":"dance"})", "unknown type"},
      {R"({"type":"fence"})", "lacks execution"},
      {R"({"type":"ask"})", "lacks question"},
      {R"({"type":"ask","question":{"do":[[]]}})", "no flat object"},
      {R"({"type":"applied","commit":-1,"failed":[]})", "no unsigned number"},
      {R"({"type":"applied","commit":1,"failed":["x"]})", "lacks name"},
      {R"({"type":"report","execution":"m","count":1,"changed":{},"deleted":[],"failed":[]})", "no array"},
      {R"({"type":"report","execution":"m","count":1,"deleted":[],"failed":[],
          "changed":[{"names":[],"parts":[[{"in":"payload","at":0,"size":0}]]}]})",
       "no names"},
      {R"({"type":"report","execution":"m","count":1,"deleted":[],"failed":[],
          "changed":[{"names":["a"],"parts":[[{"in":"payload","at":0,"size":1}]]}]})",
       "outside its frame"},
  };
  for (const auto& [body, why] : cases) {
    const Result<WorkerSays> says = parse_worker_frame(kWorker, frame_of(body));
    ASSERT_FALSE(says) << body;
    EXPECT_EQ(says.error().kind, ErrorKind::kCorrupt);
    EXPECT_THAT(says.error().message, HasSubstr(why));
  }
}

TEST(WorkerMessages, OfWhatAWorkerSaysItImportedOnlyNamesAreTaken) {
  EXPECT_THAT(
      imported_in(frame_of(R"({"type":"report","imported":["numpy","scipy.stats",3,"","a b","../x"]})")),
      ElementsAre("numpy", "scipy.stats"));
  EXPECT_TRUE(imported_in(frame_of(R"({"type":"report","imported":"numpy"})")).empty());
  EXPECT_TRUE(imported_in(frame_of(R"({"type":"report"})")).empty());
  json many{{"imported", json::array()}};
  for (int i = 0; i < 10'000; ++i) many["imported"].push_back("m" + std::to_string(i));
  EXPECT_LE(imported_in({.body = many, .payload = {}, .memfd = {}}).size(), 500U);
}

TEST(WorkerMessages, AZygoteTellsWhatItCouldNotImportAndFromWhere) {
  const auto says =
      parse_zygote_frame(frame_of(R"({"type":"imported","failed":["a.b"],"unfit":["c"],"left":["d.e"],
                   "files":[{"path":"/x/__init__.py","mtime_ns":17}]})"));
  ASSERT_TRUE(says) << says.error().message;
  const auto done = std::get<ZygoteImported>(*says);
  EXPECT_THAT(done.failed, ElementsAre("a.b"));
  ASSERT_EQ(done.files.size(), 1U);
  EXPECT_EQ(done.files[0].path, "/x/__init__.py");
  EXPECT_EQ(done.files[0].mtime_ns, 17);
}

TEST(WorkerMessages, AZygoteTellsHowItsWorkersEnd) {
  const auto end = [](const std::string& body) {
    return std::get<Exited>(*parse_zygote_frame(frame_of(body))).status;
  };
  EXPECT_EQ(end(R"({"type":"exited","worker":7,"pid":1,"signal":9})").signal, 9);
  EXPECT_EQ(end(R"({"type":"exited","worker":7,"pid":1,"code":3})").code, 3);
  EXPECT_FALSE(parse_zygote_frame(frame_of(R"({"type":"exited","worker":7,"pid":1})")));
  EXPECT_FALSE(parse_zygote_frame(frame_of(R"({"type":"spawned","worker":7,"pid":99999999999})")));
  EXPECT_FALSE(parse_zygote_frame(frame_of(R"({"type":"spawned","worker":7,"pid":-1})")));
}

TEST(WorkerMessages, AnAnswerGoesOrRefuses) {
  EXPECT_EQ(answer_frame({kWorker, ExecutionId{"m"}, std::nullopt}).body,
            json::parse(R"({"type":"go","execution":"m"})"));
  EXPECT_EQ(answer_frame({kWorker, ExecutionId{"m"}, "late"}).body,
            json::parse(R"({"type":"refuse","execution":"m","reason":"late"})"));
}

TEST(WorkerMessages, AQuestionComesAsTextAndItsAnswerGoesAsJson) {
  const Result<WorkerSays> says =
      parse_worker_frame(kWorker, frame_of(R"({"type":"ask","question":{"do":"undo","count":2}})"));
  ASSERT_TRUE(says) << says.error().message;
  EXPECT_EQ(json::parse(std::get<node::WorkerAsks>(*says).question),
            json::parse(R"({"do":"undo","count":2})"));
  EXPECT_EQ(answer_frame(node::AnswerWorker{kWorker, std::string(R"({"head":"x"})")}).body,
            json::parse(R"({"type":"answer","content":{"head":"x"}})"));
  EXPECT_EQ(answer_frame(node::AnswerWorker{kWorker, fail(ErrorKind::kConflict, "no")}).body,
            json::parse(R"({"type":"answer","error":"no"})"));
}

TEST(WorkerMessages, WhatACellReadsIsAskedAndSaid) {
  const node::AskReads question{
      .worker = kWorker, .execution = {"m"}, .code = "next(g)", .names = {"f", "g"}};
  EXPECT_EQ(reads_frame(question).body,
            json::parse(R"json({"type":"reads","execution":"m","code":"next(g)","names":["f","g"]})json"));
  const auto says =
      parse_worker_frame(kWorker, frame_of(R"({"type":"reads","execution":"m","names":["g"]})"));
  ASSERT_TRUE(says) << says.error().message;
  EXPECT_EQ(std::get<node::WorkerReads>(*says).execution, ExecutionId{"m"});
  EXPECT_EQ(std::get<node::WorkerReads>(*says).names, std::vector<std::string>{"g"});
}

TEST(WorkerMessages, WhatGoesFromTheDiskIsAskedAndSaid) {
  EXPECT_EQ(removes_frame({.worker = kWorker, .request = "r", .names = {"a", "d"}}).body,
            json::parse(R"({"type":"removes","request":"r","names":["a","d"]})"));
  const auto says = parse_worker_frame(
      kWorker, frame_of(R"({"type":"removes","request":"r","removes":[{"name":"d","path":"/tmp/x"}]})"));
  ASSERT_TRUE(says) << says.error().message;
  EXPECT_EQ(std::get<node::WorkerRemoves>(*says).request, "r");
  EXPECT_THAT(std::get<node::WorkerRemoves>(*says).removals,
              ElementsAre(session::Removal{.name = "d", .path = "/tmp/x"}));
}

TEST(WorkerMessages, ACellThatRunsAgainKnowsWhatItMade) {
  const node::RepeatOnWorker cell{
      .worker = kWorker,
      .commit = CommitId{4},
      .code = "x = 1; g = iter([])",
      .fails = false,
      .makes = {{.names = {"x"}, .blocks = {{.digest = {1, 2}, .size = 7}}, .parts = {1}},
                {.names = {"g"}, .blocks = {}, .parts = {}}},
      .wanted = {{1, 2}}};
  EXPECT_EQ(repeat_frame(cell).body,
            json::parse(R"json({"type":"repeat","commit":4,"code":"x = 1; g = iter([])","fails":false,
      "makes":[{"names":["x"],"blocks":["00000000000000010000000000000002"],"kept":true},{"names":["g"],"blocks":[],"kept":true}],
      "wanted":["00000000000000010000000000000002"]})json"));
  const auto says = parse_worker_frame(
      kWorker, frame_of(R"({"type":"repeated","commit":4,"made":["g"],"changed":["x"],"error":"",
                   "serialised":[{"type":"int","us":5}]})"));
  ASSERT_TRUE(says) << says.error().message;
  const auto& repeated = std::get<node::WorkerRepeated>(*says);
  EXPECT_EQ(repeated.commit, CommitId{4});
  EXPECT_EQ(repeated.made, std::vector<std::string>{"g"});
  EXPECT_EQ(repeated.changed, std::vector<std::string>{"x"});
  EXPECT_EQ(repeated.serialised_us.at("int"), 5);
}

TEST(WorkerMessages, WhatWasMadeAgainComesWithTheBytesThatAreWanted) {
  const auto says = parse_worker_frame(
      kWorker, frame_of(R"({"type":"repeated","commit":4,"made":["x"],"changed":[],"error":"","serialised":[],
                   "blocks":[{"in":"payload","at":0,"size":3},{"in":"payload","at":3,"size":2}]})",
                        "abcde"));
  ASSERT_TRUE(says) << says.error().message;
  auto repeated = std::get<node::WorkerRepeated>(*says);
  ASSERT_EQ(repeated.blocks.size(), 2U);
  EXPECT_EQ(bytes_of(repeated), 5U);
  add_digests(repeated);
  EXPECT_EQ(repeated.blocks[0].digest, digest_of("abc"));
  EXPECT_EQ(repeated.blocks[1].bytes->view(), "de");
  EXPECT_FALSE(parse_worker_frame(
      kWorker, frame_of(R"({"type":"repeated","commit":4,"made":[],"changed":[],"error":"","serialised":[],
                   "blocks":[{"in":"payload","at":0,"size":9}]})",
                        "abc")));
}

TEST(WorkerMessages, AViewNamesTheBlocksThatTheWorkerHas) {
  const node::ApplyToWorker view{
      .worker = kWorker,
      .commit = CommitId{4},
      .execution_count = 2,
      .code = "x = 1",
      .changed = {{.names = {"x"},
                   .blocks = {{.size = 3, .bytes = Blob("abc")}, {.digest = {1, 2}, .size = 7}},
                   .parts = {1, 1}}},
      .deleted = {"y"}};
  EXPECT_EQ(apply_frame(view).body,
            json::parse(R"({"type":"apply","commit":4,"count":2,"code":"x = 1","deleted":["y"],
      "changed":[{"names":["x"],"parts":[[{"in":"payload","at":0,"size":3,
                  "digest":"00000000000000000000000000000000"}],
                  [{"known":"00000000000000010000000000000002","size":7}]]}]})"));
}

}  // namespace
}  // namespace banyan::runtime
