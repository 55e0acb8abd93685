// A session that has run a cell on h1, for tests of what is done with it as a whole.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "node/test_gateway.h"

namespace banyan::node {

class GatewayOperations : public ::testing::Test {
 protected:
  void begin() {
    gateway.start_with_hosts();
    session = gateway.create();
    tab = gateway.connect(session, "tab");
    gateway.execute(tab, "c1");
    gateway.end({"h1"}, session, "c1");
    set([](ReplicaReport& report) {
      report.executor = report.leader = {1};
      report.epoch = {1};
      report.last = report.shown = {1};
      report.complete = true;
      report.worker = WorkerState::kReady;
      report.worker_pid = 7;
    });
  }
  template <class Change>
  void set(Change change) {
    for (auto& [id, host] : gateway.hosts) {
      if (!host.up || !host.replicas.contains(session)) continue;
      change(host.replicas[session]);
      gateway.report(id, session);
    }
  }
  HttpReply post(const std::string& what, const std::string& body = "{}") {
    return gateway.http("POST", "/api/banyan/sessions/" + session.value + "/" + what, body);
  }
  /// The question that the executor's host was asked last.
  AskSession asked() {
    const auto all = gateway.got<AskSession>({"h1"});
    return all.empty() ? AskSession{} : all.back();
  }
  void answer(const std::string& content) {
    gateway.from_host({"h1"},
                      SessionAnswer{.session = session, .request = asked().request, .content = content});
  }
  std::string state() {
    return nlohmann::json::parse(gateway.http("GET", "/api/banyan/sessions").body)[0]["state"];
  }

  TestGateway gateway{{"h1", "h2", "h3", "h4", "h5"}};
  SessionId session;
  ConnectionId tab;
};

}  // namespace banyan::node
