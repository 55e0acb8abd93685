// REST as stock clients use it.

#include <gmock/gmock.h>

#include "core/session/cells.h"
#include "core/session/questions.h"
#include "node/test_gateway.h"

namespace banyan::node {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using json = nlohmann::json;

class GatewayRest : public ::testing::Test {
 protected:
  void SetUp() override { gateway.start_with_hosts(); }
  json get(const std::string& target) { return json::parse(gateway.http("GET", target).body); }

  TestGateway gateway;
};

TEST_F(GatewayRest, EveryCallButTheVersionNeedsTheToken) {
  for (const char* target : {"/api/kernels", "/api/status", "/api/me", "/api/sessions", "/api/kernelspecs",
                             "/kernelspecs/python3/logo-64x64.png", "/api/banyan/status"}) {
    EXPECT_EQ(gateway.http("GET", target, "", {}).status, 403) << target;
    EXPECT_EQ(gateway.http("GET", target, "", {{"authorization", "token SECRET"}}).status, 403) << target;
    EXPECT_EQ(gateway.http("GET", std::string(target) + "?token=secret", "", {}).status, 200) << target;
    EXPECT_EQ(gateway.http("GET", target, "", {{"authorization", "Token secret"}}).status, 200) << target;
  }
  EXPECT_EQ(gateway.http("GET", "/api", "", {}).status, 200);
  const json body = json::parse(gateway.http("GET", "/api/kernels", "", {}).body);
  EXPECT_EQ(body["reason"], "Forbidden");
  EXPECT_THAT(body["message"].get<std::string>(), HasSubstr("token"));
}

TEST_F(GatewayRest, ABrowserShowsTheTokenByCookieAndRepeatsTheXsrfCookieInWhatIsNoGet) {
  const auto first = gateway.http("GET", "/api/kernels?token=secret", "", {{"host", "LocalHost:88"}});
  ASSERT_EQ(first.cookies.size(), 2U);
  EXPECT_THAT(first.cookies[0],
              testing::StartsWith("banyan-localhost-88=736563726574; HttpOnly; SameSite=Strict"));
  EXPECT_THAT(first.cookies[1], testing::StartsWith("_xsrf="));
  EXPECT_TRUE(gateway.http("GET", "/api/kernels").cookies.empty());

  std::map<std::string, std::string> headers = {
      {"host", "localhost:88"}, {"cookie", "a=b; banyan-localhost-88=736563726574; _xsrf=x1"}};
  const auto status = [&](const char* method) {
    return gateway.http(method, "/api/kernels/none", "", headers).status;
  };
  EXPECT_EQ(status("GET"), 404);
  EXPECT_EQ(status("DELETE"), 403);
  headers["x-xsrftoken"] = "x2";
  EXPECT_EQ(status("DELETE"), 403);
  headers["x-xsrftoken"] = "x1";
  EXPECT_EQ(status("DELETE"), 404);
  headers["cookie"] = "banyan-localhost-88=736563726575; _xsrf=x1";
  EXPECT_EQ(status("GET"), 403);
  headers["cookie"] = "banyan-localhost-89=736563726574; _xsrf=x1";
  EXPECT_EQ(status("GET"), 403) << "of another gateway on this host";
}

TEST_F(GatewayRest, NoLogLineHoldsAToken) {
  gateway.http("GET", "/api/kernels?token=hunter2", "", {{"authorization", "token hunter2"}});
  gateway.http("GET", "/api/kernels?token=secret");
  gateway.step(ClientOpening{{99}, "/api/kernels/x/channels?token=secret", {}});
  for (const Log& line : gateway.logs) {
    EXPECT_THAT(line.text, Not(HasSubstr("hunter2")));
    EXPECT_THAT(line.text, Not(HasSubstr("secret")));
  }
}

TEST_F(GatewayRest, AKernelIsCreatedListedAndDeleted) {
  const HttpReply created =
      gateway.http("POST", "/api/kernels", R"({"name":"python3","env":{"KERNEL_USERNAME":"ada"}})");
  ASSERT_EQ(created.status, 201);
  const json model = json::parse(created.body);
  EXPECT_EQ(created.headers.at("Location"), "/api/kernels/" + model["id"].get<std::string>());
  EXPECT_EQ(model["name"], "python3");
  EXPECT_EQ(model["connections"], 0);
  EXPECT_THAT(model["last_activity"].get<std::string>(),
              MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6}Z"));
  EXPECT_EQ(get("/api/kernels").size(), 1U);
  const std::string path = "/api/kernels/" + model["id"].get<std::string>();
  EXPECT_EQ(get(path)["id"], model["id"]);
  EXPECT_EQ(gateway.got<OpenReplica>({"h1"})[0].spec.env.at("KERNEL_USERNAME"), "ada");
  EXPECT_EQ(gateway.http("DELETE", path).status, 204);
  EXPECT_EQ(gateway.http("GET", path).status, 404);
  EXPECT_EQ(gateway.http("DELETE", path).status, 404);
}

TEST_F(GatewayRest, AnEmptyBodyMeansTheDefaultKernel) {
  EXPECT_EQ(gateway.http("POST", "/api/kernels").status, 201);
  EXPECT_EQ(gateway.got<OpenReplica>({"h1"})[0].spec.kernel_name, "python3");
}

TEST_F(GatewayRest, TheEnvironmentMayNameTheDirectoryAndTheId) {
  const std::string id = "01234567-89ab-4def-8123-456789abcdef";
  const std::string body =
      R"({"env":{"KERNEL_WORKING_DIR":"/work","KERNEL_ID":"01234567-89AB-4DEF-8123-456789ABCDEF"}})";
  EXPECT_EQ(json::parse(gateway.http("POST", "/api/kernels", body).body)["id"], id);
  EXPECT_EQ(gateway.got<OpenReplica>({"h1"})[0].spec.working_directory, "/work");
  EXPECT_EQ(gateway.http("POST", "/api/kernels", body).status, 409);
  EXPECT_EQ(gateway.http("POST", "/api/kernels", R"({"env":{"KERNEL_ID":"../../etc"}})").status, 400);
}

TEST_F(GatewayRest, TheEnvironmentMaySayWhetherRepliesWaitForLargeValues) {
  const auto durability_of = [this](const std::string& body) {
    EXPECT_EQ(gateway.http("POST", "/api/kernels", body).status, 201) << body;
    return gateway.got<OpenReplica>({"h1"}).back().spec.durability;
  };
  EXPECT_EQ(durability_of(R"({"env":{"KERNEL_DURABILITY":"async"}})"), session::Durability::kAsync);
  EXPECT_EQ(durability_of(R"({"env":{"KERNEL_DURABILITY":"sync"}})"), session::Durability::kSync);
  const HttpReply refused =
      gateway.http("POST", "/api/kernels", R"({"env":{"KERNEL_DURABILITY":"perhaps"}})");
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr("must be 'sync' or 'async', not 'perhaps'"));
}

