// For tests: the commands of the scenario files in tests/schedule/scenarios/.
//
// A line "> command" acts; each line below it is a decision that it leads to.
//   scheduler H.. [replicas N] [placement NAME] [executor NAME] [suspend SECONDS] [elect] [limit GPUS]
//            [hours N]
//            [subscription LIMIT]
//                              hosts that may appear; the default kernel is "python3"; "limit": of one owner
//   host H up|silent|unheard   the host has this state from now on
//   host H added|removed      the host is one of the platform's from now on, also after a drain; or none
//   host H drains [forced]     its replicas are to leave
//   host H has CPUS            the host reports its cpus; its kernels stay as they are
//   host H devices D[!]..      the host reports these devices; "!": faulty
//   host H kernel NAME runs PYTHON | checks | fails REASON
//   kernel NAME gpus N         so many GPUs are needed by each cell of the sessions that come, or say
//                              what they hold, from now on
//   owner NAME                 whose the sessions are that come, or say what they hold, from now on
//   policy NAME                that of the sessions that come, or say what they hold, from now on
//   new S [KERNEL]             a new session wants hosts
//   holds S H..                the session's replicas are on these hosts and nowhere else
//   wants S [avoid H..]        the session wants one replica more, or another one
//   cell S C [declined REASON] [may_begin] [moves_in SECONDS] from N@H[!][*][-]..
//                              a cell waits for one of these replicas; "!": executed last, "*": worker ready,
//                              "-": about to leave. "may_begin": one that was asked may still begin it.
//                              "moves_in": so long it would take to move a replica
//   passes S H                 the replica there was asked and does not run the session's cell
//   runs S H | ends S          a cell of the session runs on the host; none runs any more
//   bound H S [D..]            the host says that a cell of the session has these devices there
//   idle S | busy S            the session is idle from now on; it is not idle any more
//   unreserve S                it was suspended, or moved: what it has reserved is free
//   fails S REASON             the session has not moved its replica
//   busy_moves S REASON        the same, and it may be asked again soon
//   close S                    the session is gone
//   wait SECONDS               time passes, and the scheduler hears it every 50 ms
//   leap SECONDS               time passes, and the scheduler hears it at the end
//   show                       each host with the replicas, cells and devices that the ledger counts there;
//                              then the cells that wait for devices
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/overloaded.h"
#include "base/test_words.h"
#include "core/schedule/scheduler.h"
#include "core/schedule/session_policy.h"

namespace banyan::schedule {

/// A scheduler, and the interpreter of commands.
class World {
 public:
  /// Runs one command and returns the lines that come of it.
  std::string run(const std::string& line) {
    lines_.clear();
    Words words(line);
    const std::string name = words.word();
    const auto command = commands().find(name);
    if (command == commands().end()) return "unknown command " + name + "\n";
    command->second(*this, words);
    if (words.more()) say("unknown word " + words.word());
    return lines_;
  }

 private:
  using Command = std::function<void(World&, Words&)>;

  static const std::map<std::string, Command>& commands() {
    static const std::map<std::string, Command> all = {
        {"scheduler", [](World& w, Words& words) { w.begin(words); }},
        {"host", [](World& w, Words& words) { w.host(words); }},
        {"kernel",
         [](World& w, Words& words) {
           const std::string kernel = words.word();
           words.skip("gpus");
           w.demands_[kernel].gpus = words.number();
         }},
        {"owner", [](World& w, Words& words) { w.owner_ = words.word(); }},
        {"policy", [](World& w, Words& words) { w.policy_ = *SessionPolicy::parse(words.word()); }},
        {"new",
         [](World& w, Words& words) {
           const SessionId session{words.word()};
           w.step(SessionAsked{session, w.kind(session, words.more() ? words.word() : "python3")});
         }},
        {"holds",
         [](World& w, Words& words) {
           const SessionId session{words.word()};
           w.step(SessionHolds{session, w.kind(session, "python3"), w.hosts(words)});
         }},
        {"wants",
         [](World& w, Words& words) {
           const SessionId session{words.word()};
           words.skip("avoid");
           w.step(ReplicaWanted{session, w.hosts(words)});
         }},
        {"cell", [](World& w, Words& words) { w.cell(words); }},
        {"passes",
         [](World& w, Words& words) {
           const SessionId session{words.word()};
           w.step(CellPassedOver{session, {words.word()}});
         }},
        {"runs",
         [](World& w, Words& words) {
           const SessionId session{words.word()};
           w.step(CellRuns{session, {words.word()}});
         }},
        {"bound",
         [](World& w, Words& words) {
           DevicesBound bound{.host = {words.word()}, .session = {words.word()}, .devices = {}};
           for (const std::string& device : words.rest()) bound.devices.insert({device});
           w.step(std::move(bound));
         }},
        {"ends", [](World& w, Words& words) { w.step(CellEnded{{words.word()}}); }},
        {"idle", [](World& w, Words& words) { w.step(SessionIdle{{words.word()}, w.now_.wall}); }},
        {"busy", [](World& w, Words& words) { w.step(SessionIdle{{words.word()}, std::nullopt}); }},
        {"unreserve", [](World& w, Words& words) { w.step(ReservationEnds{{words.word()}}); }},
        {"fails",
         [](World& w, Words& words) {
           const SessionId session{words.word()};
           w.step(MoveFailed{session, joined(words), false});
         }},
        {"busy_moves",
         [](World& w, Words& words) {
           const SessionId session{words.word()};
           w.step(MoveFailed{session, joined(words), true});
         }},
        {"close", [](World& w, Words& words) { w.step(SessionClosed{{words.word()}}); }},
        {"wait", [](World& w, Words& words) { w.wait(std::chrono::seconds(words.number())); }},
        {"leap", [](World& w, Words& words) { w.leap(std::chrono::seconds(words.number())); }},
        {"show", [](World& w, Words&) { w.show(); }},
    };
    return all;
  }

