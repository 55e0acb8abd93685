#include "node/cell_run.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "node/cell_directives.h"
#include "node/gateway_messages.h"

namespace banyan::node {

namespace {

using nlohmann::json;

constexpr Duration kBidAgain = 300ms;
constexpr Duration kTryAgain = 50ms;  // no leader took the bid

}  // namespace

CellRun::CellRun(const Parts& parts, const Execute& order, HostDevices::Grant devices)
    : outputs(parts.host, order),
      ending({parts.host, parts.log, parts.chunks, parts.sync, parts.pending, outputs}, order,
             directives_of(order.request).durable),
      parts_(parts),
      order_(order),
      devices_(std::move(devices)),
      code_(text_field(order.request.content.view(), "code")),
      bid_at_(parts.host.now().mono) {}

Execute CellRun::order() const {
  Execute order = order_;
  order.lead = parts_.log.id();
  order.outputs_seen = outputs.sent();
  return order;
}

std::string CellRun::code_and_expressions() const {
  const json content = json::parse(order_.request.content.view(), nullptr, false);
  std::string code = code_;
  if (!content.is_object()) return code;
  for (const json& expression : content.value("user_expressions", json::object()))
    if (expression.is_string()) code += "\n" + expression.get<std::string>();
  return code;
}

void CellRun::bid() {
  const bool taken =
      parts_.log.propose(session::Propose{.execution = order_.execution,
                                          .replica = parts_.log.id(),
                                          .bid = session::Bid::kLead,
                                          .code = code_,
                                          .parent_header = order_.request.header,
                                          .cell_id = text_field(order_.request.metadata, "cellId"),
                                          .life = parts_.host.life(),
                                          .restarts = order_.restarts,
                                          .aborts = order_.aborts});
  if (!taken) parts_.log.campaign_if_lost();
  bid_again_at_ = parts_.host.now().mono + (taken ? kBidAgain : kTryAgain);
}

void CellRun::on_bid_lost() { bid_again_at_ = parts_.host.now().mono + kBidAgain; }

void CellRun::on_started(Epoch epoch) {
  started_ = true;
  epoch_ = epoch;
}

void CellRun::forward(const WorkerId& worker) {
  forwarded_ = true;
  outputs.end_progress();
  parts_.host.emit(ToWorker{worker, order_.request});
}

bool CellRun::may_go() {
  if (!started_ || !fenced_ || is_going() || !parts_.lease.until()) return false;
  if (parts_.lease.is_another_held()) return false;
  if (!parts_.lease.is_short()) return true;
  renew_lease(Lease::Renewal::kSoon);
  return false;
}

void CellRun::go(const WorkerId& worker) {
  going_at_ = parts_.host.now().mono;
  outputs.end_progress();
  parts_.host.emit(SetLease{worker, parts_.lease.until()});
  parts_.host.devices().on_goes(worker, order_.session, devices());
  parts_.host.emit(AnswerFence{worker, order_.execution, std::nullopt, devices()});
}

void CellRun::renew_lease(Lease::Renewal renewal) {
  if (!started_ || ending.has_commit() || !parts_.lease.is_due(renewal)) return;
  const std::uint64_t context = parts_.host.rng().next();
  if (parts_.log.read(context)) {
    parts_.lease.on_asked(context);
  } else {
    parts_.lease.on_nobody_asked();
  }
}

void CellRun::ask_reads(const WorkerId& worker, const std::set<std::string>& names) {
  if (names.empty()) return;
  parts_.host.emit(AskReads{worker, order_.execution, code_and_expressions(), {names.begin(), names.end()}});
}

void CellRun::repeat_if_due(const session::Session& session) {
  ending.repeat_if_due(session);
  if (!started_ && bid_again_at_ <= parts_.host.now().mono) bid();
}

/// A bid or a commit may be lost with the leader that it went to.
void CellRun::on_new_leader(const session::Session& session) {
  ending.on_new_leader(session);
  if (!started_) bid();
}

void CellRun::on_message(jupyter::Message message, const session::Session& session) {
  if (message.channel == jupyter::Channel::kShell) {
    ending.on_reply(std::move(message));
    finish_if_complete(session);
  } else if (message.channel != jupyter::Channel::kIopub) {
    input_ = message;
    outputs.send_beside(std::move(message));
  } else if (is_idle(message)) {
    ending.on_idle();
    finish_if_complete(session);
  } else {
    outputs.add(std::move(message));
    if (started_) outputs.send();
  }
}

void CellRun::on_report(WorkerReport event, const session::Session& session) {
  ending.on_report(std::move(event), session);
  finish_if_complete(session);
}

void CellRun::on_death(const std::string& reason, const session::Session& session) {
  ending.on_death(reason, session);
  finish_if_complete(session);
}

void CellRun::finish_if_complete(const session::Session& session) {
  if (started_) ending.make_commit_if_complete(session, epoch_, fenced_, going_at_);
}

void CellRun::take_back() {
  forwarded_ = fenced_ = false;
  if (!is_going()) devices_.shrink(order_.gpus);  // what the process used is not the next one's
  if (is_going() || ending.has_commit() || outputs.sent() > 0) return;
  outputs.forget();
  ending.forget();
}

void CellRun::on_asked(const Execute& request) {
  if (!outputs.on_asked(request.outputs_seen)) return;
  if (started_) outputs.send();
  if (input_) outputs.send_beside(*input_);
}

}  // namespace banyan::node
