// The tables and figures of Eva's paper as experiments: cells that are computed, and the sheet that they
// make.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/eva/jobs.h"

namespace banyan::sim::eva {

/// One computation. Equal keys are computed once.
struct Cell {
  std::string key;                        ///< the name of a file: [a-z0-9_.-]+
  std::function<nlohmann::json()> value;  ///< runs in any thread; equal each time, except for measured times
};

/// A line of a chart.
struct Series {
  std::string name;
  std::vector<double> x;
  std::vector<double> y;
};

/// How a sheet is drawn. A sheet without series is only a table.
struct Chart {
  std::string x_title;
  std::string y_title;
  bool logarithmic = false;
  std::vector<Series> series;
  std::vector<std::string> bars =
      {};  ///< bars instead of lines, at these places on the x axis; x counts them from 0
};

/// A finished table or figure.
struct Sheet {
  std::string name;  ///< "table 14"
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<nlohmann::json>> rows;  ///< each cell is a number, a text or null
  std::vector<std::string> notes;                 ///< what differs from the paper, and why
  Chart chart;
};

/// The values of cells, by their keys.
using Values = std::map<std::string, nlohmann::json>;

/// A table or figure of the paper.
struct Experiment {
  std::string name;
  std::vector<Cell> cells;
  std::function<Sheet(const Values&)> sheet;
};

/// The job lists that experiments run on.
struct Lists {
  JobList gavel;
  JobList alibaba;
  std::string origin;  ///< what the lists are, for the report
};

/// All experiments, tables first. `lists` must outlive their cells.
std::vector<Experiment> experiments(const Lists& lists);

/// Tables 3 to 5.
std::vector<Experiment> planning_experiments(const Lists& lists);
/// Tables 3 to 6 and 10 to 14.
std::vector<Experiment> table_experiments(const Lists& lists);
/// Figures 4 to 8.
std::vector<Experiment> figure_experiments(const Lists& lists);

}  // namespace banyan::sim::eva
