#include "sim/schedule.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "sim/checkers.h"
#include "sim/conditions.h"
#include "sim/nemesis.h"
#include "sim/notebook.h"
#include "sim/reinstalls.h"
#include "sim/server.h"
#include "sim/transfer_checks.h"

namespace banyan::sim {

namespace {

// How long a healed fleet may take. "Healed" means that everything runs that is not lost for good.
constexpr Duration kNoProgress = 60s;  // longer without any answer is a violation of P4
constexpr Duration kFoundAgain = 3s;   // until daemons have noticed each other and clients have reconnected
constexpr Duration kReplaced =
    100s;                         // until lost replicas are replaced: the gateway waits a minute for values
constexpr Duration kSilent = 9s;  // until the gateway replaces what it has asked for on a lost host
constexpr Duration kDrained = 120s;  // until a host that is drained holds nothing
constexpr Duration kServes = 12s;    // until a new cell is answered: ten election timeouts
constexpr Duration kNamed =
    30s;  // longer, where a host is lost that may have had a large value: it is waited for
constexpr Duration kCarried =
    30s;                         // until sessions are exported and imported, by clients that take their time
constexpr Duration kQuiet = 4s;  // until the replicas are alike
constexpr Duration kSlice = 250ms;  // how often the progress is looked at

/// The whole schedule: storm, healing, last cells, verdict (docs/internals/simulator.md).
class World {
 public:
  explicit World(const ScheduleOptions& options)
      : rng_(options.seed),
        conditions_(draw_conditions(rng_.fork(), options.cells)),
        trace_(scheduler_, options.trace),
        network_(scheduler_, rng_.fork(), trace_, options.codec_share),
        checkers_(scheduler_, trace_),
        births_(checkers_.oracle()),
        store_(make_store(options)),
        transfers_(
            checkers_.oracle(), store_.get(), [this](const Digest& chunk) { return places_of(chunk); },
            [this](const std::string& what) { checkers_.violation(what); }),
        plant_(options.plant) {
    checkers_.expect_gpus(conditions_.gpus);
    if (conditions_.pending) checkers_.expect_pending(conditions_.sizes.durable_inline);
    make_hosts(options.whole_ticks);
    make_gateway();
    make_notebooks();
    nemesis_ = std::make_unique<Nemesis>(scheduler_, rng_.fork(), trace_,
                                         Fleet{network_, hosts_, *gateway_, checkers_.oracle(), store_.get()},
                                         conditions_.weather, options.faults);
    births_.on_birth([this](const HostId& host) { nemesis_->founded(host); });
    checkers_.on_reply([this](const SessionId& session) { nemesis_->replied(session); });
    transfers_.on_step([this](const SessionId& session) { nemesis_->transfers(session); });
  }

  ScheduleResult run() {
    for (auto& host : hosts_) host->start();
    gateway_->start();
    for (auto& notebook : notebooks_) notebook->start();
    nemesis_->start();
    while (!all_finished() && scheduler_.now() < conditions_.weather.storm_max && clean())
      scheduler_.run_until(scheduler_.now() + kSlice);
    nemesis_->heal();
    healed_at_ = scheduler_.now();
    for (auto& notebook : notebooks_) notebook->settle();
    const bool finished = clean() && finish_cells();
    if (finished && serve_last_cells()) judge();
    if (finished && clean() && conditions_.plan.carries > 0 && carry_over() && serve_last_cells())
      judge_sessions();
    return result();
  }

 private:
  /// Its randomness is its own: schedules without a store are what they were before there was one.
  std::unique_ptr<DataStore> make_store(const ScheduleOptions& options) {
    if (!conditions_.store) return nullptr;
    return std::make_unique<DataStore>(scheduler_, Rng(options.seed ^ 0xda7a570e), trace_, options.plant,
                                       [this](const std::string& what) { checkers_.violation(what); });
  }

  [[nodiscard]] Surroundings surroundings() { return {scheduler_, trace_, network_, plant_, store_.get()}; }

  HostClock random_clock(std::size_t place) {
    double rate = 0.99 + rng_.uniform() * 0.02;
    if (plant_ == Plant::kClockRunsFast) rate = place % 2 == 0 ? 0.5 : 1.5;
    return {rate, Duration(rng_.below(1'000'000'000'000)),
            Duration(rng_.below(7'200'000'000'000)) - Duration(1h)};
  }

