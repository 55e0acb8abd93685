// Questions of REST about a session: who answers them, and what is said when nobody can.

#include <gmock/gmock.h>

#include "node/test_gateway.h"

namespace banyan::node {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class GatewayQuestions : public ::testing::Test {
 protected:
  void SetUp() override {
    gateway.start_with_hosts();
    session = gateway.create();
    gateway.forget();
  }
  [[nodiscard]] std::string path(const std::string& what) const {
    return "/api/banyan/sessions/" + session.value + "/" + what;
  }

  TestGateway gateway;
  SessionId session;
};

TEST_F(GatewayQuestions, WithoutAMajorityTheAnswerComesAtOnceAndSaysWhy) {
  gateway.lose_host({"h1"});
  gateway.lose_host({"h2"});
  const HttpReply reply = gateway.http("POST", path("history"), R"({"do":"log"})");
  EXPECT_EQ(reply.status, 503);
  EXPECT_THAT(reply.body, HasSubstr("not up: h1, h2"));
  EXPECT_THAT(gateway.who_got<AskSession>(), IsEmpty());
}

TEST_F(GatewayQuestions, AnImportIsMadeOnceHoweverOftenItIsAskedFor) {
  const std::string import = path("import?upload=123e4567-e89b-12d3-a456-426614174000");
  EXPECT_EQ(gateway.http("POST", import, "state").status, 0);
  const HttpReply again = gateway.http("POST", import, "state");
  EXPECT_EQ(again.status, 409);
  EXPECT_THAT(again.body, HasSubstr("under way"));
  ASSERT_THAT(gateway.who_got<ImportSession>(), SizeIs(1));
  EXPECT_THAT(gateway.got<ImportSession>(gateway.who_got<ImportSession>()[0]), SizeIs(1));
}

TEST_F(GatewayQuestions, AnExportIsBytes) {
  EXPECT_EQ(gateway.http("GET", path("export")).status, 0);
  const HostId host = gateway.who_got<AskSession>().at(0);
  const std::string id = gateway.got<AskSession>(host).at(0).request;
  gateway.from_host(host, SessionAnswer{.session = session, .request = id, .content = "the state"});
  EXPECT_EQ(gateway.last_reply().status, 200);
  EXPECT_EQ(gateway.last_reply().headers.at("Content-Type"), "application/octet-stream");
  EXPECT_EQ(gateway.last_reply().body, "the state");
}

TEST_F(GatewayQuestions, WhenTheKernelIsShutDownEveryQuestionIsAnswered) {
  EXPECT_EQ(gateway.http("POST", path("history"), R"({"do":"log"})").status, 0);
  const RequestId asked = gateway.last_request();
  EXPECT_EQ(gateway.http("DELETE", "/api/kernels/" + session.value).status, 204);
  EXPECT_EQ(gateway.replies[asked].status, 404);
}

TEST_F(GatewayQuestions, WhenTheHostThatWasAskedGoesThatIsSaidAtOnce) {
  EXPECT_EQ(gateway.http("POST", path("history"), R"({"do":"log"})").status, 0);
  const RequestId asked = gateway.last_request();
  const HostId host = gateway.who_got<AskSession>().at(0);
  const std::string id = gateway.got<AskSession>(host).at(0).request;
  gateway.lose_host(host);
  gateway.advance(100ms);
  EXPECT_EQ(gateway.replies[asked].status, 503);
  EXPECT_THAT(gateway.replies[asked].body, HasSubstr("Host " + host.value + " did not answer"));
  gateway.find_host(host);
  gateway.from_host(host, SessionAnswer{.session = session, .request = id, .content = "{}"});
  EXPECT_EQ(gateway.replies[asked].status, 503) << "it was answered already";
}

TEST_F(GatewayQuestions, AHostHasFifteenSecondsForItsAnswer) {
  EXPECT_EQ(gateway.http("POST", path("history"), R"({"do":"log"})").status, 0);
  gateway.advance(14950ms);
  EXPECT_EQ(gateway.last_reply().status, 0);
  gateway.advance(50ms);
  EXPECT_EQ(gateway.last_reply().status, 503);
  EXPECT_THAT(gateway.last_reply().body, HasSubstr("did not answer"));
}

TEST_F(GatewayQuestions, WhyAQuestionIsRefusedShowsInTheStatus) {
  const std::vector<std::pair<ErrorKind, int>> statuses{{ErrorKind::kInvalid, 400},
                                                        {ErrorKind::kNotFound, 404},
                                                        {ErrorKind::kConflict, 409},
                                                        {ErrorKind::kDenied, 409},
                                                        {ErrorKind::kUnavailable, 503}};
  for (const auto& [why, status] : statuses) {
    gateway.forget();
    EXPECT_EQ(gateway.http("POST", path("history"), R"({"do":"log"})").status, 0);
    const HostId host = gateway.who_got<AskSession>().at(0);
    gateway.from_host(host, SessionAnswer{.session = session,
                                          .request = gateway.got<AskSession>(host).at(0).request,
                                          .refused = why,
                                          .reason = "the reason"});
    EXPECT_EQ(gateway.last_reply().status, status);
    EXPECT_THAT(gateway.last_reply().body, HasSubstr("the reason"));
  }
}

TEST_F(GatewayQuestions, AHistoryIsNoBytes) {
  EXPECT_EQ(gateway.http("POST", path("history"), R"({"do":"log"})").status, 0);
  const HostId host = gateway.who_got<AskSession>().at(0);
  gateway.from_host(
      host, SessionAnswer{
                .session = session, .request = gateway.got<AskSession>(host).at(0).request, .content = "{}"});
  EXPECT_EQ(gateway.last_reply().status, 200);
  EXPECT_FALSE(gateway.last_reply().headers.contains("Content-Type")) << "it is JSON, as all is";
}

TEST_F(GatewayQuestions, WhereNoReplicaIsKnownToLeadThatIsSaidAfterAWhile) {
  for (const char* name : {"h1", "h2", "h3"}) {
    gateway.hosts[{name}].replicas[session].leader = {};
    gateway.report({name}, session);
  }
  EXPECT_EQ(gateway.http("POST", path("history"), R"({"do":"log"})").status, 0);
  gateway.advance(14950ms);
  EXPECT_EQ(gateway.last_reply().status, 0);
  EXPECT_THAT(gateway.who_got<AskSession>(), IsEmpty());
  gateway.advance(50ms);
  EXPECT_EQ(gateway.last_reply().status, 503);
  EXPECT_THAT(gateway.last_reply().body, HasSubstr("No replica of the session can answer now"));
}

TEST_F(GatewayQuestions, AQuestionThatWaitsForAReplicaIsGivenUpAtOnceWithoutAMajority) {
  for (const char* name : {"h1", "h2", "h3"}) {
    gateway.hosts[{name}].replicas[session].leader = {};
    gateway.report({name}, session);
  }
  EXPECT_EQ(gateway.http("POST", path("history"), R"({"do":"log"})").status, 0);
  gateway.lose_host({"h1"});
  gateway.advance(100ms);
  EXPECT_EQ(gateway.last_reply().status, 0);
  gateway.lose_host({"h2"});
  gateway.advance(100ms);
  EXPECT_EQ(gateway.last_reply().status, 503);
}

TEST_F(GatewayQuestions, AnImportUsesTheSession) {
  const auto used = [&] { return gateway.model(session)["last_activity"]; };
  const auto before = used();
  gateway.advance(1s);
  gateway.http("POST", path("history"), R"({"do":"log"})");
  EXPECT_EQ(used(), before) << "to look is no use";
  gateway.http("POST", path("import?upload=123e4567-e89b-12d3-a456-426614174000"), "state");
  EXPECT_NE(used(), before);
}

}  // namespace
}  // namespace banyan::node
