// `banyan plan move`: what moving a session would load and run again, by how fast the way is.

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/gateway_call.h"
#include "cli/moving/file_ways.h"
#include "cli/moving/session_file.h"
#include "cli/table/table.h"
#include "core/planner/choice.h"
#include "core/session/lineage.h"
#include "core/session/transfer.h"
#include "runtime/data_store/store_url.h"

namespace banyan::cli {

namespace {

using nlohmann::json;
using planner::Strategy;

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f s", seconds);
  return text;
}

/// A rate for a person: "50 Mb/s".
std::string rate_text(double bits_per_second) {
  char text[32];
  const bool giga = bits_per_second >= 1e9;
  std::snprintf(text, sizeof text, "%.3g %cb/s", bits_per_second / (giga ? 1e9 : 1e6), giga ? 'G' : 'M');
  return text;
}

}  // namespace

int plan_move(const PlanMoveOptions& options) {
  const auto file = SessionFile::open(options.file);
  if (!file) return complain(file.error());
  const auto session = session::Session::restore(Blob(file->state()));
  if (!session) return complain(session.error());
  const planner::HistoryGraph graph(session->view(), session::lineage_of(*session));
  const planner::HistoryGraph unlinked(session->view(), session::lineage_of(*session),
                                       planner::Links::kIgnored);
  const planner::Speeds speeds;
  json out = json::array();
  std::vector<std::vector<Cell>> rows;
  std::vector<std::pair<double, bool>> ways;  // bytes per second, and whether they were measured
  for (const double megabits : options.megabits) ways.emplace_back(megabits * 1e6 / 8, false);
  if (const auto url = runtime::parse_store_url(options.store); !options.store.empty() && !url)
    return complain(url.error());
  const FileWays learned(FileWays::file_of_user());
  if (const auto place = place_of(options.store); learned.samples(place) > 0)
    ways.emplace_back(learned.bytes_per_second(place), true);
  for (const auto& [bytes_per_second, measured] : ways) {
    const planner::Costs costs =
        session::costs_of(*session, speeds, session::way_at(bytes_per_second), planner::Take::kMean);
    const auto choose = [&](Strategy strategy) { return planner::choose(graph, costs, strategy); };
    const planner::Choice least = choose(Strategy::kLeast);
    const auto seconds = [](const planner::Choice& choice) {
      return static_cast<double>(choice.cost_us) / 1e6;
    };
    const double without = seconds(planner::choose(unlinked, costs, Strategy::kLeast));
    const double all = seconds(choose(Strategy::kLoadAll)), none = seconds(choose(Strategy::kRunAll));
    out.push_back({{"bits_per_s", bytes_per_second * 8},
                   {"measured", measured},
                   {"least_s", seconds(least)},
                   {"load_all_s", all},
                   {"run_all_s", none},
                   {"unlinked_s", without},
                   {"loads", least.loads.size()},
                   {"runs", least.runs.size()},
                   {"lost", least.lost.size()}});
    rows.push_back({{(measured ? "measured: " : "") + rate_text(bytes_per_second * 8)},
                    {seconds_text(seconds(least)), Colour::kBold},
                    {seconds_text(all)},
                    {seconds_text(none)},
                    {seconds_text(without)},
                    {std::to_string(least.loads.size())},
                    {std::to_string(least.runs.size())}});
  }
  if (options.json) {
    std::printf("%s\n", json{{"rows", out}}.dump(2).c_str());
    return kDone;
  }
  const auto right = Align::kRight;
  std::fputs(render({{"BANDWIDTH", right},
                     {"LEAST", right},
                     {"LOAD ALL", right},
                     {"RUN ALL", right},
                     {"WITHOUT LINKS", right},
                     {"VALUES LOADED", right},
                     {"CELLS RUN", right}},
                    rows, stdout_wants_colour())
                 .c_str(),
             stdout);
  return kDone;
}

}  // namespace banyan::cli