TEST_F(GatewayRest, TheEnvironmentMaySayWhichPolicyASessionHas) {
  const auto env_of = [this](const std::string& policy) {
    const std::string body = R"({"env":{"KERNEL_POLICY":")" + policy + "\"}}";
    EXPECT_EQ(gateway.http("POST", "/api/kernels", body).status, 201) << policy;
    return gateway.got<OpenReplica>({"h1"}).back().spec.env;
  };
  using Env = std::map<std::string, std::string>;
  EXPECT_EQ(env_of("batch"), (Env{{"BANYAN_IMPORT_AHEAD", "0"}, {"KERNEL_POLICY", "batch"}}));
  EXPECT_EQ(env_of("pool"), (Env{{"KERNEL_POLICY", "pool"}}));
  EXPECT_EQ(env_of("replicated"), Env());
  const HttpReply refused = gateway.http("POST", "/api/kernels", R"({"env":{"KERNEL_POLICY":"mine"}})");
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr("there is no session policy 'mine'"));
}

/// What the configuration says later does not change sessions that there are.
TEST(GatewayPolicies, TheEnvironmentGoesBeforeTheKernelAndThatBeforeTheConfiguration) {
  TestGateway gateway({"h1"});
  gateway.config.replicas = 1;
  gateway.config.session_policy = "pool";
  gateway.config.kernel_specs.push_back(gateway.config.kernel_specs[0]);
  gateway.config.kernel_specs[1].name = "other";
  gateway.config.kernel_specs[1].policy = "reservation";
  gateway.start_with_hosts();
  gateway.tell_kernels({"h1"}, {{"python3", cluster::KernelState::kRuns, "3.11.2", {}},
                                {"other", cluster::KernelState::kRuns, "3.11.2", {}}});
  const auto policy_of = [&](const std::string& kernel, const json& env = json::object()) {
    gateway.create(kernel, env);
    const auto env_there = gateway.got<OpenReplica>({"h1"}).back().spec.env;
    const auto found = env_there.find("KERNEL_POLICY");
    return found == env_there.end() ? "" : found->second;
  };
  EXPECT_EQ(policy_of("python3"), "pool");
  EXPECT_EQ(policy_of("other"), "reservation");
  EXPECT_EQ(policy_of("other", {{"KERNEL_POLICY", "batch"}}), "batch");
  EXPECT_EQ(policy_of("other", {{"KERNEL_POLICY", "replicated"}}), "");
}

