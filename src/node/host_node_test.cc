// Three hosts, a scripted gateway and scripted workers, with a network and disks that work. Faults are the
// simulator's.
#include "node/host_node.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "base/overloaded.h"
#include "node/link.h"

namespace banyan::node {
namespace {

const SessionId kSession{"0b5c4b46-7a4c-4f0e-9d57-1f6a9b3d2a11"};

/// A worker that runs the cell "name=value" by setting a variable.
struct ModelWorker {
  SessionId session;
  std::optional<jupyter::Message> request;
  std::map<std::string, std::string> variables;
};

class Cluster {
 public:
  Cluster() {
    for (const char* name : {"h1", "h2", "h3", "h4"}) start({name});
  }

  void start(const HostId& id) {
    Host& host = hosts_[id];
    host.up = true;
    ++lives_;
    host.node = std::make_unique<HostNode>(HostConfig{id, {}, {}}, Incarnation{lives_}, lives_);
    deliver(id, Recovered{});
  }
  void kill(const HostId& id) {
    hosts_[id].up = false;
    hosts_[id].node.reset();
    hosts_[id].workers.clear();
    for (auto& [other, host] : hosts_) {
      if (host.up) deliver(other, PeerDown{id});
    }
  }

  void send(const HostId& to, PeerMessage message) { link(to).send(std::move(message)); }
  void open(const session::Members& members = {{{1}, {"h1"}}, {{2}, {"h2"}}, {{3}, {"h3"}}}) {
    for (const auto& [id, host] : members)
      send(host, OpenReplica{kSession, id, {"python3", "", {}}, members});
  }
  void execute(const std::string& cell, const std::string& code, ReplicaId lead, const HostId& host,
               std::uint64_t outputs_seen = 0) {
    jupyter::Message request;
    request.header = R"({"msg_id":")" + cell + R"(","msg_type":"execute_request","session":"client"})";
    request.content = Blob(R"({"code":")" + code + R"("})");
    send(host, Execute{kSession, {cell}, request, lead, outputs_seen});
  }
  /// The gateway dies, and starts with nothing.
  void restart_gateway() {
    links_.clear();
    frames_.clear();
    ended_.clear();
    outputs_.clear();
    ++gateway_life_;
    for (const auto& [id, host] : hosts_) link(id);
  }
  void lose_worker(const HostId& host) {
    const WorkerId worker = hosts_[host].workers.begin()->first;
    hosts_[host].workers.clear();
    deliver(host, WorkerExited{worker, "killed by signal 9"});
  }
  /// A worker that waits for input() goes on.
  void answer_input(const HostId& host) {
    ModelWorker& worker = hosts_[host].workers.begin()->second;
    finish(host, hosts_[host].workers.begin()->first, worker);
  }
  void finish_writes() {
    const HostId host = std::exchange(slow_disk_, std::nullopt).value();
    for (const std::uint64_t token : std::exchange(written_, {})) deliver(host, Persisted{token});
  }
  bool run_until(const std::function<bool()>& done, Duration limit = 10s) {
    for (const Time end = now_ + limit; now_ < end; now_ += 5ms) {
      if (done()) return true;
      if (now_.time_since_epoch() % 50ms == 0ms) {
        for (auto& [id, host] : hosts_) {
          if (host.up) deliver(id, Tick{});
        }
      }
      for (auto& [id, peer] : links_) {
        while (auto frame = peer.poll(now_)) frames_.push_back({kGateway, id, std::move(*frame)});
      }
      drain();
    }
    return done();
  }
  bool ended(const std::string& cell) const { return ended_.contains({cell}); }

  struct Host {
    bool up = false;
    std::unique_ptr<HostNode> node;
    std::map<WorkerId, ModelWorker> workers;
    std::map<Digest, Blob> chunks;
  };
  std::map<HostId, Host> hosts_;
  std::map<ExecutionId, ExecutionEnded> ended_;
  std::map<ExecutionId, int> starts_;
  std::vector<FromKernel> outputs_;
  std::map<HostId, std::map<SessionId, ReplicaReport>> reports_;
  bool run_cells_ = true;
  bool blank_cells_ = false;
  bool cells_ask_ = false;           ///< with input()
  bool reports_have_reply_ = false;  ///< as those of real workers
  std::set<HostId> cut_;             ///< the network carries nothing to and from them
  std::optional<HostId> slow_disk_;  ///< its writes wait for finish_writes()

