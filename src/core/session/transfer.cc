#include "core/session/transfer.h"

#include <algorithm>
#include <utility>

#include "core/session/lineage.h"

namespace banyan::session {

namespace {

/// The two parts of a cell's run time: its code with all that was around it, and serialising what it made.
struct CellTime {
  std::int64_t code_us = 0;
  std::map<std::string, std::int64_t>
      serialised_us;  ///< the time that serialising took, by the type of the value
};

/// Splits a run time. User code can make its worker report any figures, so those that cannot be are left out.
CellTime split(std::int64_t runtime_us, const std::map<std::string, std::int64_t>& serialised_us) {
  CellTime time{.code_us = std::max<std::int64_t>(runtime_us, 0), .serialised_us = {}};
  for (const auto& [type, us] : serialised_us) {
    if (us < 0 || us > time.code_us) continue;
    time.serialised_us.emplace(type, us);
    time.code_us -= us;
  }
  return time;
}

std::map<std::string, std::int64_t> serialised_us(const Session& session, CommitId cell) {
  const auto ended = session.history().find(cell);
  if (ended == session.history().end()) return {};
  return ended->second.footprint.serialised_us;
}

}  // namespace

WayOf way_at(double bytes_per_second) {
  return [bytes_per_second](const CoVariable& value) {
    return static_cast<std::int64_t>(static_cast<double>(value.bytes()) * 1e6 / bytes_per_second);
  };
}

void learn_of_repeat(planner::Speeds& speeds, const Ended& first, std::int64_t took_us,
                     const std::map<std::string, std::int64_t>& serialised_us) {
  const CellTime expected = split(first.runtime_us, first.footprint.serialised_us);
  std::int64_t code_us = expected.code_us;
  for (const auto& [type, first_us] : expected.serialised_us) {
    const auto again = serialised_us.find(type);
    if (again == serialised_us.end() || again->second < 0 || again->second > took_us) {
      code_us += first_us;
      continue;
    }
    speeds.serialised(type, first_us, again->second);
    took_us -= again->second;
  }
  speeds.ran(code_us, took_us);
}

planner::Costs costs_of(const Session& session, const planner::Speeds& speeds, WayOf way_us,
                        planner::Take how) {
  return {.load = [&session, &speeds, how, way_us = std::move(way_us)](
                      const CoVariableId& version) -> std::optional<planner::LoadCost> {
            const CoVariable& value = session.co_variable(version);
            if (value.parts.empty()) return std::nullopt;
            return planner::LoadCost{.way_us = way_us(value),
                                     .here_us = speeds.load(value.type, value.bytes()).taken_us(how)};
          },
          .run_us =
              [&session, &speeds, how](const planner::HistoryGraph::CellNode& cell) {
                const CellTime first = split(cell.runtime_us, serialised_us(session, cell.commit));
                std::int64_t sum_us = speeds.run(first.code_us).taken_us(how);
                for (const auto& [type, first_us] : first.serialised_us)
                  sum_us += speeds.serialise(type, first_us).taken_us(how);
                return sum_us;
              }};
}

Result<std::set<CoVariableId>> exported_values(const Session& session, const planner::Speeds& speeds,
                                               const question::Export& wanted, std::uint64_t small) {
  const std::string which = wanted.values.value_or("head");
  const double rate = wanted.bytes_per_s.value_or(kFileBytesPerSecond);
  if (!(rate >= 1)) return fail(ErrorKind::kInvalid, "'bytes_per_s' must be a number from 1 on");
  std::set<CoVariableId> values;
  if (which == "all") {
    for (const auto& [commit, node] : session.tree().nodes()) {
      for (const auto& [name, version] : node.change.bound) values.insert(version);
    }
    return values;
  }
  if (which != "head" && which != "least")
    return fail(ErrorKind::kInvalid,
                "the values of an export are 'all', 'head' or 'least', not '" + which + "'");
  const planner::HistoryGraph graph(session.view(),
                                    lineage_of(session, false, 0));  // to a host that may have no GPU
  const bool least = which == "least";
  planner::Costs costs = costs_of(session, speeds, way_at(rate));
  // An imported session may lack the bytes of values that an export left behind: it cannot hand them on.
  costs.load = [&session, cost = costs.load](const CoVariableId& version) {
    return session.co_variable(version).serialised() ? cost(version) : std::nullopt;
  };
  values =
      planner::choose(graph, costs, least ? planner::Strategy::kLeast : planner::Strategy::kLoadAll).loads;
  // Small values go along in any case, also those that only cells read which run again: a cell may have made
  // something besides that it does not make a second time, such as the state of an unseeded generator.
  for (const auto& version : graph.versions()) {
    const CoVariable& value = session.co_variable(version.id);
    if (least && value.serialised() && value.bytes() <= small) values.insert(version.id);
  }
  // The values that head shows go along even if a cell that has to run would make them as a by-product: they
  // may come out differently.
  for (const auto& [name, version] : session.view()) {
    const bool goes = !least || session.copied_always().contains(name);
    if (goes && session.co_variable(version).serialised()) values.insert(version);
  }
  return values;
}

}  // namespace banyan::session