TEST_F(GatewayRest, BadInputIsNamed) {
  for (const char* body :
       {"{", "[]", "7", R"({"name":7})", R"({"name":"cobol"})", R"({"env":[]})", R"({"env":{"A":1}})"}) {
    const HttpReply reply = gateway.http("POST", "/api/kernels", body);
    EXPECT_EQ(reply.status, 400) << body;
    EXPECT_EQ(json::parse(reply.body)["reason"], "Bad Request");
    EXPECT_FALSE(json::parse(reply.body)["message"].get<std::string>().empty());
  }
  EXPECT_THAT(gateway.http("POST", "/api/kernels", R"({"name":"cobol"})").body, HasSubstr("'cobol'"));
  EXPECT_EQ(gateway.http("PUT", "/api/kernels").status, 405);
  EXPECT_EQ(gateway.http("GET", "/api/nothing").status, 404);
  EXPECT_EQ(gateway.http("GET", "/").status, 404);
  EXPECT_EQ(gateway.http("GET", "/api/kernels/%zz%00/%ff").status, 404);
  EXPECT_EQ(get("/api/kernels").size(), 0U);
}

TEST_F(GatewayRest, InterruptGoesToTheExecutor) {
  const SessionId id = gateway.create();
  const std::string path = "/api/kernels/" + id.value + "/interrupt";
  EXPECT_EQ(gateway.http("GET", path).status, 405);
  EXPECT_EQ(gateway.http("POST", path, "{").status, 400);
  EXPECT_EQ(gateway.http("POST", path).status, 204);
  EXPECT_EQ(gateway.who_got<Interrupt>().size(), 1U);
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  EXPECT_EQ(gateway.http("POST", path, deep).status, 204) << "whoever copies it overflows the stack";
  EXPECT_EQ(gateway.http("POST", "/api/kernels", R"({"env":{"A":)" + deep + "}}").status, 400);
}

TEST_F(GatewayRest, AKernelIsThereForNobodyBeforeItsRecordIsDurable) {
  const std::string id = "123e4567-e89b-12d3-a456-426614174000";
  gateway.store_works = false;
  gateway.http("POST", "/api/kernels", R"({"env":{"KERNEL_ID":")" + id + R"("}})");
  EXPECT_EQ(gateway.http("GET", "/api/kernels/" + id).status, 404) << "a crash could take it away";
  gateway.store_works = true;
  gateway.flush_store();
  EXPECT_EQ(gateway.http("GET", "/api/kernels/" + id).status, 200);
}