 private:
  struct Frame {
    HostId from, to;
    PeerFrame frame;
  };

  Link& link(const HostId& host) {
    return links_.try_emplace(host, Incarnation{gateway_life_}, Timing{}, Sizes{}).first->second;
  }

  void deliver(const HostId& id, HostEvent event) {
    pending_.emplace_back(id, std::move(event));
    if (busy_) return;
    busy_ = true;
    while (!pending_.empty()) {
      auto [to, next] = std::move(pending_.front());
      pending_.pop_front();
      if (!hosts_[to].up) continue;
      for (HostEffect& effect : hosts_[to].node->step({now_, {}}, std::move(next))) perform(to, effect);
    }
    busy_ = false;
  }

  void drain() {
    while (!frames_.empty()) {
      Frame next = std::move(frames_.front());
      frames_.pop_front();
      if (cut_.contains(next.from) || cut_.contains(next.to)) continue;
      if (next.to == kGateway) {
        for (PeerMessage& message : link(next.from).receive(std::get<LinkFrame>(next.frame), now_).messages)
          take(next.from, message);
      } else {
        deliver(next.to, FrameArrived{next.from, std::move(next.frame)});
      }
    }
  }

  void take(const HostId& from, PeerMessage& message) {
    if (auto* end = std::get_if<ExecutionEnded>(&message)) ended_[end->execution] = *end;
    if (auto* output = std::get_if<FromKernel>(&message)) outputs_.push_back(*output);
    if (auto* report = std::get_if<HostReport>(&message)) {
      for (const auto& one : report->replicas) reports_[from][one.session] = one;
    }
  }

  void perform(const HostId& id, HostEffect& effect) {
    auto& workers = hosts_[id].workers;
    std::visit(Overloaded{
                   [&](SendFrame& e) { frames_.push_back({id, e.to, std::move(e.frame)}); },
                   [&](Persist& e) {
                     for (const DiskWrite& write : e.writes) {
                       if (const auto* put = std::get_if<PutChunk>(&write))
                         hosts_[id].chunks[put->digest] = put->bytes;
                       if (const auto* drop = std::get_if<DropChunk>(&write))
                         hosts_[id].chunks.erase(drop->digest);
                     }
                     if (slow_disk_ == id) return void(written_.push_back(e.token));
                     deliver(id, Persisted{e.token});
                   },
                   [&](ReadChunk& e) {
                     const auto& chunks = hosts_[id].chunks;
                     const auto found = chunks.find(e.digest);
                     deliver(id, ChunkRead{e.digest, found == chunks.end() ? std::nullopt
                                                                           : std::optional(found->second)});
                   },
                   [&](LaunchWorker& e) {
                     workers[e.worker] = {e.session, {}, {}};
                     deliver(id, WorkerReady{e.worker, 1});
                   },
                   [&](StopWorker& e) {
                     if (e.how == Stop::kKill) workers.erase(e.worker);
                   },
                   [&](ToWorker& e) {
                     workers[e.worker].request = e.message;
                     if (blank_cells_) return end_blank(id, e.worker);
                     if (run_cells_)
                       deliver(id, WorkerFenced{e.worker, {jupyter::parse_header(e.message.header)->msg_id}});
                   },
                   [&](AnswerFence& e) { run(id, e); },
                   [&](ApplyToWorker& e) {
                     for (const auto& value : e.changed)
                       workers[e.worker].variables[value.names.front()] = value.pickle.bytes->view();
                     for (const auto& name : e.deleted) workers[e.worker].variables.erase(name);
                     deliver(id, WorkerApplied{e.worker, e.commit, {}});
                   },
                   [](SetLease&) {},
                   [](Log&) {},
               },
               effect);
  }

