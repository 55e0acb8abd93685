// What it costs to make a replica's worker a view of head, and what is quicker to make again than to load.

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/session/lineage.h"
#include "core/session/transfer.h"
#include "node/replica.h"

namespace banyan::node {

namespace {

using nlohmann::json;

constexpr std::uint64_t kHandedOver = 1 << 20;  // bytes
constexpr Duration kPlannedAnew = 250ms;        // chunks have come meanwhile
constexpr Duration kPreparedFor = 5s;
constexpr Duration kToldEvery = 1s;

/// Of those that nobody has allowed: no more and no longer than plan() lets run.
bool may_run(const std::set<CommitId>& runs, const session::Session& session) {
  std::int64_t sum_us = 0;
  std::size_t count = 0;
  for (const CommitId commit : runs) {
    const auto cell = session.history().find(commit);
    if (cell == session.history().end() || cell->second.may_repeat) continue;
    sum_us += std::clamp<std::int64_t>(cell->second.runtime_us, 0, 2 * planner::kUnaskedMax_us);
    ++count;
  }
  return sum_us <= planner::kUnaskedMax_us && count <= planner::kUnaskedMax;
}

}  // namespace

/// Bytes that are not here come from the other hosts, all at once as far as the way goes, or from a data
/// store.
std::int64_t Replica::way_us(const session::CoVariable& value, planner::Take how,
                             const ChunkSync::Standing& standing) const {
  std::uint64_t stored = 0, missing = 0, here = 0;
  for (const session::Chunk& block : value.blocks) {
    if (block.bytes || chunk_sync_.is_loaded(block.digest)) continue;
    const bool is_missing = chunk_sync_.is_missing(block.digest);
    (!is_missing                                            ? here
     : chunk_sync_.asks_store_first(block.digest, standing) ? stored
                                                            : missing) += block.size;
  }
  std::int64_t sum = 0;
  if (stored > 0) sum += speeds_.now().receive(stored, std::array{kDataStore}).taken_us(how);
  if (missing > 0) sum += speeds_.now().receive(missing, standing.peers).taken_us(how);
  if (here > 0) sum += speeds_.now().read(here).taken_us(how);
  return sum;
}

planner::Costs Replica::costs(planner::Take how) const {
  std::set<session::CoVariableId> shown;
  for (const auto& [name, version] : worker_->view) shown.insert(version);
  planner::Costs costs = session::costs_of(
      *session_, speeds_.now(),
      [this, how, standing = standing()](const session::CoVariable& value) {
        return way_us(value, how, standing);
      },
      how);
  costs.load = [this, shown = std::move(shown), cost = std::move(costs.load)](
                   const session::CoVariableId& version) -> std::optional<planner::LoadCost> {
    if (shown.contains(version)) return planner::LoadCost{};
    return loadable(version) ? cost(version) : std::nullopt;
  };
  return costs;
}

const std::set<session::CoVariableId>& Replica::remade(const session::View& target) {
  const std::pair state(session_->last(), session_->amended());
  const Time now = host_.now().mono;
  if (!worker_->remade_until || worker_->planned_at != state || now >= *worker_->remade_until) {
    worker_->remade = quicker_to_make(target);
    // A standby makes nothing; when it takes over it plans at once.
    worker_->remade_until = runs_cells() ? std::optional(now + kPlannedAnew) : std::nullopt;
  }
  return worker_->remade;
}

/// What head shows and what leads to it: versions that can be loaded, but are made by cells that run again.
/// Also notes which chunks are needed first, and how long all of it may take.
std::set<session::CoVariableId> Replica::quicker_to_make(const session::View& target) {
  chunk_sync_.want_none_first();
  if (!runs_cells()) return {};
  planner::Costs costs = this->costs(planner::Take::kCautious);
  std::set<session::CoVariableId> copied;  // always, whatever that costs
  for (const std::string& name : session_->copied_always()) {
    if (const auto version = target.find(name); version != target.end()) copied.insert(version->second);
  }
  costs.load = [&copied, cost = std::move(costs.load)](const session::CoVariableId& version) {
    const auto load = cost(version);
    return load && copied.contains(version) ? planner::LoadCost{} : load;
  };
  const std::set<session::CoVariableId> wanted = not_shown(target);
  std::int64_t loading_us = 0;
  bool all_load = true;
  for (const auto& version : wanted) {
    const auto load = costs.load(version);
    if (load) loading_us += load->way_us + load->here_us;
    all_load &= load.has_value();
  }
  const bool little =
      loading_us < microseconds(host_.timing().plan_above) && host_.plan() != planner::Strategy::kRunAll;
  if (all_load && (little || host_.plan() == planner::Strategy::kLoadAll)) {
    build_.begin(loading_us);
    want_first(wanted);
    return {};
  }
  std::map<CommitId, std::string> refused = cannot_repeat_;
  for (const CommitId commit : worker_->ran) refused.emplace(commit, "it ran again already");
  const auto loads = [this](const session::CoVariableId& version) { return loadable(version); };
  const planner::HistoryGraph graph(target, session::lineage_of(*session_, loads, refused, host_.gpus(),
                                                                worker_->since.value_or(session::kNoCell)));
  const planner::Choice choice = planner::choose(graph, costs, host_.plan());
  build_.begin(planner::time_of(choice, graph, this->costs(planner::Take::kMean)));
  if (!may_run(choice.runs, *session_)) {
    want_first(wanted);
    return {};
  }
  want_first(choice.loads);
  std::set<session::CoVariableId> made;
  for (const auto& version : graph.versions()) {
    const CommitId maker = graph.cells()[version.maker].commit;
    const bool is_copied = copied.contains(version.id) || choice.loads.contains(version.id);
    if (choice.runs.contains(maker) && loadable(version.id) && !is_copied) made.insert(version.id);
  }
  return made;
}

void Replica::want_first(const std::set<session::CoVariableId>& versions) {
  for (const auto& version : versions) chunk_sync_.want_first(session_->co_variable(version).blocks);
}

/// Whoever waits for a cell sees what it waits for.
void Replica::tell_progress() {
  if (!cell_ || !cell_->started || cell_->forwarded || cell_->going) return;
  const Time now = host_.now().mono;
  if (cell_->progress_at && now - *cell_->progress_at < kToldEvery) return;
  const auto shown = build_.progress();
  if (!shown) return;
  const auto tenths = std::min<std::uint64_t>(shown->percent / 10, 10);
  std::string bar;
  for (std::uint64_t i = 0; i < 10; ++i) bar += i < tenths ? "█" : "░";
  std::string text = "Banyan restores the session: " + bar + " " + shown->what;
  if (shown->left_us > 0)
    text += ", about " + std::to_string((shown->left_us + 999'999) / 1'000'000) + " s left";
  tell_client(cell_->progress_at ? "update_display_data" : "display_data",
              json{{"data", {{"text/plain", text}}},
                   {"metadata", json::object()},
                   {"transient", {{"display_id", "banyan-" + cell_->execution.value}}}});
  cell_->progress_at = now;
}

/// The cell's own outputs take its place.
void Replica::end_progress() {
  if (cell_->progress_at) tell_client("clear_output", {{"wait", false}});
  cell_->progress_at.reset();
}

/// It is no output of the cell: it is not kept, and a cell that has shown only this has not run.
void Replica::tell_client(std::string_view type, const json& content) {
  if (!cell_->asked) return;
  to_gateway(FromKernel{session_id_,
                        {},
                        0,
                        jupyter::make_message(jupyter::Channel::kIopub, type, cell_->request.header,
                                              content.dump(-1, ' ', false, json::error_handler_t::replace),
                                              host_.author(session_id_))});
}

/// Of what was loaded by this. The values' bytes were handed over together: each has its part of that time.
void Replica::learn(const WorkerApplied& event) {
  std::map<std::string, session::CoVariableId> loaded;  // by a name
  for (const auto& [name, version] : worker_->applying_view) {
    const auto before = worker_->view.find(name);
    const bool shown = before != worker_->view.end() && before->second == version;
    if (!shown && session_->tree().holds(version)) loaded.emplace(name, version);
  }
  for (const auto& name : event.failed) loaded.erase(name);
  for (const auto& name : event.lacking) loaded.erase(name);
  const std::int64_t whole_us = microseconds(host_.now().mono - worker_->applying_since);
  std::int64_t loading_us = 0;
  std::uint64_t bytes = 0;
  std::map<std::string, std::int64_t> took;
  for (const auto& [name, took_us] : event.took) {
    const auto version = loaded.find(name);
    // User code may have made it say anything.
    if (version == loaded.end() || took_us < 0 || took_us > whole_us - loading_us) continue;
    took[name] = took_us;
    loading_us += took_us;
    bytes += session_->co_variable(version->second).bytes();
  }
  const double handing_us =  // of a byte; of few bytes it is the time of any message
      bytes < kHandedOver ? 0 : static_cast<double>(whole_us - loading_us) / static_cast<double>(bytes);
  for (const auto& [name, took_us] : took) {
    const session::CoVariable& value = session_->co_variable(loaded.at(name));
    const auto handed_us = static_cast<std::int64_t>(handing_us * static_cast<double>(value.bytes()));
    speeds_.now().loaded(value.type, value.bytes(), took_us + handed_us);
  }
  std::set<session::CoVariableId> versions;
  for (const auto& [name, version] : loaded) versions.insert(version);
  std::uint64_t sum = 0;
  for (const auto& version : versions) sum += session_->co_variable(version).bytes();
  build_.loaded(versions.size(), sum);
}

/// The executor is to change soon.
void Replica::prepare() {
  preparing_until_ = host_.now().mono + kPreparedFor;
  if (!session_) return;
  tend_worker();
  sync_view();
}

bool Replica::preparing() const { return preparing_until_ && host_.now().mono < *preparing_until_; }

}  // namespace banyan::node
