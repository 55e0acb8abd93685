#include "node/gateway_restarts.h"

#include "node/gateway_answers.h"

namespace banyan::node {

namespace {
constexpr Duration kRestartMax = 30s;  // below the request timeout of stock clients, 42 s
constexpr Duration kRestartAgain = 1s;
constexpr Duration kReportsCome = 100ms;
}  // namespace

void Restarts::ask(RequestId request) { begin().asked.requests.push_back(request); }

void Restarts::ask(const ClientId& client, const jupyter::Message& request) {
  begin().asked.shutdowns.emplace_back(client, request);
}

Restarts::Current& Restarts::begin() {
  last_use_.note();
  if (!current_) {
    const std::uint64_t restart = ++record_.restarts;
    current_ =
        Current{.asked = {.restart = restart, .requests = {}, .shutdowns = {}}, .since = gateway_.now().mono};
    cells_.pause();
    gateway_.store(session_key(record_.id), to_record(record_), record_.id, RestartNoted{restart});
  }
  return *current_;
}

void Restarts::on_noted(std::uint64_t restart) {
  if (!current_ || current_->asked.restart != restart) return;
  current_->noted = true;
  send();
}

/// Whoever is asked may be down, or leave the session: all are asked.
void Restarts::send() {
  current_->sent_at = gateway_.now().mono;
  for (const auto& [replica, host] : record_.committed) {
    if (gateway_.usable(host)) gateway_.send(host, Restart{record_.id, current_->asked.restart});
  }
}

void Restarts::on_committed(const Restarted& answer) {
  if (current_ && current_->asked.restart == answer.request && !current_->committed_at)
    current_->committed_at = gateway_.now().mono;
}

std::optional<Restarts::Asked> Restarts::watch() {
  if (!current_) return std::nullopt;
  const Time now = gateway_.now().mono;
  if (current_->committed_at) {
    // Clients expect a kernel that is ready; reports of the workers before are older than this.
    const bool reported = now - *current_->committed_at >= kReportsCome;
    if (reported && (reports_.worker_ready() || reports_.suspended())) return finish();
  } else if (current_->noted && now - current_->sent_at >= kRestartAgain) {
    send();
  }
  if (now - current_->since >= kRestartMax) answer_late();
  return std::nullopt;
}

Restarts::Asked Restarts::finish() {
  Asked finished = std::move(current_->asked);
  current_.reset();
  cells_.on_restarted(finished.restart);
  return finished;
}

/// The hosts go on with the restart after its time; only whoever waits by REST is told.
void Restarts::answer_late() {
  const std::string why = outage_.reason();
  const std::string text = "The restart has not finished within 30 s and goes on. " +
                           (why.empty() ? "Look at the kernel's state again later." : why);
  for (const RequestId request : std::exchange(current_->asked.requests, {}))
    gateway_.emit(error_reply(request, 504, text));
}

void Restarts::close() {
  if (!current_) return;
  for (const RequestId request : current_->asked.requests) gateway_.emit(ended_reply(request));
}

}  // namespace banyan::node