  void make_hosts(bool whole_ticks) {
    std::set<HostId> peers{node::kGateway};
    for (std::uint64_t i = 1; i <= conditions_.hosts; ++i) ids_.push_back({"h" + std::to_string(i)});
    if (!conditions_.hosts_register) peers.insert(ids_.begin(), ids_.end());
    for (std::uint64_t i = 1; i <= conditions_.hosts; ++i) {
      const node::HostConfig config{.id = ids_[i - 1],
                                    .timing = conditions_.timing,
                                    .sizes = conditions_.sizes,
                                    .store = conditions_.store ? "store" : "",
                                    .devices = Devices(conditions_.devices).list(),
                                    .whole_ticks = whole_ticks};
      hosts_.push_back(std::make_unique<HostServer>(surroundings(), rng_.fork(), config, random_clock(i),
                                                    peers, births_, checkers_));
      network_.attach(config.id, *hosts_.back());
    }
  }

  void make_gateway() {
    node::GatewayConfig config;
    if (!conditions_.hosts_register)
      for (const HostId& id : ids_) config.hosts[id] = address_of(id);
    config.token = "secret";
    config.kernel_specs = {{.name = "python3",
                            .spec_json = R"({"argv":[],"display_name":"Python 3","language":"python"})",
                            .files = {},
                            .demand = {.gpus = conditions_.gpus}}};
    config.timing = conditions_.timing;
    config.sizes = conditions_.sizes;
    if (conditions_.warm) config.standbys = session::Standbys::kWarm;
    config.elect = conditions_.elects;
    config.session_policy = conditions_.session_policy;
    if (conditions_.pending) config.durability = session::Durability::kAsync;
    config.keep.inline_values = conditions_.keep_inline;
    config.keep.values = conditions_.keep;
    gateway_ = std::make_unique<GatewayServer>(surroundings(), rng_.fork(), config, random_clock(0));
    network_.attach(node::kGateway, *gateway_);
    gateway_->on_death([this] {
      for (auto& notebook : notebooks_) notebook->gateway_died();
    });
  }

  void make_notebooks() {
    for (std::uint64_t i = 0; i < conditions_.notebooks; ++i) {
      notebooks_.push_back(std::make_unique<Notebook>(
          scheduler_, rng_.fork(), trace_, gateway_->front(), gateway_->clock(), checkers_, transfers_,
          store_.get(), std::string(1, static_cast<char>('A' + i)), conditions_.plan));
    }
  }

  [[nodiscard]] bool clean() const { return checkers_.violations().empty(); }
  [[nodiscard]] bool all_finished() const {
    return std::all_of(notebooks_.begin(), notebooks_.end(), [](const auto& n) { return n->finished(); });
  }
  [[nodiscard]] std::size_t answered() const {
    std::size_t sum = 0;
    for (const auto& notebook : notebooks_) sum += notebook->answered();
    return sum;
  }

  /// Of two replicas one was lost with its host, before a commit was known. Then the session may never have
  /// had a majority: its kernel is answered before its replicas have opened. Nothing is lost but the kernel.
  [[nodiscard]] bool never_began(const SessionId& session) {
    const std::vector<HostId> members = checkers_.oracle().hosts(session);
    const auto is_lost = [&](const auto& host) {
      return host->lost() && std::ranges::find(members, host->id()) != members.end();
    };
    return members.size() == 2 && checkers_.oracle().stands_at(session).last == CommitId{} &&
           std::ranges::any_of(hosts_, is_lost);
  }

  bool finish_cells() {
    std::size_t before = answered();
    TrueTime since = scheduler_.now();
    while (!all_finished()) {
      scheduler_.run_until(scheduler_.now() + kSlice);
      if (!clean()) return false;
      if (const std::size_t now = answered(); now > before) {
        before = now;
        since = scheduler_.now();
      } else if (scheduler_.now() - since > kNoProgress) {
        for (const auto& notebook : notebooks_) {
          if (!notebook->finished() && !never_began(notebook->session()))
            checkers_.violation("P4: healed, and no answer comes: " + notebook->state());
        }
        return false;
      }
    }
    return true;
  }