  void run(const HostId& id, const AnswerFence& fence) {
    if (fence.refusal) return;
    ++starts_[fence.execution];
    ModelWorker& worker = hosts_[id].workers[fence.worker];
    say(id, fence.worker, jupyter::Channel::kIopub, "stream", R"({"name":"stdout","text":"hello"})");
    if (!cells_ask_) return finish(id, fence.worker, worker);
    say(id, fence.worker, jupyter::Channel::kStdin, "input_request", R"({"prompt":"?","password":false})");
  }

  void end_blank(const HostId& id, WorkerId worker) {
    say(id, worker, jupyter::Channel::kShell, "execute_reply", R"({"status":"ok","execution_count":1})");
    say(id, worker, jupyter::Channel::kIopub, "status", R"({"execution_state":"idle"})");
  }

  void say(const HostId& id, WorkerId worker, jupyter::Channel channel, const char* type,
           std::string content) {
    const std::string& parent = hosts_[id].workers[worker].request->header;
    deliver(id, FromWorker{worker, jupyter::make_message(channel, type, parent, std::move(content),
                                                         {"kernel", "k", {}})});
  }

  void finish(const HostId& id, WorkerId serial, ModelWorker& worker) {
    const std::string code(worker.request->content.view());
    const std::size_t equals = code.find('=');
    const std::string name = code.substr(9, equals - 9);
    const std::string value = code.substr(equals + 1, code.size() - equals - 3);
    worker.variables[name] = value;
    session::Delta delta;
    delta.changed.push_back({{name}, {digest_of(value), value.size(), Blob(value)}, {}});
    WorkerReport report{serial, {jupyter::parse_header(worker.request->header)->msg_id}, 1, delta, {}};
    if (reports_have_reply_) {
      say(id, serial, jupyter::Channel::kIopub, "status", R"({"execution_state":"idle"})");
      report.reply = {R"({"status":"ok","execution_count":1,"packed":true})", R"({"engine":"e"})"};
    }
    deliver(id, std::move(report));
    say(id, serial, jupyter::Channel::kShell, "execute_reply", R"({"status":"ok","execution_count":1})");
    say(id, serial, jupyter::Channel::kIopub, "status", R"({"execution_state":"idle"})");
  }

