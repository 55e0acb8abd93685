// Time of the scheduler's decisions, by size of the platform: cells that come, end and are asked for again
// while all GPUs are bound and others wait, new sessions, and the tick.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "cli/table/table.h"
#include "core/schedule/scheduler.h"
#include "figures.h"

namespace banyan::bench {
namespace {

using nlohmann::json;
using namespace banyan::schedule;  // NOLINT(google-build-using-namespace)

constexpr std::uint64_t kReplicas = 3, kSessionsPerHost = 10, kDevices = 8, kOwners = 100;
constexpr double kGoalUs = 100;

struct Options {
  std::vector<std::uint64_t> hosts{10, 30, 100, 300, 1000, 3000, 10'000};
  std::uint64_t cells = 20'000;
  bool json = false;
};

/// Times of one kind of event, in microseconds.
class Times {
 public:
  void add(double us) { us_.push_back(us); }
  double at(double share) {
    if (us_.empty()) return 0;
    const auto place = us_.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(us_.size() - 1));
    std::ranges::nth_element(us_, place);
    return *place;
  }

 private:
  std::vector<double> us_;
};

/// A platform whose GPUs are all bound, with one cell for each host in the queue. The caller of the scheduler
/// is a gateway: it carries out each decision, and says so.
class Platform {
 public:
  explicit Platform(std::uint64_t hosts)
      : hosts_(hosts), scheduler_({.replicas = kReplicas, .default_kernel = "python3"}) {
    for (std::uint64_t host = 0; host < hosts; ++host) {
      step(HostAdded{id(host)});
      step(HostChanged{id(host), cluster::HostState::kUp});
      cluster::Capacity capacity{.cpus = 64, .gpus = kDevices};
      for (std::uint64_t device = 0; device < kDevices; ++device)
        capacity.devices.push_back({.id = {"nvidia" + std::to_string(device)}});
      step(HostReported{id(host), std::move(capacity), {}});
    }
    for (std::uint64_t number = 0; number < hosts * kSessionsPerHost; ++number) add_session();
    while (queued_ < hosts_) begin_a_cell();
  }

  /// A cell ends and another one comes, so that as many wait as before.
  void turn() {
    end_a_cell();
    while (queued_ < hosts_) begin_a_cell();
  }
  void tick() {
    now_.mono += 50ms;
    timed(ticks, TimePassed{});
  }
  void ask_for_a_session() {
    const SessionId session{"new" + std::to_string(sessions_.size())};
    timed(places, SessionAsked{session, {"python3", {.gpus = 1}}});
    step(SessionClosed{session});
  }

  Times cells, places, ticks;

 private:
  enum class State : std::uint8_t { kIdle, kRuns, kWaits };
  struct Session {
    SessionId id;
    std::vector<HostId> hosts;
    cluster::Demand demand;
    State state = State::kIdle;
  };

  static HostId id(std::uint64_t host) { return {"host" + std::to_string(host)}; }

  void add_session() {
    Session session{.id = {"session" + std::to_string(sessions_.size())}};
    while (session.hosts.size() < std::min(kReplicas, hosts_)) {
      const HostId host = id(rng_.below(hosts_));
      if (std::ranges::find(session.hosts, host) == session.hosts.end()) session.hosts.push_back(host);
    }
    const std::uint64_t dice = rng_.below(100);
    session.demand.gpus = dice < 80 ? 1 : dice < 95 ? 2 : 4;
    const std::string owner = "user" + std::to_string(rng_.below(kOwners));
    step(SessionHolds{
        session.id, {"python3", session.demand, owner}, {session.hosts.begin(), session.hosts.end()}});
    numbers_[session.id] = sessions_.size();
    sessions_.push_back(std::move(session));
  }

  void begin_a_cell() {
    std::size_t number = rng_.below(sessions_.size());
    while (sessions_[number].state != State::kIdle) number = rng_.below(sessions_.size());
    offer(number);
  }

  void end_a_cell() {
    std::size_t number = rng_.below(sessions_.size());
    while (sessions_[number].state != State::kRuns) number = rng_.below(sessions_.size());
    sessions_[number].state = State::kIdle;
    timed(cells, CellEnded{sessions_[number].id});
  }