TEST_F(GatewayRest, TheEndOfAKernelClosesTheConnectionsToItAndNoOthers) {
  const SessionId one = gateway.create(), other = gateway.create();
  const ConnectionId named = gateway.connect(one, "tab"), unnamed = gateway.connect(one, "");
  const ConnectionId stays = gateway.connect(other, "");
  EXPECT_EQ(gateway.http("DELETE", "/api/kernels/" + one.value).status, 204);
  EXPECT_EQ(gateway.clients[named].close_code, 1000);
  EXPECT_EQ(gateway.clients[unnamed].close_code, 1000);
  EXPECT_EQ(gateway.clients[stays].close_code, 0);
  gateway.execute(stays, "c1");
  EXPECT_FALSE(gateway.who_got<Execute>().empty());
}

TEST_F(GatewayRest, AQuestionAboutTheHistoryGoesToTheExecutorsHost) {
  const SessionId id = gateway.create();
  const std::string path = "/api/banyan/sessions/" + id.value + "/history";
  EXPECT_EQ(gateway.http("GET", path).status, 405);
  EXPECT_EQ(gateway.http("POST", "/api/banyan/sessions/nowhere/history").status, 404);
  const auto ask = [&](const std::string& question) {
    gateway.forget();
    EXPECT_EQ(gateway.http("POST", path, question).status, 0);
    const HostId host = gateway.who_got<AskSession>().at(0);
    const AskSession asked = gateway.got<AskSession>(host).at(0);
    EXPECT_EQ(asked.question, question);
    return std::pair(host, asked.request);
  };
  const HttpReply refused = gateway.http("POST", path, R"({"do":"hand_over","to":2})");
  EXPECT_EQ(refused.status, 400) << "only the gateway itself asks that";
  EXPECT_THAT(refused.body, HasSubstr("a history cannot 'hand_over'"));
  const auto [host, first] = ask(R"({"do":"log"})");
  gateway.from_host(host, SessionAnswer{.session = id, .request = "another"});
  EXPECT_EQ(gateway.last_reply().status, 0);
  gateway.from_host(host, SessionAnswer{.session = id, .request = first, .content = R"({"commits":[]})"});
  EXPECT_EQ(gateway.last_reply().status, 200);
  EXPECT_EQ(gateway.last_reply().body, R"({"commits":[]})");
  const auto [again, second] = ask(R"({"do":"undo"})");
  gateway.from_host(again, SessionAnswer{.session = id,
                                         .request = second,
                                         .refused = ErrorKind::kConflict,
                                         .reason = "there is nothing to undo"});
  EXPECT_EQ(gateway.last_reply().status, 409);
  EXPECT_THAT(gateway.last_reply().body, HasSubstr("nothing to undo"));
  ask(R"({"do":"log"})");
  gateway.advance(16s);
  EXPECT_EQ(gateway.last_reply().status, 503);
}

TEST_F(GatewayRest, CellsAreAnsweredByTheHostTogetherWithThoseThatWait) {
  const SessionId id = gateway.create();
  const std::string path = "/api/banyan/sessions/" + id.value + "/cells";
  EXPECT_EQ(gateway.http("POST", path).status, 405);
  EXPECT_EQ(gateway.http("GET", path + "?after=first").status, 400);
  const ConnectionId tab = gateway.connect(id, "tab");
  for (const std::string cell : {"c1", "c2"}) {
    jupyter::Message request = TestGateway::request("execute_request", cell, R"({"code":"x"})");
    request.metadata = R"({"cellId":"cell-)" + cell + R"("})";
    gateway.say(tab, request);
  }
  const HostId executor = gateway.who_got<Execute>().at(0);
  gateway.from_host(executor,
                    FromKernel{id,
                               {},
                               0,
                               TestGateway::kernel_message("input_request", "c1", R"({"prompt":"name?"})",
                                                           jupyter::Channel::kStdin)});
  EXPECT_EQ(gateway.http("GET", path + "?after=7").status, 0);
  const AskSession asked = gateway.got<AskSession>(gateway.who_got<AskSession>().at(0)).at(0);
  EXPECT_EQ(asked.question, session::text_of(session::question::Cells{7}));
  gateway.from_host(
      gateway.who_got<AskSession>().at(0),
      SessionAnswer{.session = id, .request = asked.request, .content = R"({"last":8,"cells":[]})"});
  ASSERT_EQ(gateway.last_reply().status, 200);
  const json answer = json::parse(gateway.last_reply().body);
  EXPECT_EQ(answer["last"], 8);
  EXPECT_EQ(answer["cells"], json::array());
  ASSERT_EQ(answer["waiting"].size(), 2U);
  EXPECT_EQ(answer["waiting"][1], json({{"cell_id", "cell-c2"}, {"execution", "c2"}}));
  EXPECT_EQ(answer["input"]["content"]["prompt"], "name?");
  EXPECT_EQ(answer["input"]["parent_header"]["msg_id"], "c1");
}