  bool serve_last_cells() {
    scheduler_.run_until(scheduler_.now() + kFoundAgain);
    std::vector<ExecutionId> last;
    for (auto& notebook : notebooks_) last.push_back(notebook->last_cell());
    const TrueTime since = scheduler_.now();
    const bool may_lack = conditions_.pending && !nemesis_->lost().empty();
    const Duration most = kServes + (may_lack ? kNamed : Duration());
    while (!all_finished() && clean() && scheduler_.now() - since < most)
      scheduler_.run_until(scheduler_.now() + kSlice);
    for (std::size_t i = 0; i < notebooks_.size(); ++i) {
      const CellRecord& cell = notebooks_[i]->cells().at(last[i]);
      if (cell.replies == 0)
        checkers_.violation("P4: healed, and a new cell is not answered: " + notebooks_[i]->state());
      if (cell.replies > 0 && cell.status != "ok")
        checkers_.violation("P4: healed, and a new cell ends with " + cell.reply);
    }
    return clean();
  }

  /// Waits for moves to end. A move may end with a reason why it cannot be, but it must end.
  void await_moves() {
    const TrueTime since = scheduler_.now();
    const auto moving = [](const auto& notebook) { return notebook->moving(); };
    while (std::ranges::any_of(notebooks_, moving) && clean() && scheduler_.now() - since < kNoProgress)
      scheduler_.run_until(scheduler_.now() + kSlice);
    for (const auto& notebook : notebooks_) {
      if (notebook->moving()) checkers_.violation("P4: healed, and a move has no end: " + notebook->state());
    }
  }

  /// Waits until no session's log names a replica whose disk is lost. One that the gateway has asked for on a
  /// host that is lost, and that no log names yet, is replaced too.
  void await_replacements() {
    if (!nemesis_->lost().empty() && scheduler_.now() < healed_at_ + kSilent)
      scheduler_.run_until(healed_at_ + kSilent);
    const TrueTime since = scheduler_.now();
    const auto waits = [this](const auto& notebook) {
      if (!checkers_.oracle().forgetful(notebook->session()).empty()) return true;
      return std::ranges::any_of(checkers_.oracle().hosts(notebook->session()),
                                 [this](const HostId& host) { return nemesis_->lost().contains(host); });
    };
    while (std::ranges::any_of(notebooks_, waits) && clean() && scheduler_.now() - since < kReplaced)
      scheduler_.run_until(scheduler_.now() + kSlice);
    for (const auto& notebook : notebooks_) {
      if (waits(notebook))
        checkers_.violation("P4: healed, and a replica is on a host that is lost: " + notebook->state());
    }
    if (nemesis_->reinstalls()) checkers_.violation("P4: healed, and a host is not taken back");
  }

  /// Waits until no session's log names a replica on the host that is drained.
  void await_drained() {
    nemesis_->drain_one();
    if (!nemesis_->drained()) return;
    const HostId& drained = *nemesis_->drained();
    const TrueTime since = scheduler_.now();
    const auto waits = [&](const auto& notebook) {
      return std::ranges::count(checkers_.oracle().hosts(notebook->session()), drained) > 0;
    };
    while (std::ranges::any_of(notebooks_, waits) && clean() && scheduler_.now() - since < kDrained)
      scheduler_.run_until(scheduler_.now() + kSlice);
    for (const auto& notebook : notebooks_) {
      if (waits(notebook))
        checkers_.violation("healed, and a replica stays on " + drained.value +
                            ", which is drained: " + notebook->state());
    }
  }

  /// At last each session is exported, and goes on as another one. Nothing is broken any more.
  bool carry_over() {
    for (auto& notebook : notebooks_) notebook->carry_over();
    const TrueTime since = scheduler_.now();
    const auto carrying = [](const auto& notebook) { return notebook->carrying(); };
    while (std::ranges::any_of(notebooks_, carrying) && clean() && scheduler_.now() - since < kCarried)
      scheduler_.run_until(scheduler_.now() + kSlice);
    for (const auto& notebook : notebooks_) {
      if (carrying(notebook))
        checkers_.violation("P4: healed, and an export or an import has no end: " + notebook->state());
    }
    return clean();
  }