  void offer(std::size_t number) {
    Session& session = sessions_[number];
    CellWaits waits{.session = session.id,
                    .offer = ++offers_,
                    .demand = session.demand,
                    .replicas = {},
                    .declined = {},
                    .move_takes = 1s};
    for (std::size_t i = 0; i < session.hosts.size(); ++i)
      waits.replicas.push_back(
          {.replica = {i + 1}, .host = session.hosts[i], .executed_last = i == 0, .worker_ready = true});
    timed(cells, std::move(waits));
  }

  void timed(Times& times, Event event) {
    const auto begun = std::chrono::steady_clock::now();
    std::vector<Decision> decisions = scheduler_.step(now_, std::move(event));
    times.add(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begun).count());
    for (Decision& decision : decisions)
      if (const auto* cell = std::get_if<CellDecision>(&decision)) carry_out(*cell);
  }
  void step(Event event) {
    Times unwanted;
    timed(unwanted, std::move(event));
  }

  void carry_out(const CellDecision& decision) {
    const std::size_t number = numbers_.at(decision.session);
    Session& session = sessions_[number];
    const State before = session.state;
    if (std::holds_alternative<AskAgain>(decision.what)) return offer(number);
    session.state = std::holds_alternative<StartCell>(decision.what) ? State::kRuns : State::kWaits;
    if (before == State::kWaits) --queued_;
    if (session.state == State::kWaits) ++queued_;
    now_.mono += 1ms;
  }

  std::uint64_t hosts_;
  Rng rng_{7};
  Now now_{.mono = Time{} + 1h, .wall = {1'000'000'000'000}};
  Scheduler scheduler_;
  std::vector<Session> sessions_;
  std::map<SessionId, std::size_t> numbers_;
  std::uint64_t queued_ = 0;
  std::uint64_t offers_ = 0;
};

json measure(const Options& options, std::uint64_t hosts) {
  Platform platform(hosts);
  platform.cells = {};
  for (std::uint64_t cell = 0; cell < options.cells; ++cell) platform.turn();
  for (int i = 0; i < 200; ++i) platform.tick();
  for (int i = 0; i < 200; ++i) platform.ask_for_a_session();
  return {{"hosts", hosts},
          {"sessions", hosts * kSessionsPerHost},
          {"queued", hosts},
          {"p50_us", platform.cells.at(0.5)},
          {"p99_us", platform.cells.at(0.99)},
          {"place_p99_us", platform.places.at(0.99)},
          {"tick_p99_us", platform.ticks.at(0.99)}};
}

int run(const Options& options) {
  json out = {{"rows", json::array()}};
  std::vector<std::vector<cli::Cell>> rows;
  Growth growth{"a decision on a cell at p99, by hosts", {}};
  for (const std::uint64_t hosts : options.hosts) {
    std::fprintf(stderr, "%llu hosts\n", static_cast<unsigned long long>(hosts));
    json row = measure(options, hosts);
    rows.push_back({{std::to_string(hosts)},
                    {std::to_string(hosts * kSessionsPerHost)},
                    {std::to_string(hosts)},
                    {text(row["p50_us"])},
                    against(row["p99_us"], hosts == 1000 ? kGoalUs : 0),
                    {text(row["place_p99_us"])},
                    {text(row["tick_p99_us"])}});
    growth.points.emplace_back(hosts, row["p99_us"].get<double>() / 1000);
    out["rows"].push_back(std::move(row));
  }
  if (options.json) {
    std::printf("%s\n", out.dump().c_str());
    return 0;
  }
  const auto right = cli::Align::kRight;
  std::printf("%s", cli::render({{"hosts of 8 GPUs", right},
                                 {"sessions", right},
                                 {"queued", right},
                                 {"cell p50 us", right},
                                 {"cell p99 us", right},
                                 {"new session p99 us", right},
                                 {"tick p99 us", right}},
                                rows, cli::stdout_wants_colour())
                        .c_str());
  std::fputs(plot({growth}).c_str(), stdout);
  return 0;
}

}  // namespace
}  // namespace banyan::bench

int main(int argc, char** argv) {
  banyan::bench::Options options;
  CLI::App app("Time of the scheduler's decisions, by size of the platform; the goal in brackets.",
               "bench schedule");
  app.add_option("--hosts", options.hosts, "numbers of hosts")->delimiter(',');
  app.add_option("--cells", options.cells, "cells that end, each followed by others")->capture_default_str();
  app.add_flag("--json", options.json, "one JSON object on stdout and nothing else");
  CLI11_PARSE(app, argc, argv);
  return banyan::bench::run(options);
}