  void say(const std::string& line) { lines_ += line + "\n"; }
  static std::string joined(Words& words) {
    std::string text;
    for (const std::string& word : words.rest()) text += (text.empty() ? "" : " ") + word;
    return text;
  }
  static std::set<HostId> hosts(Words& words) {
    std::set<HostId> all;
    for (const std::string& word : words.rest()) all.insert({word});
    return all;
  }

  cluster::SessionKind kind(const SessionId& session, const std::string& kernel) {
    return {kernel, needs_[session] = demands_[kernel], owner_, policy_.reserves_devices,
            policy_.rests_at_once};
  }

  void begin(Words& words) {
    Settings settings{.default_kernel = "python3"};
    std::vector<HostId> hosts;
    while (words.more()) {
      const std::string word = words.word();
      if (word == "replicas") {
        settings.replicas = words.number();
      } else if (word == "placement") {
        settings.placement = words.word();
      } else if (word == "executor") {
        settings.executor_choice = words.word();
      } else if (word == "suspend") {
        settings.suspend_after = std::chrono::seconds(words.number());
      } else if (word == "limit") {
        settings.gpus_per_user = words.number();
      } else if (word == "hours") {
        settings.gpu_hours_per_user = std::chrono::hours(words.number());
      } else if (word == "subscription") {
        settings.subscription_limit = *SubscriptionLimit::parse(words.word());
      } else if (word == "elect") {
        settings.elect = true;
      } else {
        hosts.push_back({word});
      }
    }
    scheduler_ = std::make_unique<Scheduler>(settings);
    for (const HostId& host : hosts) step(HostAdded{host});
  }

  void host(Words& words) {
    const HostId host{words.word()};
    const std::string what = words.word();
    using cluster::HostState;
    if (what == "up") return step(HostChanged{host, HostState::kUp});
    if (what == "silent") return step(HostChanged{host, HostState::kSilent});
    if (what == "unheard") return step(HostChanged{host, HostState::kUnheard});
    if (what == "added") return step(HostAdded{host});
    if (what == "removed") return step(HostRemoved{host});
    if (what == "drains") return step(HostDraining{host, words.more() && words.word() == "forced"});
    HostReported& report = reports_[host];
    report.host = host;
    if (what == "has") {
      report.capacity.cpus = words.number();
    } else if (what == "devices") {
      report.capacity.devices.clear();
      for (std::string device : words.rest()) {
        const bool healthy = device.back() != '!';
        if (!healthy) device.pop_back();
        report.capacity.devices.push_back({.id = {device}, .healthy = healthy});
      }
    } else {
      cluster::KernelReport kernel{.name = words.word()};
      const std::string state = words.word();
      if (state == "runs") {
        kernel.state = cluster::KernelState::kRuns;
        kernel.python = words.word();
      } else if (state == "fails") {
        kernel.state = cluster::KernelState::kCannot;
        kernel.reason = joined(words);
      }
      std::erase_if(report.kernels, [&](const auto& one) { return one.name == kernel.name; });
      report.kernels.push_back(std::move(kernel));
    }
    step(report);
  }

  void cell(Words& words) {
    const SessionId session{words.word()};
    offers_.push_back(words.word());
    CellWaits waits{.session = session,
                    .offer = offers_.size(),
                    .demand = needs_[session],
                    .replicas = {},
                    .declined = {}};
    if (words.skip("declined")) waits.declined = words.word();
    waits.may_begin = words.skip("may_begin");
    if (words.skip("moves_in")) waits.move_takes = std::chrono::seconds(words.number());
    words.skip("from");
    for (std::string word : words.rest()) {
      EligibleReplica one;
      for (; word.find_last_of("*!-") == word.size() - 1; word.pop_back())
        (word.back() == '*' ? one.worker_ready : word.back() == '!' ? one.executed_last : one.leaves) = true;
      const auto at = word.find('@');
      one.replica = {std::stoull(word.substr(0, at))};
      one.host = {word.substr(at + 1)};
      waits.replicas.push_back(std::move(one));
    }
    step(std::move(waits));
  }