  [[nodiscard]] std::vector<TransferChecks::Place> places_of(const Digest& chunk) const {
    std::vector<TransferChecks::Place> places;
    for (const auto& host : hosts_) {
      const Disk& disk = host->disk();
      const bool here = disk.chunks().contains(chunk);
      places.push_back({.host = host->id(),
                        .life = host->life(),
                        .here = here || host->forgot(),
                        .known = disk.stored_in(chunk) == host->life(),
                        .damaged = here && !disk.whole(chunk)});
    }
    return places;
  }

  /// Waits until hosts have read what imports have left in the data store.
  void await_chunks() {
    const TrueTime since = scheduler_.now();
    const auto lacking = std::make_shared<bool>(conditions_.store);
    while (*lacking && clean() && scheduler_.now() - since < kNoProgress) {
      gateway_->front().request("GET", "/api/banyan/sessions", "", [lacking](int, const std::string& body) {
        *lacking = body.empty() || any_lacks(body);
      });
      scheduler_.run_until(scheduler_.now() + kSlice);
    }
    if (*lacking) checkers_.violation("P4: healed, and hosts lack chunks that the data store has");
  }

  /// Whether a list of sessions tells of a replica that lacks chunks.
  static bool any_lacks(const std::string& sessions) {
    static constexpr std::string_view kLacking = "\"lacking\":";
    for (std::size_t at = sessions.find(kLacking); at != std::string::npos;
         at = sessions.find(kLacking, at + 1)) {
      const char digit = sessions[at + kLacking.size()];
      if (digit >= '1' && digit <= '9') return true;
    }
    return false;
  }

  void judge() {
    await_moves();
    await_replacements();
    await_drained();
    await_chunks();
    judge_sessions();
  }

  /// A session that nobody uses may be suspended at any moment, and its followers end their workers when they
  /// hear of it. Each session is suspended once here, because nothing happens in it any more.
  void await_rest() {
    const auto suspended = [this] {
      return std::ranges::count_if(notebooks_, [this](const auto& notebook) {
        return checkers_.oracle().suspended(notebook->session());
      });
    };
    for (std::ptrdiff_t before = -1, now = 0; before != now && clean(); now = suspended()) {
      before = suspended();
      scheduler_.run_until(scheduler_.now() + kQuiet);
    }
  }

  void judge_sessions() {
    await_rest();
    for (const auto& notebook : notebooks_) {
      checkers_.judge(*notebook);
      const CommittedCell* const last =
          checkers_.oracle().find(notebook->session(), notebook->order().back());
      std::optional<HostId> whole;
      if (notebook->lacks_head() && last != nullptr) whole = last->executor;
      checkers_.judge_replicas(notebook->session(), conditions_.warm, whole);
    }
    transfers_.judge();
    for (const std::string& failure : network_.codec_failures()) checkers_.violation("codec: " + failure);
  }

  ScheduleResult result() {
    ScheduleResult result;
    result.cells = answered();
    result.events = scheduler_.executed();
    result.faults = nemesis_->strikes();
    result.lost = nemesis_->lost().size();
    result.transfers = transfers_.ended_well();
    result.from_store = store_ ? store_->given() : 0;
    result.took = scheduler_.now();
    result.trace_hash = trace_.hash();
    result.violations = checkers_.violations();
    return result;
  }

  Scheduler scheduler_;
  Rng rng_;
  Conditions conditions_;
  Trace trace_;
  Network network_;
  Checkers checkers_;
  Births births_;
  std::unique_ptr<DataStore> store_;
  TransferChecks transfers_;
  Plant plant_;
  TrueTime healed_at_{};
  std::vector<HostId> ids_;
  std::vector<std::unique_ptr<HostServer>> hosts_;
  std::unique_ptr<GatewayServer> gateway_;
  std::vector<std::unique_ptr<Notebook>> notebooks_;
  std::unique_ptr<Nemesis> nemesis_;
};

}  // namespace

ScheduleResult run_schedule(const ScheduleOptions& options) {
  World world(options);
  ScheduleResult result = world.run();
  result.seed = options.seed;
  return result;
}

}  // namespace banyan::sim
