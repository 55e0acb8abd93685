#include "core/session/transfer.h"

#include <nlohmann/json.hpp>

#include "core/session/lineage.h"

namespace banyan::session {

namespace {

// Assumed for packing, writing, reading and unpickling; nothing measures them yet.
constexpr double kSerialised = 100e6;  // bytes per second
constexpr double kEach_us = 200;
constexpr double kDisk = 500e6;  // bytes per second, written and read

std::uint64_t bytes_of(const CoVariable& value) {
  std::uint64_t bytes = 0;
  for (const Chunk& block : value.blocks) bytes += block.size;
  return bytes;
}

}  // namespace

planner::Costs costs_of(const Session& session, double bytes_per_second) {
  return {
      .load_us = [&session, bytes_per_second](const CoVariableId& version) -> std::optional<std::int64_t> {
        const CoVariable& value = session.co_variable(version);
        if (value.parts.empty()) return std::nullopt;
        const auto bytes = static_cast<double>(bytes_of(value));
        return static_cast<std::int64_t>(kEach_us + bytes * 1e6 * (1 / kSerialised + 1 / bytes_per_second));
      },
      .run_us = [](const planner::HistoryGraph::CellNode& cell) { return cell.runtime_us; }};
}

Result<std::set<CoVariableId>> exported_values(const Session& session, std::string_view which) {
  std::set<CoVariableId> values;
  if (which == "all") {
    for (const auto& [commit, node] : session.tree().nodes()) {
      for (const auto& [name, version] : node.change.bound) values.insert(version);
    }
    return values;
  }
  if (which != "head" && which != "least")
    return fail(ErrorKind::kInvalid,
                "the values of an export are 'all', 'head' or 'least', not '" + std::string(which) + "'");
  const planner::HistoryGraph graph(session.view(), lineage_of(session));
  const bool least = which == "least";
  planner::Costs costs = costs_of(session, kDisk);
  // A session that was imported may have left values to their cells: it cannot hand on what it has not.
  costs.load_us = [&session, cost = costs.load_us](const CoVariableId& version) {
    return session.co_variable(version).serialised() ? cost(version) : std::nullopt;
  };
  values =
      planner::choose(graph, costs, least ? planner::Strategy::kLeast : planner::Strategy::kLoadAll).loads;
  // What a cell that has to run makes besides need not be what it was.
  for (const auto& [name, version] : session.view()) {
    const bool goes = !least || session.copied_always().contains(name);
    if (goes && session.co_variable(version).serialised()) values.insert(version);
  }
  return values;
}

std::optional<std::string> export_wanted(std::string_view question) {
  const auto parsed = nlohmann::json::parse(question, nullptr, false);
  if (!parsed.is_object() || parsed.value("do", nlohmann::json()) != "export") return std::nullopt;
  const auto values = parsed.find("values");
  return values != parsed.end() && values->is_string() ? values->get<std::string>() : "head";
}

}  // namespace banyan::session
