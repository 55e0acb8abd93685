#include "sim/reinstalls.h"

#include <string>
#include <variant>
#include <vector>

namespace banyan::sim {

namespace {
constexpr Duration kAskAgain = 200ms;  // of a gateway that does not answer

/// A host that the gateway has never heard of needs no removal, and registers itself.
bool is_done(int status) { return status == 204 || status == 404; }
}  // namespace

void Births::durable(const HostId& host, const std::vector<node::DiskWrite>& batch) {
  watcher_.durable(host, batch);
  for (const node::DiskWrite& write : batch) {
    const auto* const put = std::get_if<node::PutSnapshot>(&write);
    if (put != nullptr && put->snapshot.index.value == 1) on_birth_(host);
  }
}

void Reinstalls::begin(HostServer& host, Pace pace) {
  const HostId id = host.id();
  host.lose();
  oracle_.lost_disk(id);
  away_[id] = {.host = &host, .pace = pace};
  scheduler_.after(pace.noticed, [this, id] { remove(id); });
}

void Reinstalls::hurry() {
  std::vector<HostId> all;
  for (auto& [id, away] : away_) {
    away.pace.installed = 0s;
    all.push_back(id);
  }
  for (const HostId& id : all) {
    remove(id);
    come_back(id);
  }
}

/// The agent that has the new key is heard when its name belongs to no other key: so the removal comes first.
void Reinstalls::remove(const HostId& host) {
  const auto found = away_.find(host);
  if (found == away_.end() || found->second.step != Step::kDown) return;
  found->second.step = Step::kRemoving;
  ask_removal(host);
}

void Reinstalls::ask_removal(const HostId& host) {
  front_.request("DELETE", "/api/banyan/hosts/" + host.value + "?force=true", "",
                 [this, host](int status, const std::string&) {
                   if (!is_done(status))
                     return scheduler_.after(kAskAgain, [this, host] { ask_removal(host); });
                   Away& away = away_.at(host);
                   away.step = Step::kRemoved;
                   scheduler_.after(away.pace.installed, [this, host] { come_back(host); });
                 });
}

void Reinstalls::come_back(const HostId& host) {
  const auto found = away_.find(host);
  if (found == away_.end() || found->second.step != Step::kRemoved) return;
  found->second.step = Step::kReturning;
  if (found->second.pace.starts_first) found->second.host->install_anew();
  take_back(host);
}

void Reinstalls::take_back(const HostId& host) {
  front_.request("POST", "/api/banyan/hosts", R"({"host":")" + host.value + R"("})",
                 [this, host](int status, const std::string&) {
                   if (is_done(status)) return end(host);
                   scheduler_.after(kAskAgain, [this, host] { take_back(host); });
                 });
}

void Reinstalls::end(const HostId& host) {
  const Away away = away_.at(host);
  away_.erase(host);
  if (!away.pace.starts_first) away.host->install_anew();
}

}  // namespace banyan::sim
