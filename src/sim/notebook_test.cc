// The model client against a gateway that the test makes up.
#include "sim/notebook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sim/json_field.h"

namespace banyan::sim {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

/// A gateway that has one kernel at a time and answers each cell. It forgets the kernel when it is asked to
/// end it, and says so a second later, or when it is asked again.
class OneKernel {
 public:
  OneKernel(Scheduler& scheduler, Front& front) : scheduler_(scheduler), port_(front) {}

  void handle(const node::GatewayEvent& event) {
    if (const auto* const asked = std::get_if<node::HttpRequest>(&event)) return answer(*asked);
    if (const auto* const opening = std::get_if<node::ClientOpening>(&event)) return open(opening->id);
    const auto* const said = std::get_if<node::FromClient>(&event);
    if (said == nullptr || text_of(said->message.header, "msg_type") != "execute_request") return;
    port_.send(said->id,
               jupyter::make_message(jupyter::Channel::kShell, "execute_reply", said->message.header,
                                     R"({"status":"ok"})", {"k", std::to_string(++replies_), {}}));
  }
  /// The kernel is no longer there, and nobody has asked for that.
  void lose() {
    there_ = false;
    if (open_) port_.close({*std::exchange(open_, std::nullopt), 1000, ""});
  }

  bool confirms = true;  ///< that it has ended; else it is as if the connection had broken before
  int made = 0;
  int refused = 0;  ///< connections

 private:
  void open(ConnectionId id) {
    if (!there_) {
      ++refused;
      return port_.reject({id, 404, "There is no kernel."});
    }
    port_.accept(id);
    open_ = id;
  }
  void answer(const node::HttpRequest& asked) {
    const bool makes = asked.method == "POST" && asked.target == "/api/kernels";
    const bool ends = asked.method == "DELETE";
    const int ended = !there_ ? 404 : confirms ? 204 : 0;
    if (ends) lose();
    if (makes) there_ = ++made > 0;
    scheduler_.after(ends ? 1s : 0s,
                     [this, id = asked.id,
                      status = makes  ? 201
                               : ends ? ended
                                      : 200] { port_.reply({id, status, {}, R"({"id":"k"})"}); });
  }

  Scheduler& scheduler_;
  FrontPort port_;
  bool there_ = false;
  std::optional<ConnectionId> open_;
  int replies_ = 0;
};

struct Complaints final : public ClientWitness {
  void replied(const CellRecord& /*cell*/) override {}
  void client_complains(const std::string& what) override { heard.push_back(what); }
  void asks_for_gpus(const ExecutionId& /*execution*/, std::uint64_t /*gpus*/) override {}
  std::vector<std::string> heard;
};

struct NoTransfers final : public TransferWitness {
  ExportFloor export_begins(const SessionId& /*session*/, std::optional<ExecutionId> /*answered*/) override {
    return {};
  }
  void transfer_goes_on(const SessionId& /*session*/) override {}
  void exported(const Exported& /*box*/, const ExportFloor& /*floor*/) override {}
  void chunk_denied(const Exported& /*box*/, const Digest& /*digest*/) override {}
  void chunk_brought(const SessionId& /*into*/, const std::string& /*upload*/,
                     const Digest& /*digest*/) override {}
  bool may_ask_again(const SessionId& /*into*/, const std::string& /*upload*/,
                     const std::string& /*said*/) override {
    return false;
  }
  void imported(const Exported& /*box*/, const SessionId& /*into*/, const std::string& /*upload*/) override {}
  void transfer_complains(const std::string& /*what*/) override {}
};

/// A client that does other things than to run cells, among them to delete its kernel.
class NotebookTest : public testing::Test {
 protected:
  NotebookTest() {
    process.begin();
    front.gateway_started([this](const node::GatewayEvent& event) { gateway.handle(event); });
    client.start();
  }

  Scheduler scheduler;
  Trace trace{scheduler, {}};
  Process process;
  Front front{scheduler, Rng(1), trace, process, "token", Plant::kNone};
  OneKernel gateway{scheduler, front};
  HostClock clock{1, 0s, 0s};
  Complaints complaints;
  NoTransfers transfers;
  Notebook client{scheduler,  Rng(1),    trace,   front, clock,
                  complaints, transfers, nullptr, "A",   NotebookPlan{.cells = 2000, .trouble = 1}};
};

TEST_F(NotebookTest, AConnectionToAKernelThatItDeletesMayBeRefused) {
  scheduler.run_until(300s);
  EXPECT_GT(gateway.made, 1);
  EXPECT_GT(gateway.refused, 0) << "before it was told that the kernel is gone";
  EXPECT_THAT(complaints.heard, IsEmpty());
}

TEST_F(NotebookTest, WhereNobodyToldThatItIsGoneItGoesOnWithAnotherOne) {
  gateway.confirms = false;
  scheduler.run_until(300s);
  EXPECT_GT(gateway.made, 1);
  EXPECT_THAT(complaints.heard, IsEmpty());
}

TEST_F(NotebookTest, AKernelThatNobodyDeletedMustBeThere) {
  scheduler.run_until(100ms);
  ASSERT_EQ(gateway.made, 1);
  gateway.lose();
  scheduler.run_until(2s);
  ASSERT_THAT(complaints.heard, testing::Not(IsEmpty()));
  EXPECT_THAT(complaints.heard.front(), HasSubstr("is refused with 404"));
}

}  // namespace
}  // namespace banyan::sim
