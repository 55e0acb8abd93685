#include "node/gateway_context.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace banyan::node {

GatewayContext::GatewayContext(GatewayConfig config, Incarnation life, std::uint64_t seed)
    : config_(std::move(config)),
      life_(life),
      rng_(seed),
      scheduler_({.replicas = config_.replicas,
                  .default_kernel = config_.default_kernel,
                  .placement = config_.placement,
                  .executor_choice = config_.executor_choice,
                  .elect = config_.elect,
                  .suspend_after = config_.suspend_after,
                  .subscription_limit = config_.subscription_limit,
                  .gpus_per_user = config_.gpus_per_user,
                  .gpu_hours_per_user = std::chrono::hours(config_.gpu_hours_per_user)}) {
  CHECK(!config_.token.empty(), "a gateway without a token would let nobody in");
}

void GatewayContext::set_now(const Now& now) {
  now_ = now;
  if (!started_) started_ = now;
}

void GatewayContext::add_host(const HostId& host) {
  hosts_.try_emplace(host, PeerHost{.heard_or_start = now_.mono});
  links_.try_emplace(host, life_, config_.timing, config_.sizes);
  tell(schedule::HostAdded{host});
}

void GatewayContext::remove_host(const HostId& host) {
  hosts_.erase(host);
  // Another host may come under this name.
  if (const auto link = links_.find(host); link != links_.end()) link->second.forget_unheard();
  tell(schedule::HostRemoved{host});
}

void GatewayContext::send(const HostId& to, PeerMessage message) {
  if (hosts_.contains(to)) links_.at(to).send(std::move(message));
}

void GatewayContext::store(std::string key, std::string value) {
  emit(Store{0, std::move(key), std::move(value)});
}

void GatewayContext::store(std::string key, std::string value, const SessionId& session, Noted noted) {
  store(std::move(key), std::move(value), std::pair(session, noted));
}

void GatewayContext::store(std::string key, std::string value, Waiting waiting) {
  waiting_.emplace(++last_token_, std::move(waiting));
  emit(Store{last_token_, std::move(key), std::move(value)});
}

std::optional<GatewayContext::Waiting> GatewayContext::noted(std::uint64_t token) {
  const auto found = waiting_.find(token);
  if (found == waiting_.end()) return std::nullopt;
  auto result = std::move(found->second);
  waiting_.erase(found);
  return result;
}

Duration GatewayContext::silence(const HostId& host) const {
  const auto found = hosts_.find(host);
  return now_.mono - (found == hosts_.end() ? started_->mono : found->second.heard_or_start);
}

const ReplicaReport* GatewayContext::report_of(const HostId& host, const SessionId& session) const {
  const auto peer = hosts_.find(host);
  if (peer == hosts_.end()) return nullptr;
  const auto report = peer->second.replicas.find(session);
  return report == peer->second.replicas.end() ? nullptr : &report->second;
}

/// Jupyter's clients say for whom a kernel is started by this variable (Enterprise Gateway's convention).
cluster::SessionKind GatewayContext::kind_of(const session::Spec& spec) const {
  const auto kernel = std::ranges::find(config_.kernel_specs, spec.kernel_name, &KernelSpec::name);
  const auto said = [&](const char* name) {
    const auto found = spec.env.find(name);
    return found == spec.env.end() ? std::string() : found->second;
  };
  const auto policy = schedule::SessionPolicy::parse(said(kPolicyVariable));
  return {.kernel = spec.kernel_name,
          .demand = kernel == config_.kernel_specs.end() ? cluster::Demand{} : kernel->demand,
          .owner = said("KERNEL_USERNAME"),
          .reserves_devices = policy && policy->reserves_devices,
          .rests_at_once = policy && policy->rests_at_once};
}

void GatewayContext::tell(schedule::Event event) {
  for (schedule::Decision& decision : scheduler_.step(now_, std::move(event)))
    decisions_.push_back(std::move(decision));
}

std::optional<schedule::Decision> GatewayContext::take_decision() {
  if (decisions_.empty()) return std::nullopt;
  schedule::Decision oldest = std::move(decisions_.front());
  decisions_.pop_front();
  return oldest;
}

std::vector<GatewayEffect> GatewayContext::finish() {
  // Frames first: somebody waits for them, while nobody waits for the store in the same step.
  std::vector<GatewayEffect> effects;
  for (const auto& [id, host] : hosts_) {
    while (auto frame = links_.at(id).poll(now_.mono)) effects.emplace_back(SendFrame{id, std::move(*frame)});
  }
  std::move(effects_.begin(), effects_.end(), std::back_inserter(effects));
  effects_.clear();
  return effects;
}

}  // namespace banyan::node
