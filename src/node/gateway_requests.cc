#include "node/gateway_requests.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "node/gateway_messages.h"

namespace banyan::node {

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

/// Of a comm: callbacks of the user's may run.
bool calls_back(const Requests::Request& request) {
  return request.type == "comm_msg" || request.type == "comm_open" || request.type == "comm_close";
}

}  // namespace

std::optional<Requests::Request> Requests::add(const std::string& msg_id, Request request,
                                               const Executing& executing) {
  if (requests_.contains(msg_id)) return std::nullopt;  // the client says it twice
  std::optional<Request> dropped;
  if (requests_.size() >= kRequestsMax) {
    const auto oldest =
        std::ranges::min_element(requests_, {}, [](const auto& item) { return item.second.order; });
    remember_answered(oldest->first);
    dropped = std::move(requests_.extract(oldest).mapped());
  }
  request.order = next_order_++;
  request.anywhere = any_replica_answers(request.type) && request.message.channel == jupyter::Channel::kShell;
  route(requests_.emplace(msg_id, std::move(request)).first->second, executing);
  return dropped;
}

/// A request that any replica answers must not wait behind the cell that runs; all others belong to the
/// executor.
std::optional<HostId> Requests::host_for(const Request& request, const Executing& executing) const {
  const auto& executor = executing.executor;
  if (request.anywhere && executing.runs_cell) {
    const ReplicaReport* const newest = reports_.newest();
    std::optional<HostId> best;
    const cluster::Ledger& ledger = gateway_.cluster().ledger();
    bool comes = false;
    for (const auto& [replica, host] : record_.committed) {
      const ReplicaReport* const report = reports_.on(host);
      if (host == executor || report == nullptr || !gateway_.usable(host)) continue;
      comes = true;
      if (report->worker != WorkerState::kReady ||
          report->shown < std::max(newest->last, executing.last_commit))
        continue;
      if (!best || ledger.cells_on(host) < ledger.cells_on(*best)) best = host;
    }
    if (best) return best;
    if (comes)
      return std::nullopt;  // a standby shows the last commit soon, at the latest when the cell has ended
  }
  if (executor && reports_.worker_ready(*executor)) return executor;
  // It may not have reported since its last cell, or starts a new worker: what belongs to it waits for that.
  const bool waits = !request.anywhere || executor == executing.ended_by;
  if (waits && executor && gateway_.usable(*executor)) return std::nullopt;
  if (const ReplicaReport* const newest = reports_.newest(); newest != nullptr) {
    const auto leader = record_.committed.find(newest->leader);
    if (leader != record_.committed.end() && reports_.worker_ready(leader->second)) return leader->second;
  }
  for (const auto& [replica, host] : record_.committed) {
    if (reports_.worker_ready(host)) return host;
  }
  return std::nullopt;
}

void Requests::route(Request& request, const Executing& executing) {
  request.host = host_for(request, executing);
  if (!request.host) return;
  request.worker_pid = reports_.on(*request.host)->worker_pid;
  if (calls_back(request)) called_back_ = true;
  gateway_.send(*request.host, ToKernel{record_.id, request.message});
}

/// In the order of arrival: a comm is opened before it is spoken to.
void Requests::route_waiting(const Executing& executing) {
  std::map<std::uint64_t, Request*> waiting;
  for (auto& [msg_id, request] : requests_) {
    if (!request.host) waiting.emplace(request.order, &request);
  }
  for (const auto& [order, request] : waiting) route(*request, executing);
}

std::vector<Requests::Request> Requests::lose(const HostId& host) {
  std::vector<Request> lost;
  for (auto it = requests_.begin(); it != requests_.end();) {
    const auto current = it++;
    Request& request = current->second;
    if (request.host != host) continue;
    request.host.reset();
    if (request.anywhere) continue;
    remember_answered(current->first);
    lost.push_back(std::move(request));
    requests_.erase(current);
  }
  return lost;
}

std::optional<ClientId> Requests::take_reply(const jupyter::Header& parent) {
  if (std::ranges::find(answered_, parent.msg_id) != answered_.end()) return std::nullopt;
  remember_answered(parent.msg_id);
  ClientId client{parent.session};  // of a request that an earlier life of the gateway has sent
  if (auto request = requests_.extract(parent.msg_id)) client = std::move(request.mapped().client);
  return client.value.empty() ? std::nullopt : std::optional(std::move(client));
}

void Requests::on_idle(const std::string& msg_id) {
  const auto request = requests_.find(msg_id);
  if (request != requests_.end() && reply_type(request->second.type).empty()) requests_.erase(request);
}

/// Those that have not been answered may still run.
void Requests::on_cell_ended() {
  called_back_ = std::ranges::any_of(requests_, [](const auto& item) { return calls_back(item.second); });
}

bool Requests::any_waits() const {
  return std::ranges::any_of(requests_, [](const auto& item) { return !item.second.host; });
}

bool Requests::miss_worker(const HostId& host, const ReplicaReport& report) const {
  const bool ready = reports_.worker_ready(host);
  return std::ranges::any_of(requests_, [&](const auto& item) {
    return item.second.host == host && (!ready || item.second.worker_pid != report.worker_pid);
  });
}

void Requests::remember_answered(const std::string& msg_id) {
  answered_.push_back(msg_id);
  if (answered_.size() > kAnsweredKept) answered_.pop_front();
}

}  // namespace banyan::node