  Time now_{};
  std::uint64_t lives_ = 0;
  std::uint64_t gateway_life_ = 999;
  std::map<HostId, Link> links_;
  std::deque<Frame> frames_;
  std::deque<std::pair<HostId, HostEvent>> pending_;
  std::vector<std::uint64_t> written_;
  bool busy_ = false;
};

TEST(HostNode, ACellRunsOnItsExecutorAndShowsOnEveryReplica) {
  Cluster cluster;
  cluster.open();
  cluster.execute("c1", "x=5", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  EXPECT_EQ(cluster.ended_[{"c1"}].status, session::Status::kOk);
  EXPECT_EQ(cluster.ended_[{"c1"}].outputs, 1U);
  ASSERT_EQ(cluster.outputs_.size(), 1U);
  EXPECT_EQ(cluster.outputs_[0].seq, 1U);
  EXPECT_TRUE(cluster.run_until([&] {
    for (const char* host : {"h1", "h2", "h3"}) {
      for (const auto& [id, worker] : cluster.hosts_[{host}].workers) {
        if (!worker.variables.contains("x")) return false;
      }
    }
    return true;
  }));
}

TEST(HostNode, ACellIsCommittedByItsReportAndItsLateReplyIsToldNobody) {
  Cluster cluster;
  cluster.reports_have_reply_ = true;
  cluster.open();
  cluster.execute("c1", "x=5", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  cluster.run_until([] { return false; }, 100ms);
  EXPECT_NE(cluster.ended_[{"c1"}].reply.content.view().find("packed"), std::string::npos);
  EXPECT_EQ(cluster.ended_[{"c1"}].reply.metadata, R"({"engine":"e"})");
  ASSERT_EQ(cluster.outputs_.size(), 1U);
  EXPECT_NE(cluster.outputs_[0].message.content.view().find("hello"), std::string::npos);
}

TEST(HostNode, TheNextCellRunsElsewhereAfterTheExecutorsHostDied) {
  Cluster cluster;
  cluster.open();
  cluster.execute("c1", "x=5", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  cluster.kill({"h1"});
  cluster.execute("c2", "y=6", {2}, {"h2"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c2"); }, 2s)) << "within the failover's figure";
  EXPECT_EQ(cluster.hosts_[{"h2"}].workers.begin()->second.variables["x"], "5");
}

TEST(HostNode, ACellWhoseExecutorDiesInTheMiddleIsLostAndNotRunAgain) {
  Cluster cluster;
  cluster.open();
  cluster.execute("c1", "x=5", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  cluster.run_cells_ = false;  // the worker never comes to the fence
  cluster.execute("c2", "x=6", {1}, {"h1"});
  ASSERT_TRUE(
      cluster.run_until([&] { return cluster.reports_[{"h2"}][kSession].running == ExecutionId{"c2"}; }));
  cluster.kill({"h1"});
  cluster.run_cells_ = true;
  cluster.execute("c2", "x=6", {2}, {"h2"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c2"); }, 5s)) << "the verdict's figure";
  EXPECT_EQ(cluster.ended_[{"c2"}].status, session::Status::kLost);
  EXPECT_EQ(cluster.starts_[{"c2"}], 0);
  cluster.execute("c3", "z=7", {3}, {"h3"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c3"); }));
  EXPECT_EQ(cluster.ended_[{"c3"}].status, session::Status::kOk);
}

TEST(HostNode, AnExecuteThatComesTwiceRunsOnceAndIsAnsweredTwice) {
  Cluster cluster;
  cluster.open();
  cluster.execute("c1", "x=5", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  cluster.ended_.clear();
  cluster.outputs_.clear();
  cluster.execute("c1", "x=5", {2}, {"h2"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  EXPECT_EQ(cluster.starts_[{"c1"}], 1);
  EXPECT_EQ(cluster.outputs_.size(), 1U) << "the journal has the outputs";
}

TEST(HostNode, TheGatewaysNextLifeGetsARunningCellsOutputsFromWhereItSays) {
  for (const std::uint64_t seen : {0U, 1U}) {
    Cluster cluster;
    cluster.cells_ask_ = true;
    cluster.open();
    cluster.execute("c1", "x=5", {1}, {"h1"});
    ASSERT_TRUE(cluster.run_until([&] { return cluster.outputs_.size() == 2; }));
    cluster.restart_gateway();
    cluster.run_until([] { return false; }, 1s);
    EXPECT_TRUE(cluster.outputs_.empty()) << "what is sent before it asks comes too early for it";
    cluster.execute("c1", "x=5", {1}, {"h1"}, seen);
    ASSERT_TRUE(cluster.run_until([&] { return cluster.outputs_.size() == 2 - seen; }));
    cluster.answer_input({"h1"});
    ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
    EXPECT_EQ(cluster.outputs_.size(), 2 - seen) << "each once";
    EXPECT_EQ(cluster.starts_[{"c1"}], 1);
  }
}

TEST(HostNode, ACellThatEndsBeforeTheGatewaysNextLifeAsksIsAnsweredWhole) {
  Cluster cluster;
  cluster.cells_ask_ = true;
  cluster.open();
  cluster.execute("c1", "x=5", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.outputs_.size() == 2; }));
  cluster.restart_gateway();
  cluster.run_until([] { return false; }, 1s);
  cluster.answer_input({"h1"});
  cluster.run_until([] { return false; }, 1s);
  EXPECT_FALSE(cluster.ended("c1"));
  cluster.execute("c1", "x=5", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  EXPECT_EQ(cluster.outputs_.size(), cluster.ended_[{"c1"}].outputs);
}

TEST(HostNode, AnOpenInputRequestIsRepeatedForTheGatewaysNextLifeUntilItIsAnswered) {
  Cluster cluster;
  cluster.cells_ask_ = true;
  cluster.open();
  cluster.execute("c1", "x=5", {1}, {"h1"});
  const auto asks = [&] {
    return std::count_if(cluster.outputs_.begin(), cluster.outputs_.end(), [](const FromKernel& one) {
      return one.message.channel == jupyter::Channel::kStdin;
    });
  };
  ASSERT_TRUE(cluster.run_until([&] { return asks() == 1; }));
  cluster.execute("c1", "x=5", {1}, {"h1"});
  cluster.run_until([] { return false; }, 1s);
  EXPECT_EQ(asks(), 1) << "the same life of the gateway has it";
  cluster.restart_gateway();
  cluster.execute("c1", "x=5", {1}, {"h1"});
  EXPECT_TRUE(cluster.run_until([&] { return asks() == 1; }));
  jupyter::Message reply;
  reply.channel = jupyter::Channel::kStdin;
  reply.header = R"({"msg_id":"i1","msg_type":"input_reply","session":"client"})";
  cluster.send({"h1"}, ToKernel{kSession, reply});
  cluster.run_until([] { return false; }, 1s);
  cluster.restart_gateway();
  cluster.execute("c1", "x=5", {1}, {"h1"});
  cluster.run_until([] { return false; }, 1s);
  EXPECT_EQ(asks(), 0) << "it was answered";
}

TEST(HostNode, AReplicaMovesToAnotherHostAndItsWorkerShowsHead) {
  Cluster cluster;
  cluster.open();
  cluster.execute("c1", "x=5", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  cluster.kill({"h3"});
  const session::Members members{{{1}, {"h1"}}, {{2}, {"h2"}}, {{4}, {"h4"}}};
  cluster.send({"h4"}, OpenReplica{kSession, {4}, {"python3", "", {}}, members, Origin::kJoining});
  cluster.send({"h1"}, ChangeMembers{kSession, members});
  cluster.send({"h2"}, ChangeMembers{kSession, members});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.reports_[{"h4"}][kSession].members == members; }));
  ASSERT_TRUE(cluster.run_until([&] {
    const auto& workers = cluster.hosts_[{"h4"}].workers;
    return !workers.empty() && workers.begin()->second.variables.contains("x");
  }));
  cluster.kill({"h1"});
  cluster.execute("c2", "y=6", {4}, {"h4"});
  EXPECT_TRUE(cluster.run_until([&] { return cluster.ended("c2"); }));
}

TEST(HostNode, NewMembersAreReportedOnceAMajorityOfThemHasTheLog) {
  Cluster cluster;
  cluster.open();
  cluster.execute("c1", "x=5", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  cluster.cut_ = {{"h3"}, {"h4"}};
  const session::Members members{{{1}, {"h1"}}, {{3}, {"h3"}}, {{4}, {"h4"}}};
  cluster.send({"h4"}, OpenReplica{kSession, {4}, {"python3", "", {}}, members, Origin::kJoining});
  for (const char* host : {"h1", "h2"}) cluster.send({host}, ChangeMembers{kSession, members});
  const auto reported = [&] { return cluster.reports_[{"h1"}][kSession].members == members; };
  EXPECT_FALSE(cluster.run_until(reported, 5s)) << "only h1 and h2, who leaves, have the cell";
  cluster.cut_ = {{"h3"}};
  EXPECT_TRUE(cluster.run_until(reported));
}

TEST(HostNode, AReplicaThatMissedAChangeOfTheMembersAnswersANewLeader) {
  Cluster cluster;
  cluster.open();
  cluster.execute("c1", "x=5", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  cluster.cut_ = {{"h3"}};
  const session::Members members{{{2}, {"h2"}}, {{3}, {"h3"}}, {{4}, {"h4"}}};
  cluster.send({"h4"}, OpenReplica{kSession, {4}, {"python3", "", {}}, members, Origin::kJoining});
  for (const char* host : {"h1", "h2"}) cluster.send({host}, ChangeMembers{kSession, members});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.reports_[{"h4"}][kSession].members == members; }));
  cluster.kill({"h1"});
  cluster.execute("c2", "y=6", {4}, {"h4"});
  ASSERT_TRUE(cluster.run_until(
      [&] { return cluster.ended("c2") && cluster.reports_[{"h4"}][kSession].leader == ReplicaId{4}; }));
  cluster.cut_.clear();
  EXPECT_TRUE(cluster.run_until([&] { return cluster.reports_[{"h3"}][kSession].members == members; }));
  cluster.kill({"h2"});
  cluster.execute("c3", "z=7", {4}, {"h4"});
  EXPECT_TRUE(cluster.run_until([&] { return cluster.ended("c3"); }));
}

TEST(HostNode, AReplicaThatMissesAValueIsNotCompleteUntilAPeerSendsIt) {
  Cluster cluster;
  cluster.open();
  cluster.execute("c1", "x=" + std::string(100'000, '7'), {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  cluster.run_until([] { return false; }, 1s);
  EXPECT_TRUE(cluster.reports_[{"h3"}][kSession].complete);
  const auto kept = cluster.hosts_[{"h1"}].chunks;
  for (const char* host : {"h1", "h2", "h3"}) cluster.hosts_[{host}].chunks.clear();
  const session::Members more = {{{1}, {"h1"}}, {{2}, {"h2"}}, {{3}, {"h3"}}, {{4}, {"h4"}}};
  cluster.send({"h4"}, OpenReplica{kSession, {4}, {"python3", "", {}}, more, Origin::kJoining});
  cluster.send({"h1"}, ChangeMembers{kSession, more});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.reports_[{"h4"}][kSession].members == more; }));
  EXPECT_FALSE(cluster.reports_[{"h4"}][kSession].complete);
  cluster.hosts_[{"h1"}].chunks = kept;
  EXPECT_TRUE(cluster.run_until([&] { return cluster.reports_[{"h4"}][kSession].complete; }));
}

TEST(HostNode, AValueThatOnlyAReplicaThatLeftHasIsFetchedFromThere) {
  Cluster cluster;
  cluster.open();
  cluster.execute("c1", "x=" + std::string(100'000, '7'), {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  cluster.run_until([] { return false; }, 1s);
  for (const char* host : {"h1", "h3"}) cluster.hosts_[{host}].chunks.clear();
  const session::Members next = {{{1}, {"h1"}}, {{3}, {"h3"}}, {{4}, {"h4"}}};
  cluster.send({"h4"}, OpenReplica{kSession, {4}, {"python3", "", {}}, next, Origin::kJoining});
  cluster.send({"h1"}, ChangeMembers{kSession, next});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.reports_[{"h4"}][kSession].members == next; }));
  EXPECT_TRUE(cluster.run_until([&] { return cluster.reports_[{"h4"}][kSession].complete; }));
}

TEST(HostNode, AValueThatNoHostHasAnyMoreIsNamedAndTheCellRunsWithoutIt) {
  Cluster cluster;
  cluster.open();
  cluster.execute("c1", "x=" + std::string(100'000, '7'), {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  for (const char* host : {"h1", "h2", "h3"}) cluster.hosts_[{host}].chunks.clear();
  cluster.lose_worker({"h2"});
  cluster.outputs_.clear();
  cluster.execute("c2", "y=6", {2}, {"h2"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c2"); }, 60s));
  EXPECT_EQ(cluster.ended_[{"c2"}].status, session::Status::kOk);
  ASSERT_FALSE(cluster.outputs_.empty());
  EXPECT_NE(cluster.outputs_[0].message.content.view().find("'x' could not be restored"), std::string::npos);
}

TEST(HostNode, AValueThatIsNotUsedAnyMoreLeavesTheDiskAMinuteLaterUnlessItIsUsedAgain) {
  Cluster cluster;
  cluster.open();
  const auto run = [&](const std::string& cell, const std::string& code) {
    cluster.execute(cell, code, {1}, {"h1"});
    return cluster.run_until([&] { return cluster.ended(cell); });
  };
  const auto copies = [&](const std::string& value) {
    return std::ranges::count_if(
        cluster.hosts_, [&](const auto& item) { return item.second.chunks.contains(digest_of(value)); });
  };
  const std::string first(100'000, '1');
  const std::string second(100'000, '2');
  ASSERT_TRUE(run("c1", "x=" + first) && run("c2", "y=" + second));
  ASSERT_TRUE(run("c3", "x=0") && run("c4", "y=0"));
  cluster.run_until([] { return false; }, 30s);
  EXPECT_EQ(copies(first), 3);
  ASSERT_TRUE(run("c5", "z=" + first));
  cluster.run_until([] { return false; }, 60s);
  EXPECT_EQ(copies(first), 3);
  EXPECT_EQ(copies(second), 0);
}

TEST(HostNode, ACellThatItsWorkerEndsBeforeItsStartIsCommittedEnds) {
  Cluster cluster;
  cluster.open();
  cluster.execute("c1", "x=5", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  cluster.blank_cells_ = true;
  cluster.execute("c2", "", {1}, {"h1"});
  EXPECT_TRUE(cluster.run_until([&] { return cluster.ended("c2"); }));
}

TEST(HostNode, AnOldWishForOtherMembersUndoesNoLaterChange) {
  Cluster cluster;
  cluster.open();
  cluster.execute("c1", "x=5", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  const session::Members never = {{{1}, {"h1"}}, {{2}, {"h2"}}, {{4}, {"h4"}}};
  const session::Members later = {{{1}, {"h1"}}, {{2}, {"h2"}}, {{5}, {"h4"}}};
  cluster.send({"h2"}, ChangeMembers{kSession, never});
  cluster.send({"h4"}, OpenReplica{kSession, {5}, {"python3", "", {}}, later, Origin::kJoining});
  cluster.send({"h1"}, ChangeMembers{kSession, later});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.reports_[{"h2"}][kSession].members == later; }));
  cluster.execute("c2", "x=6", {2}, {"h2"});  // and the lead follows
  ASSERT_TRUE(cluster.run_until([&] { return cluster.reports_[{"h1"}][kSession].leader == ReplicaId{2}; }));
  cluster.run_until([] { return false; }, 3s);
  EXPECT_EQ(cluster.reports_[{"h1"}][kSession].members, later);
}

TEST(HostNode, AReplicaIsNotToldOfTheWritesOfOneThatWasClosedBefore) {
  Cluster cluster;
  cluster.open();
  cluster.execute("c1", "x=5", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  cluster.slow_disk_ = HostId{"h3"};
  for (const char* cell : {"c2", "c3", "c4"}) {
    cluster.execute(cell, "x=6", {1}, {"h1"});
    ASSERT_TRUE(cluster.run_until([&] { return cluster.ended(cell); }));
  }
  const session::Members members = {{{1}, {"h1"}}, {{2}, {"h2"}}, {{4}, {"h3"}}};
  cluster.send({"h3"}, CloseReplica{kSession});
  cluster.send({"h3"}, OpenReplica{kSession, {4}, {"python3", "", {}}, members});
  cluster.run_until([] { return false; }, 10ms);
  cluster.finish_writes();
  EXPECT_TRUE(cluster.hosts_[{"h3"}].up);
}

TEST(HostNode, ARestartEmptiesEveryReplica) {
  Cluster cluster;
  cluster.open();
  cluster.execute("c1", "x=5", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  for (const char* host : {"h1", "h2", "h3"}) cluster.send({host}, Restart{kSession, 42});
  ASSERT_TRUE(cluster.run_until([&] {
    for (const char* host : {"h1", "h2", "h3"}) {
      const auto& workers = cluster.hosts_[{host}].workers;
      if (workers.size() != 1 || !workers.begin()->second.variables.empty()) return false;
    }
    return true;
  }));
  cluster.execute("c2", "y=6", {1}, {"h1"});
  EXPECT_TRUE(cluster.run_until([&] { return cluster.ended("c2"); }));
}

}  // namespace
}  // namespace banyan::node