  void wait(Duration time) {
    constexpr Duration kTick = 50ms;
    for (Duration passed{}; passed < time; passed += kTick) leap(kTick);
  }
  void leap(Duration time) {
    now_.mono += time;
    now_.wall.us += microseconds(time);
    step(TimePassed{});
  }

  void step(Event event) {
    for (const Decision& decision : scheduler_->step(now_, std::move(event))) tell(decision);
  }

  void tell(const Decision& decision) {
    std::visit(
        Overloaded{
            [&](const PlaceSession& d) {
              std::string hosts;
              for (const HostId& host : d.hosts) hosts += " " + host.value;
              say("place " + d.session.value + " on" + hosts);
            },
            [&](const RefuseSession& d) { say("refuse " + d.session.value + ": " + d.reason); },
            [&](const PlaceReplica& d) { say("replica of " + d.session.value + " on " + d.host.value); },
            [&](const MoveReplica& d) {
              say("move " + d.session.value + " from " + d.from.value + " to " + d.to.value +
                  (d.force ? ", by force" : ""));
            },
            [&](const NoHost& d) { say("no host for " + d.session.value); },
            [&](const CellDecision& d) {
              const std::string cell = d.offer == 0 ? "" : offers_.at(d.offer - 1) + " of " + d.session.value;
              std::visit(
                  Overloaded{[&](const StartCell& start) { say("start " + cell + " on" + told(start)); },
                             [&](const KeepCell&) { say("keep " + cell); },
                             [&](const AskAgain&) { say("ask " + d.session.value + " again"); },
                             [&](const RefuseCell& refuse) { say("refuse " + cell + ": " + refuse.reason); }},
                  d.what);
            },
            [&](const SuspendSession& d) { say("suspend " + d.session.value); },
        },
        decision);
  }

  static std::string told(const StartCell& start) {
    std::string text = " replica";
    for (const ReplicaId replica : start.replicas) text += " " + std::to_string(replica.value);
    if (start.elect) text += ", by election";
    if (!start.devices.empty()) text += ", devices";
    for (const DeviceId& device : start.devices) text += " " + device.value;
    return text;
  }

  void show() {
    static const std::map<cluster::HostState, std::string> names = {{cluster::HostState::kUnheard, "unheard"},
                                                                    {cluster::HostState::kUp, "up"},
                                                                    {cluster::HostState::kSilent, "silent"}};
    for (const auto& [host, known] : scheduler_->cluster().hosts()) {
      const cluster::Ledger& ledger = scheduler_->cluster().ledger();
      say(host.value + " " + names.at(known.state) + " replicas " + std::to_string(ledger.replicas_on(host)) +
          " cells " + std::to_string(ledger.cells_on(host)) + devices_of(ledger.device_counts(host)) +
          (known.draining ? " draining" : ""));
      if (!known.draining) continue;
      for (const SessionId& session : ledger.sessions_on(host))
        if (const auto why = scheduler_->drains().why_stays(session))
          say("  " + session.value + " stays: " + *why);
    }
    for (const QueuedCell& cell : scheduler_->queued_cells())
      say(cell.session.value + " waits for " + std::to_string(cell.demand.gpus) + " since " +
          seconds(now_.mono - cell.since) + ", place " + std::to_string(cell.place) +
          (cell.expected ? ", about " + seconds(*cell.expected) + " more" : "") +
          (cell.at_limit ? ", " + cell.owner + " has as many as one may have" : "") +
          (cell.hours_end
               ? ", " + cell.owner + " has spent the day's hours for " + seconds(*cell.hours_end - now_.mono)
               : "") +
          (cell.comes_to ? ", a replica comes to " + cell.comes_to->value : ""));
  }

  static std::string seconds(Duration time) { return std::to_string(microseconds(time) / 1'000'000) + " s"; }

  static std::string devices_of(const cluster::DeviceCounts& counts) {
    if (counts.all() == 0) return "";
    return " devices " + std::to_string(counts.idle) + " idle " + std::to_string(counts.bound) + " bound " +
           std::to_string(counts.faulty) + " faulty";
  }

  std::unique_ptr<Scheduler> scheduler_;
  std::map<std::string, cluster::Demand> demands_;  ///< by kernel
  std::string owner_;
  SessionPolicy policy_;
  std::map<SessionId, cluster::Demand> needs_;
  std::vector<std::string> offers_;  ///< the cells, by the number of the offer
  std::map<HostId, HostReported> reports_;
  Now now_{.mono = Time{} + 1h, .wall = {1'000'000'000'000}};
  std::string lines_;
};

}  // namespace banyan::schedule
