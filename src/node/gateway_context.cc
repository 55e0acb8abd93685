#include "node/gateway_context.h"

#include <iterator>
#include <utility>

#include "base/check.h"

namespace banyan::node {

GatewayContext::GatewayContext(GatewayConfig config, Incarnation life, std::uint64_t seed)
    : config_(std::move(config)), rng_(seed) {
  CHECK(!config_.token.empty(), "a gateway without a token would let nobody in");
  auto place = placement::placement_named(config_.placement);
  CHECK(place.has_value(), "the daemon checks the policy's name before");
  placement_ = std::move(*place);
  auto choose = placement::executor_choice_named(config_.executor_choice);
  CHECK(choose.has_value(), "the daemon checks the policy's name before");
  executor_choice_ = std::move(*choose);
  for (const HostId& host : config_.hosts) {
    hosts_.try_emplace(host, PeerHost{.link = Link(life, config_.timing, config_.sizes)});
  }
}

void GatewayContext::set_now(const Now& now) {
  now_ = now;
  if (started_) return;
  started_ = true;
  started_at_ = now.mono;
  for (auto& [id, host] : hosts_) host.heard_or_start = now.mono;
}

void GatewayContext::send(const HostId& to, PeerMessage message) {
  const auto host = hosts_.find(to);
  if (host != hosts_.end()) host->second.link.send(std::move(message));
}

void GatewayContext::store(std::string key, std::string value) {
  emit(Store{0, std::move(key), std::move(value)});
}

void GatewayContext::store(std::string key, std::string value, const SessionId& session, Noted noted) {
  waiting_.emplace(++last_token_, std::pair(session, noted));
  emit(Store{last_token_, std::move(key), std::move(value)});
}

std::optional<std::pair<SessionId, Noted>> GatewayContext::noted(std::uint64_t token) {
  const auto found = waiting_.find(token);
  if (found == waiting_.end()) return std::nullopt;
  auto result = std::move(found->second);
  waiting_.erase(found);
  return result;
}

bool GatewayContext::usable(const HostId& host) const {
  const auto found = hosts_.find(host);
  return found != hosts_.end() && found->second.up && found->second.reported;
}

Duration GatewayContext::silence(const HostId& host) const {
  const auto found = hosts_.find(host);
  return now_.mono - (found == hosts_.end() ? started_at_ : found->second.heard_or_start);
}

const ReplicaReport* GatewayContext::report_of(const HostId& host, const SessionId& session) const {
  const auto peer = hosts_.find(host);
  if (peer == hosts_.end()) return nullptr;
  const auto report = peer->second.replicas.find(session);
  return report == peer->second.replicas.end() ? nullptr : &report->second;
}

std::uint64_t GatewayContext::gpus_of(const HostId& host) const {
  const auto peer = hosts_.find(host);
  return peer == hosts_.end() ? 0 : peer->second.figures.gpus;
}

placement::HostLoad GatewayContext::load_of(const HostId& host) const {
  placement::HostLoad load{.host = host};
  const auto peer = hosts_.find(host);
  if (peer == hosts_.end()) return load;
  load.replicas = peer->second.assigned;
  load.cells = peer->second.cells;
  load.cpus = peer->second.figures.cpus;
  load.memory_bytes = peer->second.figures.memory_bytes;
  return load;
}

std::vector<GatewayEffect> GatewayContext::finish() {
  // Frames first: somebody waits for them, while nobody waits for the store in the same step.
  std::vector<GatewayEffect> effects;
  for (auto& [id, host] : hosts_) {
    while (auto frame = host.link.poll(now_.mono)) effects.emplace_back(SendFrame{id, std::move(*frame)});
  }
  std::move(effects_.begin(), effects_.end(), std::back_inserter(effects));
  effects_.clear();
  return effects;
}

}  // namespace banyan::node
