// Ten times more cells that want GPUs than there are GPUs: who gets them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/random.h"
#include "core/schedule/scheduler.h"

namespace banyan::schedule {
namespace {

constexpr std::uint64_t kSeed = 20261130, kHosts = 4, kDevices = 8, kOwners = 10;
constexpr Duration kWindow = 60s, kLength = 20min;

/// Sessions that always have a cell to run: of each owner another number of them, with cells of another
/// length.
class Overload {
 public:
  explicit Overload(std::uint64_t replicas) : rng_(kSeed), scheduler_({.replicas = replicas}) {
    for (std::uint64_t n = 0; n < kHosts; ++n) {
      const HostId host{"h" + std::to_string(n)};
      step(HostAdded{host});
      step(HostChanged{host, cluster::HostState::kUp});
      HostReported report{.host = host, .capacity = {}, .kernels = {}};
      for (std::uint64_t device = 0; device < kDevices; ++device)
        report.capacity.devices.push_back({.id = {std::to_string(device)}});
      step(std::move(report));
    }
    for (std::uint64_t owner = 0; owner < kOwners; ++owner)
      for (std::uint64_t n = 0; n < 8 + 6 * owner; ++n) add(owner, n, replicas);
  }

  void run() {
    for (auto& [id, session] : sessions_) ask(id);
    while (now_.mono - Time{} < kLength) {
      now_.mono += 50ms;
      while (!ends_.empty() && ends_.begin()->first <= now_.mono) end(ends_.extract(ends_.begin()).mapped());
      step(TimePassed{});
    }
  }

  /// Jain's index of each window: 1 when all owners had as many GPUs. Without the last windows, of which some
  /// cells have not ended.
  [[nodiscard]] std::vector<double> indices() const {
    std::vector<double> all;
    for (const auto& [window, by_owner] : used_) {
      if (kLength - (window + 1) * kWindow < 2 * kWindow) break;
      double sum = 0, squares = 0;
      for (const double used : by_owner) sum += used, squares += used * used;
      all.push_back(sum * sum / (static_cast<double>(by_owner.size()) * squares));
    }
    return all;
  }
  std::uint64_t started = 0;
  std::uint64_t overtaken =
      0;  ///< cells that began after a later one of the same owner that waited for the same

 private:
  struct Session {
    std::uint64_t owner = 0;
    std::vector<EligibleReplica> replicas;
    std::uint64_t gpus = 1;
    std::uint64_t asked = 0;  ///< the number of its cell among all
    Time began;
    bool runs = false;
  };

  void add(std::uint64_t owner, std::uint64_t n, std::uint64_t replicas) {
    const SessionId id{std::to_string(owner) + "-" + std::to_string(n)};
    Session& session = sessions_[id];
    session.owner = owner;
    session.gpus = replicas == kHosts || n % 3 != 0 ? 1 : 2;
    SessionHolds holds{.session = id, .kind = {.kernel = "", .owner = std::to_string(owner)}, .hosts = {}};
    for (std::uint64_t replica = 0; replica < replicas; ++replica) {
      const HostId host{"h" + std::to_string((n + owner + replica) % kHosts)};
      session.replicas.push_back({.replica = {replica + 1}, .host = host, .worker_ready = true});
      holds.hosts.insert(host);
    }
    step(std::move(holds));
  }
  void ask(const SessionId& id) {
    Session& session = sessions_.at(id);
    if (session.runs) return;
    if (session.asked == 0) session.asked = ++asked_;
    step(CellWaits{.session = id,
                   .offer = 1,
                   .demand = {.gpus = session.gpus},
                   .replicas = session.replicas,
                   .declined = {}});
  }
  void start(const SessionId& id) {
    Session& session = sessions_.at(id);
    session.runs = true;
    session.began = now_.mono;
    ++started;
    for (const auto& [other, one] : sessions_)
      overtaken += one.owner == session.owner && !one.runs && one.asked > 0 && one.asked < session.asked;
    session.asked = 0;
    const double mean_s = 1.0 + 2.0 * static_cast<double>(session.owner % 5);
    ends_.emplace(
        now_.mono + Duration(static_cast<std::int64_t>(-std::log(1 - rng_.uniform()) * mean_s * 1e9)), id);
  }
  void end(const SessionId& id) {
    Session& session = sessions_.at(id);
    session.runs = false;
    for (Time at = session.began; at < now_.mono; at += 50ms) {
      auto& window = used_[(at - Time{}) / kWindow];
      window.resize(kOwners);
      window[session.owner] += static_cast<double>(session.gpus);
    }
    step(CellEnded{id});
    ask(id);
  }
  void step(Event event) {
    for (Decision& decision : scheduler_.step(now_, std::move(event)))
      decisions_.push_back(std::move(decision));
    if (std::exchange(busy_, true)) return;
    for (std::size_t n = 0; n < decisions_.size(); ++n) {
      const auto* const cell = std::get_if<CellDecision>(&decisions_[n]);
      if (cell == nullptr) continue;
      const SessionId id = cell->session;
      if (std::holds_alternative<StartCell>(cell->what))
        start(id);
      else if (std::holds_alternative<AskAgain>(cell->what))
        ask(id);
    }
    decisions_.clear();
    busy_ = false;
  }

  Rng rng_;
  Scheduler scheduler_;
  Now now_{};
  std::map<SessionId, Session> sessions_;
  std::multimap<Time, SessionId> ends_;
  std::map<std::int64_t, std::vector<double>> used_;  ///< by window and owner: GPUs times ticks
  std::vector<Decision> decisions_;
  std::uint64_t asked_ = 0;
  bool busy_ = false;
};

TEST(Fairness, OwnersHaveEqualSharesAndEachOnesCellsComeInOrder) {
  Overload overload(kHosts);
  overload.run();
  const std::vector<double> indices = overload.indices();
  ASSERT_EQ(indices.size(), 18U);
  EXPECT_GE(*std::ranges::min_element(indices), 0.95) << "seed " << kSeed;
  EXPECT_GT(overload.started, 5'000U);
  EXPECT_EQ(overload.overtaken, 0U);
}

TEST(Fairness, SharesAreAboutEqualWhereSessionsAreOnSomeHostsAndNeedSeveralGpus) {
  Overload overload(3);
  overload.run();
  const std::vector<double> indices = overload.indices();
  ASSERT_EQ(indices.size(), 18U);
  EXPECT_GE(*std::ranges::min_element(indices), 0.95) << "seed " << kSeed;
}

}  // namespace
}  // namespace banyan::schedule