class GatewayRestart : public GatewayRest {
 protected:
  void SetUp() override {
    GatewayRest::SetUp();
    id = gateway.create();
    tab = gateway.connect(id, "tab");
    path = "/api/kernels/" + id.value + "/restart";
  }
  std::uint64_t asked() { return gateway.got<Restart>({"h1"}).back().request; }

  SessionId id;
  ConnectionId tab;
  std::string path;
};

TEST_F(GatewayRestart, IsAnsweredWithTheModelOnceTheHostsHaveDoneIt) {
  EXPECT_EQ(gateway.http("POST", path, "{}").status, 0);
  EXPECT_EQ(gateway.who_got<Restart>().size(), 3U);
  gateway.from_host({"h1"}, Restarted{id, asked() + 1});
  EXPECT_EQ(gateway.last_reply().status, 0) << "another restart than this one";
  gateway.from_host({"h1"}, Restarted{id, asked()});
  EXPECT_EQ(gateway.last_reply().status, 0) << "reports of the workers before may be on their way";
  gateway.advance(150ms);
  EXPECT_EQ(gateway.last_reply().status, 200);
  EXPECT_EQ(json::parse(gateway.last_reply().body)["id"], id.value);
  EXPECT_THAT(gateway.heard(tab), IsEmpty()) << "'restarting' would make JupyterLab show a dialog";
}

TEST_F(GatewayRestart, EndsTheCellsOfBeforeAndHoldsBackNewOnesUntilItIsDone) {
  gateway.execute(tab, "c1", R"({"code":"1","stop_on_error":false})");
  gateway.execute(tab, "c2");
  gateway.http("POST", path);
  const std::uint64_t request = asked();
  gateway.from_host({"h1"}, ExecutionEnded{.session = id,
                                           .execution = {"c1"},
                                           .status = session::Status::kLost,
                                           .reason = "the kernel was restarted"});
  gateway.forget();
  gateway.execute(tab, "c3");
  EXPECT_EQ(gateway.model(id)["execution_state"], "restarting");
  EXPECT_THAT(gateway.who_got<Execute>(), IsEmpty());
  gateway.from_host({"h1"}, Restarted{id, request});
  gateway.advance(150ms);
  EXPECT_THAT(gateway.heard(tab)[1], "execute_reply:aborted(c2)");
  const HostId host = gateway.who_got<Execute>().at(0);
  EXPECT_EQ(gateway.got<Execute>(host)[0].execution.value, "c3");
  EXPECT_EQ(gateway.got<Execute>(host)[0].restarts, request) << "a late cell of before cannot start";
}

TEST_F(GatewayRestart, ACellThatAHostMayKnowWaitsForTheLogsVerdict) {
  gateway.execute(tab, "c1");
  gateway.http("POST", path);
  gateway.forget();
  gateway.from_host({"h1"}, Restarted{id, 1});
  gateway.advance(150ms);
  EXPECT_THAT(gateway.heard(tab), IsEmpty());
  const HostId host = gateway.who_got<Execute>().at(0);
  EXPECT_EQ(gateway.got<Execute>(host)[0].restarts, 0U) << "it is asked for as a cell of before";
  gateway.end(host, id, "c1", 0, session::Status::kAborted);
  EXPECT_EQ(gateway.heard(tab)[1], "execute_reply:aborted(c1)");
}

