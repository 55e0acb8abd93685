#include "node/gateway_operator.h"

#include <gmock/gmock.h>

#include "node/test_gateway.h"

namespace banyan::node {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string kUpload = "123e4567-e89b-12d3-a456-426614174000";
const std::string kChunk = "the bytes";

class GatewayOperator : public ::testing::Test {
 protected:
  void SetUp() override {
    gateway.start_with_hosts();
    session = gateway.create();
    gateway.forget();
  }
  int get(const std::string& what) { return gateway.http("GET", path + session.value + "/" + what).status; }
  int put(const std::string& what, const std::string& body) {
    return gateway.http("PUT", path + session.value + "/" + what, body).status;
  }
  std::string chunk() const { return "chunks/" + to_hex(digest_of(kChunk)); }
  /// The question that a host was asked since the last call.
  std::string asked() {
    for (const HostId& host : gateway.who_got<AskSession>()) {
      const std::string question = gateway.got<AskSession>(host).back().question;
      gateway.forget();
      return question;
    }
    return "";
  }

  TestGateway gateway;
  SessionId session;
  const std::string path = "/api/banyan/sessions/";
};

TEST_F(GatewayOperator, AnExportSaysWhichValuesGoAlongAndHowFastTheFileIs) {
  EXPECT_EQ(get("export"), 0);
  EXPECT_THAT(asked(), HasSubstr(R"("do":"export")"));
  for (const char* values : {"head", "least", "all"}) {
    EXPECT_EQ(get(std::string("export?values=") + values), 0);
    EXPECT_THAT(asked(), HasSubstr(values));
  }
  EXPECT_EQ(get("export?bytes_per_s=1"), 0);
  EXPECT_THAT(asked(), HasSubstr(R"("bytes_per_s":1.0)"));
}

TEST_F(GatewayOperator, AnExportOfNonsenseIsRefused) {
  for (const char* query : {"values=none", "bytes_per_s=0.9", "bytes_per_s=-5", "bytes_per_s=x",
                            "bytes_per_s=5x", "bytes_per_s=inf", "bytes_per_s=nan"})
    EXPECT_EQ(get(std::string("export?") + query), 400) << query;
  EXPECT_THAT(gateway.who_got<AskSession>(), IsEmpty());
}

TEST_F(GatewayOperator, CellsAreAskedAfterACommit) {
  EXPECT_EQ(get("cells"), 0);
  EXPECT_THAT(asked(), HasSubstr(R"("after":0)"));
  EXPECT_EQ(get("cells?after=12"), 0);
  EXPECT_THAT(asked(), HasSubstr(R"("after":12)"));
  for (const char* wrong : {"x", "1x", "-1", "99999999999999999999999"})
    EXPECT_EQ(get(std::string("cells?after=") + wrong), 400) << wrong;
}

TEST_F(GatewayOperator, WhatIsAskedOfASessionThatIsNoneIsRefused) {
  for (const char* what : {"cells", "export", "chunks/00"})
    EXPECT_EQ(gateway.http("GET", path + "none/" + what).status, 404) << what;
  for (const char* what : {"history", "suspend", "resume", "import"})
    EXPECT_EQ(gateway.http("POST", path + "none/" + what, "{}").status, 404) << what;
}

TEST_F(GatewayOperator, AChunkIsReadFromAHostOfTheSessionThatIsUp) {
  EXPECT_EQ(get("chunks/00"), 400) << "that is no name of one";
  gateway.lose_host({"h3"});
  EXPECT_EQ(get(chunk()), 0);
  const auto hosts = gateway.who_got<ChunkWanted>();
  ASSERT_EQ(hosts.size(), 1U);
  gateway.from_host(
      hosts[0],
      ChunkPart{
          .session = session, .digest = digest_of(kChunk), .size = kChunk.size(), .bytes = Blob(kChunk)});
  EXPECT_EQ(gateway.last_reply().status, 200);
  EXPECT_EQ(gateway.last_reply().body, kChunk);
}

TEST_F(GatewayOperator, AChunkIsBroughtToTheHostsOfTheSession) {
  EXPECT_EQ(put(chunk() + "?upload=" + kUpload, kChunk), 0);
  for (const char* host : {"h1", "h2", "h3"}) {
    ASSERT_THAT(gateway.got<ChunkPart>({host}), SizeIs(1)) << host;
    gateway.from_host({host}, ChunkStored{session, digest_of(kChunk)});
  }
  EXPECT_EQ(gateway.last_reply().status, 204);
}

TEST_F(GatewayOperator, WhatIsNotTheChunkOfAnImportIsRefused) {
  EXPECT_EQ(put("chunks/00?upload=" + kUpload, kChunk), 400);
  EXPECT_EQ(put(chunk(), kChunk), 400) << "for which import?";
  EXPECT_EQ(put(chunk() + "?upload=1", kChunk), 400);
  EXPECT_EQ(put(chunk() + "?upload=" + kUpload, "other bytes"), 400);
  EXPECT_EQ(put("chunks/" + to_hex(digest_of("")) + "?upload=" + kUpload, ""), 400);
  gateway.hosts[{"h1"}].replicas[session].last = {1};
  gateway.report({"h1"}, session);
  EXPECT_EQ(put(chunk() + "?upload=" + kUpload, kChunk), 409) << "something has run in it";
  EXPECT_THAT(gateway.who_got<ChunkPart>(), IsEmpty());
}

TEST_F(GatewayOperator, AnImportSaysForWhichUploadItIs) {
  EXPECT_EQ(gateway.http("POST", path + session.value + "/import", "state").status, 400);
  EXPECT_EQ(gateway.http("POST", path + session.value + "/import?upload=" + kUpload, "state").status, 0);
  EXPECT_THAT(gateway.who_got<ImportSession>(), SizeIs(1));
}

TEST_F(GatewayOperator, ForceIsTrueOrFalse) {
  EXPECT_EQ(gateway.http("POST", "/api/banyan/hosts/h4/drain?force=1").status, 400);
  EXPECT_EQ(gateway.http("DELETE", "/api/banyan/hosts/h4?force=yes").status, 400);
  EXPECT_EQ(gateway.http("POST", "/api/banyan/hosts/h4/drain?force=false").status, 204);
  EXPECT_EQ(gateway.http("DELETE", "/api/banyan/hosts/h4?force=false").status, 204);
}

TEST_F(GatewayOperator, AHostThatHoldsSessionsIsRemovedByForceOnly) {
  HttpReply refused = gateway.http("DELETE", "/api/banyan/hosts/h1");
  EXPECT_EQ(refused.status, 409);
  EXPECT_THAT(refused.body, HasSubstr("1 session has"));
  gateway.create();
  refused = gateway.http("DELETE", "/api/banyan/hosts/h2?force=false");
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(gateway.http("DELETE", "/api/banyan/hosts/h1?force=true").status, 204);
  EXPECT_EQ(gateway.http("DELETE", "/api/banyan/hosts/h1").status, 204) << "it is removed already";
}

TEST_F(GatewayOperator, AHostThatNeverWasIsNotFound) {
  EXPECT_EQ(gateway.http("POST", "/api/banyan/hosts", R"({"host":"h9"})").status, 404);
  EXPECT_EQ(gateway.http("POST", "/api/banyan/hosts/h9/drain").status, 404);
  EXPECT_EQ(gateway.http("DELETE", "/api/banyan/hosts/h9").status, 404);
  EXPECT_EQ(gateway.http("DELETE", "/api/banyan/strays/none").status, 404);
}

TEST_F(GatewayOperator, TheDescriptionOfTheApiIsOpen) {
  const HttpReply reply = gateway.http("GET", "/api/banyan/openapi.json");
  EXPECT_EQ(reply.status, 200);
  EXPECT_TRUE(nlohmann::json::parse(reply.body)["paths"].contains("/api/banyan/sessions"));
}

}  // namespace
}  // namespace banyan::node
