// What clients and workers say beside cells: completion, inspection, comms, stdin, control, and states.

#include <algorithm>
#include <utility>

#include "node/gateway_messages.h"
#include "node/gateway_session.h"

namespace banyan::node {

using jupyter::Channel;
using jupyter::Message;

namespace {

constexpr std::size_t kRequestsMax = 1024;
constexpr std::size_t kAnsweredKept = 1024;

/// Answered alike by every replica: they show the same commit. Comms are none of that: those that the running
/// cell has opened are at the executor only.
bool any_replica_answers(std::string_view type) {
  for (const std::string_view known : {"complete_request", "inspect_request", "is_complete_request",
                                       "kernel_info_request", "history_request"}) {
    if (type == known) return true;
  }
  return false;
}

/// Kernelspecs and kernel_info offer no subshells; a worker would never answer.
bool is_for_subshell(const Message& message) {
  return message.channel == Channel::kShell && message.header.find("subshell_id") != std::string::npos &&
         !text_member(message.header, "subshell_id").empty();
}

}  // namespace

void GatewaySession::from_client(ConnectionId connection, Message message) {
  const ClientId* const known = clients_.client_of(connection);
  if (known == nullptr) return;
  const ClientId client = *known;
  const auto header = jupyter::parse_header(message.header);
  if (!header || header->msg_id.empty() || header->msg_type.empty()) {
    gateway_.log(Log::Level::kWarning, "session " + record_.id.value +
                                           ": a client's message without a msg_id or msg_type is dropped");
    return;
  }
  const std::string& type = header->msg_type;
  if (message.channel == Channel::kIopub) return;  // nothing for the kernel travels there
  if (message.channel == Channel::kStdin) return input_reply(std::move(message));
  if (is_for_subshell(message)) {
    const Verdict verdict{"NotSupported",
                          "The cells of a session are one sequence: there are no subshells. Send the request "
                          "without a subshell_id."};
    if (type == "execute_request") return tell_error(client, message, verdict, {}, 0);
    return answer(client, message, error_content(verdict.name, verdict.text));
  }
  if (type == "execute_request") return accept_cell(client, std::move(message), header->msg_id);
  if (type != "kernel_info_request" && type != "comm_info_request") note_activity();
  if (type == "interrupt_request") {
    interrupt();
    return answer(client, message, R"({"status":"ok"})");
  }
  if (type == "shutdown_request") return shutdown(client, message);
  if (requests_.contains(header->msg_id)) return;  // the client says it twice
  if (requests_.size() >= kRequestsMax) {
    const auto oldest =
        std::ranges::min_element(requests_, {}, [](const auto& item) { return item.second.order; });
    lose_request(std::string(oldest->first));  // a copy: the key goes
  }
  Request& request = requests_
                         .emplace(header->msg_id, Request{.client = client,
                                                          .message = std::move(message),
                                                          .type = type,
                                                          .order = next_request_++,
                                                          .anywhere = any_replica_answers(type)})
                         .first->second;
  request.anywhere = request.anywhere && request.message.channel == Channel::kShell;
  route(request);
}

bool GatewaySession::worker_ready(const HostId& host) const {
  const ReplicaReport* const report = gateway_.report_of(host, record_.id);
  return gateway_.usable(host) && report != nullptr &&
         (report->worker == WorkerState::kReady || report->worker == WorkerState::kBusy);
}

bool GatewaySession::worker_ready() const {
  return std::any_of(record_.committed.begin(), record_.committed.end(),
                     [&](const auto& member) { return worker_ready(member.second); });
}

/// A request that any replica answers must not wait behind the cell that runs; all others belong to the
/// executor.
std::optional<HostId> GatewaySession::host_for(const Request& request) const {
  std::optional<HostId> executor = executor_host();
  if (request.anywhere && running() != nullptr) {
    const ReplicaReport* const newest = newest_report();
    std::optional<HostId> best;
    const cluster::Ledger& ledger = gateway_.cluster().ledger();
    bool comes = false;
    for (const auto& [replica, host] : record_.committed) {
      const ReplicaReport* const report = gateway_.report_of(host, record_.id);
      if (host == executor || report == nullptr || !gateway_.usable(host)) continue;
      comes = true;
      if (report->worker != WorkerState::kReady || report->shown < std::max(newest->last, last_commit_))
        continue;
      if (!best || ledger.cells_on(host) < ledger.cells_on(*best)) best = host;
    }
    if (best) return best;
    if (comes)
      return std::nullopt;  // a standby shows the last commit soon, at the latest when the cell has ended
  }
  if (executor && worker_ready(*executor)) return executor;
  // It may not have reported since its last cell, or starts a new worker: what belongs to it waits for that.
  const bool waits = !request.anywhere || executor == ended_by_;
  if (waits && executor && gateway_.usable(*executor)) return std::nullopt;
  if (const ReplicaReport* const newest = newest_report(); newest != nullptr) {
    const auto leader = record_.committed.find(newest->leader);
    if (leader != record_.committed.end() && worker_ready(leader->second)) return leader->second;
  }
  for (const auto& [replica, host] : record_.committed) {
    if (worker_ready(host)) return host;
  }
  return std::nullopt;
}

bool GatewaySession::Request::calls_back() const {
  return type == "comm_msg" || type == "comm_open" || type == "comm_close";
}

/// Sends the request, or leaves it for the next report.
void GatewaySession::route(Request& request) {
  request.host = host_for(request);
  if (!request.host) return;
  request.worker_pid = gateway_.report_of(*request.host, record_.id)->worker_pid;
  if (request.calls_back()) called_since_cell_ = true;
  gateway_.send(*request.host, ToKernel{record_.id, request.message});
}

/// In the order of arrival: a comm is opened before it is spoken to.
void GatewaySession::route_waiting() {
  std::map<std::uint64_t, Request*> waiting;
  for (auto& [msg_id, request] : requests_) {
    if (!request.host) waiting.emplace(request.order, &request);
  }
  for (const auto& [order, request] : waiting) route(*request);
}

/// The worker that had them is gone: ask another, or say so.
void GatewaySession::lose_requests(const HostId& host) {
  std::vector<std::string> lost;
  for (auto& [msg_id, request] : requests_) {
    if (request.host != host) continue;
    request.host.reset();
    if (!request.anywhere) lost.push_back(msg_id);
  }
  for (const std::string& msg_id : lost) lose_request(msg_id);
  route_waiting();
}

void GatewaySession::lose_request(const std::string& msg_id) {
  const auto found = requests_.find(msg_id);
  const Request request = std::move(found->second);
  requests_.erase(found);
  remember_answered(msg_id);
  answer(request.client, request.message,
         error_content("KernelUnavailable",
                       "The worker that was to answer this request is gone; another replica takes over. Try "
                       "again."));
}

/// The gateway's own answer, framed by busy and idle as clients expect of a kernel.
void GatewaySession::answer(const ClientId& client, const Message& request, std::string content) {
  const std::string type = reply_type(text_member(request.header, "msg_type"));
  clients_.publish(status_message("busy", request.header, gateway_.author(record_.id)));
  if (!type.empty() && clients_.knows(client)) {
    clients_.send(client, jupyter::make_message(request.channel, type, request.header, std::move(content),
                                                gateway_.author(record_.id)));
  }
  publish_idle(request.header, {});
  note_delivered();
}

void GatewaySession::shutdown(const ClientId& client, const Message& request) {
  if (is_literal(request.content.view(), "restart", "true")) {
    restart(std::nullopt);
    restarting_->shutdowns.emplace_back(client, request);
    return;
  }
  const std::string content = R"({"status":"ok","restart":false})";
  answer(client, request, content);
  clients_.publish(jupyter::make_message(Channel::kIopub, "shutdown_reply", request.header, content,
                                         gateway_.author(record_.id)));
  wants_end_ = true;
}

void GatewaySession::interrupt() {
  note_activity();
  if (const auto host = executor_host(); host && gateway_.usable(*host))
    gateway_.send(*host, Interrupt{record_.id});
}

void GatewaySession::input_reply(Message reply) {
  if (!input_ && asked_for_input_) return;  // another connection was faster
  input_.reset();
  note_activity();
  if (const auto host = executor_host(); host && gateway_.usable(*host))
    gateway_.send(*host, ToKernel{record_.id, std::move(reply)});
}

void GatewaySession::from_kernel(const HostId& host, FromKernel message) {
  if (message.seq != 0) return take_output(host, std::move(message));
  switch (message.message.channel) {
    case Channel::kIopub:
      return pass_iopub(std::move(message.message));
    case Channel::kStdin:
      return pass_input(std::move(message.message));
    case Channel::kShell:
    case Channel::kControl:
      return pass_reply(std::move(message.message));
  }
}

/// To the client that asked; exactly once, although a request may have gone to two replicas.
void GatewaySession::pass_reply(Message reply) {
  if (text_member(reply.header, "msg_type") == "execute_reply") return;  // only a commit answers a cell
  const auto parent = jupyter::parse_header(reply.parent_header);
  if (!parent || parent->msg_id.empty()) return;
  if (std::find(answered_.begin(), answered_.end(), parent->msg_id) != answered_.end()) return;
  remember_answered(parent->msg_id);
  ClientId client{parent->session};  // of a request that an earlier life of the gateway has sent
  if (const auto request = requests_.find(parent->msg_id); request != requests_.end()) {
    client = request->second.client;
    requests_.erase(request);
  }
  if (!client.value.empty()) clients_.send(client, std::move(reply));
  note_delivered();
}

void GatewaySession::remember_answered(const std::string& msg_id) {
  answered_.push_back(msg_id);
  if (answered_.size() > kAnsweredKept) answered_.pop_front();
}

void GatewaySession::pass_iopub(Message message) {
  const std::string parent = text_member(message.parent_header, "msg_id");
  const bool status = is_status(message);
  if (status && parent.empty()) return;  // "starting" of some replica's worker says nothing of the session
  const bool idle = status && is_idle(message);
  clients_.publish(std::move(message));
  if (idle) {
    const auto request = requests_.find(parent);
    if (request != requests_.end() && reply_type(request->second.type).empty()) requests_.erase(request);
    const Cell* const cell = running();
    if (cell != nullptr && cell->execution.value != parent)
      clients_.publish(status_message("busy", cell->record.request.header, gateway_.author(record_.id)));
  }
  note_delivered();
}

/// input(): only the client that ran the cell is asked, but everybody while that one is away.
void GatewaySession::pass_input(Message request) {
  const auto parent = jupyter::parse_header(request.parent_header);
  if (!parent) return;
  ClientId client{parent->session};
  if (const Cell* const cell = running(); cell != nullptr && cell->execution.value == parent->msg_id)
    client = cell->record.client;
  if (client.value.empty()) return;
  asked_for_input_ = true;
  clients_.expect(client);
  const std::uint64_t place =
      clients_.connected(client) ? clients_.send(client, request) : clients_.publish(request);
  input_ = Input{std::move(client), std::move(request), place};
  note_delivered();
}

}  // namespace banyan::node