TEST_F(GatewayRestart, IsNumberedDurablyBeforeTheHostsAreAsked) {
  gateway.store_works = false;
  gateway.http("POST", path);
  EXPECT_THAT(gateway.who_got<Restart>(), IsEmpty());
  gateway.store_works = true;
  gateway.flush_store();
  const std::uint64_t first = asked();
  gateway.from_host({"h1"}, Restarted{id, first});
  gateway.start();
  gateway.advance(1s);
  gateway.http("POST", path);
  EXPECT_GT(asked(), first);
}

TEST_F(GatewayRestart, ReachesAHostThatWasNotThereAtFirst) {
  for (const char* host : {"h1", "h2", "h3"}) gateway.lose_host({host});
  gateway.http("POST", path);
  EXPECT_THAT(gateway.who_got<Restart>(), IsEmpty());
  gateway.find_host({"h2"});
  EXPECT_THAT(gateway.who_got<Restart>(), testing::ElementsAre(HostId{"h2"}));
}

TEST_F(GatewayRestart, WhenTheKernelIsShutDownWhoWaitsForItIsTold) {
  ASSERT_EQ(gateway.http("POST", path).status, 0);
  const RequestId asked = gateway.last_request();
  EXPECT_EQ(gateway.http("DELETE", "/api/kernels/" + id.value).status, 204);
  EXPECT_EQ(gateway.replies[asked].status, 404);
}

TEST_F(GatewayRestart, ThatDoesNotEndIsAnsweredAfterHalfAMinute) {
  gateway.http("POST", path);
  gateway.advance(29s);
  EXPECT_EQ(gateway.last_reply().status, 0);
  gateway.advance(2s);
  EXPECT_EQ(gateway.last_reply().status, 504);
}

TEST_F(GatewayRest, KernelSpecsAndTheirFiles) {
  const json specs = get("/api/kernelspecs?user=ada");
  EXPECT_EQ(specs["default"], "python3");
  const json spec = specs["kernelspecs"]["python3"];
  EXPECT_EQ(spec["name"], "python3");
  EXPECT_EQ(spec["spec"]["display_name"], "Python 3");
  EXPECT_EQ(spec["resources"]["logo-64x64"], "/kernelspecs/python3/logo-64x64.png");
  EXPECT_EQ(get("/api/kernelspecs/python3"), spec);
  EXPECT_EQ(gateway.http("GET", "/api/kernelspecs/cobol").status, 404);
  const HttpReply logo = gateway.http("GET", "/kernelspecs/python3/logo-64x64.png");
  EXPECT_EQ(logo.body, "PNG");
  EXPECT_EQ(logo.headers.at("Content-Type"), "image/png");
  EXPECT_EQ(gateway.http("GET", "/kernelspecs/python3/../secret").status, 404);
}

TEST_F(GatewayRest, TheServerTellsOfItself) {
  EXPECT_TRUE(get("/api").contains("version"));
  gateway.create();
  const json status = get("/api/status");
  EXPECT_EQ(status["kernels"], 1);
  EXPECT_TRUE(status.contains("started") && status.contains("last_activity") &&
              status.contains("connections"));
  EXPECT_TRUE(get("/api/me")["identity"].contains("username"));
}

TEST_F(GatewayRest, LookingAtAKernelIsNoActivity) {
  const SessionId id = gateway.create();
  const ConnectionId tab = gateway.connect(id, "tab");
  const json before = gateway.model(id)["last_activity"];
  gateway.advance(1s);
  gateway.say(tab, TestGateway::request("kernel_info_request", "r1"));
  gateway.say(tab, TestGateway::request("comm_info_request", "r2"));
  EXPECT_EQ(gateway.model(id)["last_activity"], before);
  gateway.execute(tab, "c1");
  EXPECT_NE(gateway.model(id)["last_activity"], before);
}

