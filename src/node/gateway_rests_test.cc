// Sessions that the gateway suspends by itself.

#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "node/test_operations.h"

namespace banyan::node {
namespace {

using ::testing::HasSubstr;

class GatewayRests : public GatewayOperations {};

TEST_F(GatewayRests, WithoutAPolicyNoSessionIsSuspended) {
  gateway.config.suspend_after = 0s;
  begin();
  gateway.forget();
  gateway.advance(600s);
  EXPECT_EQ(asked().question, "");
}

TEST_F(GatewayRests, ASessionOfThePolicyBatchIsSuspendedAtOnce) {
  gateway.config.session_policy = "batch";
  begin();
  gateway.forget();
  gateway.advance(1s);
  EXPECT_THAT(asked().question, HasSubstr("suspend"));
}

/// A thread of the session works on, so that it is not suspended. It is looked at once, and not again and
/// again.
TEST_F(GatewayRests, ASessionThatWouldRestAtOnceAndMayNotIsLeftAloneUntilItIsUsed) {
  gateway.config.session_policy = "batch";
  begin();
  set([](ReplicaReport& report) { report.works = true; });
  std::size_t looks = 0;
  for (int seconds = 0; seconds < 60; ++seconds) {
    gateway.forget();
    gateway.advance(1s);
    for (const Execute& cell : gateway.got<Execute>({"h1"})) {
      ++looks;
      EXPECT_EQ(cell.gpus, 0U);
      gateway.end({"h1"}, session, cell.execution.value);
      set([](ReplicaReport&) {});
    }
    if (asked().question.find("suspend") != std::string::npos)
      gateway.from_host({"h1"}, SessionAnswer{.session = session,
                                              .request = asked().request,
                                              .refused = ErrorKind::kDenied,
                                              .reason = "thread w works"});
  }
  EXPECT_LE(looks, 2U);
}

TEST_F(GatewayRests, ASessionWithACellIsNotSuspended) {
  gateway.config.suspend_after = 60s;
  begin();
  gateway.execute(tab, "c2");
  gateway.forget();
  gateway.advance(90s);
  EXPECT_EQ(asked().question, "");
}

TEST_F(GatewayRests, ASessionOfWhichSomethingIsAskedIsNotSuspended) {
  gateway.config.suspend_after = 60s;
  begin();
  gateway.say(tab, TestGateway::request("debug_request", "r1", "{}", jupyter::Channel::kControl));
  gateway.forget();
  gateway.advance(90s);
  EXPECT_EQ(asked().question, "");
}

TEST_F(GatewayRests, WhatFailsIsSaidToWhoAskedElseToTheLog) {
  gateway.config.suspend_after = 60s;
  begin();
  const auto warnings = [&] {
    return std::ranges::count_if(gateway.logs, [](const Log& log) {
      return log.text.find("is not suspended, resumed or moved") != std::string::npos;
    });
  };
  const auto deny = [&] {
    gateway.from_host({"h1"}, SessionAnswer{.session = session,
                                            .request = asked().request,
                                            .refused = ErrorKind::kDenied,
                                            .reason = "would lose 'f'"});
  };
  post("suspend");
  deny();
  EXPECT_EQ(gateway.last_reply().status, 409);
  EXPECT_THAT(nlohmann::json::parse(gateway.last_reply().body)["message"], HasSubstr("'f'"));
  EXPECT_EQ(warnings(), 0);
  gateway.advance(65s);
  deny();
  EXPECT_EQ(warnings(), 1);
  gateway.execute(tab, "c2");
  gateway.end({"h1"}, session, "c2");
  gateway.advance(65s);
  answer(R"({"lost":[]})");
  set([](ReplicaReport& report) {
    report.suspended = true;
    report.worker = WorkerState::kNone;
  });
  EXPECT_EQ(state(), "suspended");
  EXPECT_EQ(warnings(), 1);
}

TEST_F(GatewayRests, ASessionIsSuspendedAgainWhenItWasUsedAndIdleAgain) {
  gateway.config.suspend_after = 60s;
  begin();
  for (int times = 0; times < 2; ++times) {
    gateway.forget();
    gateway.advance(65s);
    EXPECT_THAT(asked().question, HasSubstr("suspend"));
    answer(R"({"lost":[]})");
    set([](ReplicaReport& report) {
      report.suspended = true;
      report.worker = WorkerState::kNone;
    });
    EXPECT_EQ(state(), "suspended");
    set([](ReplicaReport& report) {
      report.suspended = false;
      report.worker = WorkerState::kReady;
    });
    gateway.execute(tab, "again" + std::to_string(times));
    gateway.end({"h1"}, session, "again" + std::to_string(times));
  }
}

}  // namespace
}  // namespace banyan::node
