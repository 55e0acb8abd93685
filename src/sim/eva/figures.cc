#include <cstdio>

#include "sim/eva/runs.h"

namespace banyan::sim::eva {

namespace {

using nlohmann::json;

/// A policy's line.
struct Line {
  const char* name;
  const char* policy;
};

/// A point on the x axis.
struct Point {
  double x = 0;
  SharedList list;
  Conditions conditions;
};

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

/// An experiment that draws, over the points, the cost of each line as a share of the first line's.
Experiment sweep(const std::string& name, const std::string& title, const std::string& x_title,
                 const std::string& key, const std::vector<Line>& lines, const std::vector<Point>& points,
                 const std::vector<std::string>& notes) {
  Experiment made{name, {}, [=](const Values& values) {
                    Sheet sheet{.name = name,
                                .title = title,
                                .columns = {x_title},
                                .rows = {},
                                .notes = notes,
                                .chart = {x_title, "cost, % of " + std::string(lines[0].name), false, {}}};
                    for (const Line& line : lines) {
                      sheet.columns.push_back(std::string(line.name) + " %");
                      sheet.columns.push_back(std::string(line.name) + " JCT h");
                      sheet.columns.push_back(std::string(line.name) + " full %");
                      sheet.chart.series.push_back({line.name, {}, {}});
                    }
                    for (const Point& point : points) {
                      std::vector<json> row{point.x};
                      const auto at = [&](const Line& line) -> const json& {
                        return values.at(simulation_key(key, line.policy, number(point.x)));
                      };
                      for (std::size_t i = 0; i < lines.size(); ++i) {
                        const json& got = at(lines[i]);
                        const double percent =
                            100 * got["cost_usd"].get<double>() / at(lines[0])["cost_usd"].get<double>();
                        const double rounds = got["rounds"];
                        row.insert(row.end(), {percent, got["jct_h"],
                                               rounds > 0 ? 100 * got["full"].get<double>() / rounds : 0});
                        sheet.chart.series[i].x.push_back(point.x);
                        sheet.chart.series[i].y.push_back(percent);
                      }
                      sheet.rows.push_back(std::move(row));
                    }
                    return sheet;
                  }};
  for (const Point& point : points)
    for (const Line& line : lines)
      made.cells.push_back(simulation(key, point.list, line.policy, number(point.x), point.conditions));
  return made;
}

}  // namespace

std::vector<Experiment> figure_experiments(const Lists& lists) {
  constexpr std::size_t kJobs =
      2000;  // jobs, a third of the list: the order of the policies shows, and 100 simulations end in minutes
  const auto base = std::make_shared<const JobList>(first_jobs(lists.gavel, kJobs));
  const std::string part = "On the first 2,000 jobs of the Gavel list.";
  const std::vector<Line> all{{"No-Packing", "no_packing"},
                              {"Stratus", "stratus"},
                              {"Synergy", "synergy"},
                              {"Owl", "owl"},
                              {"Eva", "eva"}};
  std::vector<Point> interference, delay, large, many, arrivals;
  for (const double t : {1.0, 0.95, 0.9, 0.85, 0.8, 0.7, 0.6, 0.5})
    interference.push_back({t, base, {.uniform_pair = t}});
  for (const double scale : {0.5, 1.0, 2.0, 4.0, 8.0})
    delay.push_back({scale, base, {.migration_scale = scale}});
  for (const double share : {0.0, 0.2, 0.4, 0.6})
    large.push_back({share, std::make_shared<const JobList>(with_large_jobs(*base, share, 6)), {}});
  for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0})
    many.push_back({share, std::make_shared<const JobList>(with_many_tasks(*base, share, 7)), {}});
  for (const double factor : {0.5, 1.0, 2.0, 4.0})
    arrivals.push_back({factor * 3, std::make_shared<const JobList>(with_arrivals(*base, factor)), {}});
  return {
      sweep("figure 4", "Interference: every pair runs at this throughput", "throughput of a pair",
            "interference",
            {{"No-Packing", "no_packing"}, {"Owl", "owl"}, {"Eva-RP", "eva_rp"}, {"Eva-TNRP", "eva"}},
            interference,
            {part,
             "Eva-TNRP learns what packing costs and degrades to No-Packing; Eva-RP, blind to interference, "
             "ends above it."}),
      sweep(
          "figure 5", "Migration delay: checkpoint, fetch, build and initialisation times this",
          "migration delay ×", "delay",
          {{"No-Packing", "no_packing"}, {"full only", "full"}, {"partial only", "partial"}, {"Eva", "eva"}},
          delay,
          {part, "Full reconfiguration alone costs more as the delay grows; Eva makes fewer of them."}),
      sweep("figure 6", "Large jobs: this share of GPU jobs has 2, 4 or 8 GPUs at 5:4:1", "share", "large",
            all, large, {part}),
      sweep("figure 7", "Jobs of several tasks: this share has 2 or 4 at 1:1", "share", "many",
            {{"No-Packing", "no_packing"},
             {"Stratus", "stratus"},
             {"Synergy", "synergy"},
             {"Owl", "owl"},
             {"Eva-Single", "eva_single"},
             {"Eva-Multi", "eva"}},
            many, {part}),
      sweep("figure 8", "Arrivals: so many jobs an hour", "jobs an hour", "arrivals", all, arrivals, {part}),
  };
}

std::vector<Experiment> experiments(const Lists& lists) {
  std::vector<Experiment> all = table_experiments(lists);
  for (Experiment& figure : figure_experiments(lists)) all.push_back(std::move(figure));
  return all;
}

}  // namespace banyan::sim::eva