class GatewayNotebooks : public GatewayRest {
 protected:
  json post(const std::string& body) {
    const HttpReply reply = gateway.http("POST", "/api/sessions", body);
    EXPECT_EQ(reply.status, 201) << reply.body;
    return json::parse(reply.body);
  }
  static constexpr const char* kBody =
      R"({"path":"a.ipynb","name":"a","type":"notebook","kernel":{"name":"python3"}})";
};

TEST_F(GatewayNotebooks, GetAKernelWhenTheyAreCreated) {
  const json made = post(kBody);
  EXPECT_EQ(made["path"], "a.ipynb");
  EXPECT_EQ(made["notebook"]["path"], "a.ipynb");
  EXPECT_EQ(get("/api/kernels")[0]["id"], made["kernel"]["id"]);
  EXPECT_EQ(get("/api/sessions").size(), 1U);
  EXPECT_EQ(get("/api/sessions/" + made["id"].get<std::string>())["id"], made["id"]);
  EXPECT_EQ(post(kBody)["id"], made["id"]) << "one session for one path";
}

TEST_F(GatewayNotebooks, MayNameAKernelThatRuns) {
  const SessionId kernel = gateway.create();
  const json made = post(R"({"path":"b.ipynb","type":"notebook","kernel":{"id":")" + kernel.value + "\"}}");
  EXPECT_EQ(made["kernel"]["id"], kernel.value);
  EXPECT_EQ(gateway.http("POST", "/api/sessions", R"({"path":"c","kernel":{"id":"none"}})").status, 404);
}

TEST_F(GatewayNotebooks, AreRenamedAndKeptByTheStore) {
  const std::string path = "/api/sessions/" + post(kBody)["id"].get<std::string>();
  EXPECT_EQ(json::parse(gateway.http("PATCH", path, R"({"path":"b.ipynb","name":"b"})").body)["path"],
            "b.ipynb");
  gateway.start();
  EXPECT_EQ(get(path)["name"], "b");
}

TEST_F(GatewayNotebooks, GetAnotherKernelAndTheOldOneEnds) {
  const json made = post(kBody);
  const std::string path = "/api/sessions/" + made["id"].get<std::string>();
  const HttpReply changed = gateway.http("PATCH", path, R"({"kernel":{"name":"python3"}})");
  EXPECT_EQ(changed.status, 200);
  const json now = json::parse(changed.body);
  EXPECT_EQ(now["id"], made["id"]);
  EXPECT_NE(now["kernel"]["id"], made["kernel"]["id"]);
  EXPECT_EQ(get("/api/kernels").size(), 1U);
}

TEST_F(GatewayNotebooks, MayChangeToAKernelThatRuns) {
  const json made = post(kBody);
  const std::string path = "/api/sessions/" + made["id"].get<std::string>();
  const auto change_to = [&](const std::string& kernel) {
    return gateway.http("PATCH", path, json{{"kernel", {{"id", kernel}}}}.dump());
  };
  EXPECT_EQ(change_to("none").status, 404);
  EXPECT_EQ(change_to(made["kernel"]["id"]).status, 200) << "it has that one";
  EXPECT_EQ(get(path)["kernel"]["id"], made["kernel"]["id"]);
  const SessionId other = gateway.create();
  const HttpReply changed = change_to(other.value);
  EXPECT_EQ(changed.status, 200);
  EXPECT_EQ(json::parse(changed.body)["kernel"]["id"], other.value);
  EXPECT_EQ(get(path)["kernel"]["id"], other.value);
  ASSERT_EQ(get("/api/kernels").size(), 1U) << "the one that it had is shut down";
  EXPECT_EQ(get("/api/kernels")[0]["id"], other.value);
}

TEST_F(GatewayNotebooks, KeepTheirKernelWhileNoOtherOneIsNamed) {
  const json made = post(kBody);
  const std::string path = "/api/sessions/" + made["id"].get<std::string>();
  for (const char* body : {R"({"type":"console"})", R"({"kernel":{}})", R"({"kernel":{"name":""}})"}) {
    const HttpReply changed = gateway.http("PATCH", path, body);
    EXPECT_EQ(changed.status, 200) << body;
    EXPECT_EQ(json::parse(changed.body)["kernel"]["id"], made["kernel"]["id"]) << body;
  }
  EXPECT_EQ(get(path)["type"], "console");
  EXPECT_FALSE(get(path).contains("notebook")) << "it is none";
  EXPECT_EQ(get("/api/banyan/sessions")[0]["path"], "a.ipynb");
}

