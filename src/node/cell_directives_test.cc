#include "node/cell_directives.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace banyan::node {
namespace {

CellDirectives said_by(const std::string& code, const std::string& metadata = "{}") {
  jupyter::Message request;
  request.metadata = metadata;
  request.content = Blob(nlohmann::json{{"code", code}}.dump());
  return directives_of(request);
}

CellDirectives gpus(std::optional<std::uint64_t> count) { return {.durable = false, .gpus = count}; }

TEST(CellDirectives, LinesAboveTheCode) {
  EXPECT_EQ(said_by("%%gpus 2\ntrain()"), gpus(2));
  EXPECT_EQ(said_by("%%cpu\nx = 1"), gpus(0));
  EXPECT_EQ(said_by("%%gpus 1"), gpus(1)) << "without code";
  EXPECT_EQ(said_by("\n  \n %%gpus   8 \r\nx"), gpus(8));
  EXPECT_EQ(said_by("%%durable\n\n%%gpus 2\nx"), (CellDirectives{.durable = true, .gpus = 2}));
  EXPECT_EQ(said_by("%%gpus 2\n%%durable\nx"), (CellDirectives{.durable = true, .gpus = 2}));
  EXPECT_EQ(said_by("%%gpus 2\n%%gpus 3\nx"), gpus(3)) << "the last word counts";
}

TEST(CellDirectives, WhatIsNoneSaysNothing) {
  for (const char* code : {"", "x = 1", "x = 1\n%%gpus 2", "%%gpus", "%%gpus two\nx", "%%gpus -1\nx",
                           "%%gpus2\nx", "%%gpus 2 3\nx", "%%cpus\nx", "%%time\n%%gpus 2\nx", "# %%gpus 2",
                           "%%durable now\nx", "%%gpus 10000\nx", "%%gpus 99999999999999999999\nx"})
    EXPECT_EQ(said_by(code), CellDirectives{}) << code;
}

TEST(CellDirectives, MetadataAndTags) {
  EXPECT_EQ(said_by("x", R"({"banyan": {"gpus": 4}})"), gpus(4));
  EXPECT_EQ(said_by("x", R"({"tags": ["a", "gpus=3", 7]})"), gpus(3));
  EXPECT_EQ(said_by("x", R"({"tags": ["cpu"]})"), gpus(0));
  EXPECT_EQ(said_by("x", R"({"tags": ["durable"]})"), (CellDirectives{.durable = true, .gpus = {}}));
  for (const char* metadata :
       {"", "[1]", R"({"banyan": 3})", R"({"banyan": {"gpus": -1}})", R"({"banyan": {"gpus": "2"}})",
        R"({"tags": "cpu"})", R"({"tags": ["gpus=", "gpus=x"]})"})
    EXPECT_EQ(said_by("x", metadata), CellDirectives{}) << metadata;
}

TEST(CellDirectives, TheNearestToTheCodeCounts) {
  EXPECT_EQ(said_by("%%cpu\nx", R"({"banyan": {"gpus": 4}, "tags": ["gpus=3"]})"), gpus(0));
  EXPECT_EQ(said_by("x", R"({"banyan": {"gpus": 4}, "tags": ["gpus=3"]})"), gpus(4));
}

}  // namespace
}  // namespace banyan::node