TEST_F(GatewayNotebooks, AreNamedAsEarlierClientsDoToo) {
  const json old = post(R"({"notebook":{"path":"old.ipynb","name":"old"},"kernel":{"name":"python3"}})");
  EXPECT_EQ(old["path"], "old.ipynb");
  EXPECT_EQ(old["name"], "old");
  const json both =
      post(R"({"path":"new.ipynb","name":"new","notebook":{"path":"other.ipynb","name":"other"}})");
  EXPECT_EQ(both["path"], "new.ipynb");
  EXPECT_EQ(both["name"], "new");
}

TEST_F(GatewayNotebooks, AreThereOnceTheirKernelIs) {
  gateway.create();
  gateway.store_works = false;
  EXPECT_EQ(gateway.http("POST", "/api/sessions", kBody).status, 0);
  EXPECT_EQ(get("/api/sessions"), json::array());
  EXPECT_EQ(get("/api/banyan/sessions").size(), 1U);
  EXPECT_EQ(get("/api/status")["kernels"], 1);
  EXPECT_EQ(get("/api/banyan/status")["sessions"], 1);
  gateway.store_works = true;
  gateway.flush_store();
  EXPECT_EQ(get("/api/sessions").size(), 1U) << "a kernel without a notebook is none";
  EXPECT_EQ(get("/api/status")["kernels"], 2);
}

TEST_F(GatewayNotebooks, EndWithTheirKernel) {
  const std::string path = "/api/sessions/" + post(kBody)["id"].get<std::string>();
  EXPECT_EQ(gateway.http("DELETE", path).status, 204);
  EXPECT_EQ(get("/api/kernels").size(), 0U);
  const json again = post(kBody);
  gateway.http("DELETE", "/api/kernels/" + again["kernel"]["id"].get<std::string>());
  EXPECT_EQ(get("/api/sessions").size(), 0U);
}

TEST_F(GatewayNotebooks, BadInputIsRefused) {
  for (const char* body : {"", "{}", "[]", R"({"path":""})", R"({"path":7})", R"({"path":"a","kernel":7})",
                           R"({"path":"a","kernel":{"name":"cobol"}})"})
    EXPECT_EQ(gateway.http("POST", "/api/sessions", body).status, 400) << body;
  EXPECT_EQ(gateway.http("GET", "/api/sessions/none").status, 404);
  EXPECT_EQ(gateway.http("PUT", "/api/sessions").status, 405);
}

TEST_F(GatewayRest, TheOperatorSeesHostsAndSessions) {
  const SessionId id = gateway.create();
  gateway.lose_host({"h3"});
  const json hosts = get("/api/banyan/hosts");
  ASSERT_EQ(hosts.size(), 4U);
  EXPECT_EQ(hosts[0]["host"], "h1");
  EXPECT_EQ(hosts[0]["up"], true);
  EXPECT_EQ(hosts[0]["cpus"], 8);
  EXPECT_EQ(hosts[0]["replicas"], 1);
  EXPECT_EQ(hosts[2]["up"], false);
  const json session = get("/api/banyan/sessions")[0];
  EXPECT_EQ(session["id"], id.value);
  EXPECT_EQ(session["state"], "idle");
  ASSERT_EQ(session["replicas"].size(), 3U);
  EXPECT_EQ(session["replicas"][0]["host"], "h1");
  EXPECT_EQ(session["replicas"][0]["worker"], "ready");
  EXPECT_EQ(session["replicas"][2]["up"], false);
  EXPECT_EQ(get("/api/banyan/status")["hosts_up"], 3);
  EXPECT_EQ(gateway.http("GET", "/api/banyan/x").status, 404);
}

}  // namespace
}  // namespace banyan::node
