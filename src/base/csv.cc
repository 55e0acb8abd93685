#include "base/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace banyan {

namespace {

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells;
  for (;;) {
    const auto comma = line.find(',');
    cells.emplace_back(trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

}  // namespace

Result<Csv> Csv::parse(std::string_view text, std::string file) {
  Csv csv;
  csv.file_ = std::move(file);
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty() || line.front() == '#') continue;
    if (line.find('"') != std::string_view::npos)
      return csv.wrong_at(number, "has a quote; cells are plain here");
    std::vector<std::string> cells = cells_of(line);
    if (csv.columns_.empty()) {
      csv.head_line_ = number;
      csv.columns_ = std::move(cells);
      for (auto column = csv.columns_.begin(); column != csv.columns_.end(); ++column)
        if (std::find(csv.columns_.begin(), column, *column) != column)
          return csv.wrong_at(number, "column '" + *column + "' is there twice");
    } else if (cells.size() != csv.columns_.size()) {
      return csv.wrong_at(number, "has " + std::to_string(cells.size()) + " cells, the head has " +
                                      std::to_string(csv.columns_.size()));
    } else {
      csv.rows_.push_back({number, std::move(cells)});
    }
  }
  if (csv.columns_.empty()) return csv.wrong_at(1, "is empty; the first line names the columns");
  return csv;
}

bool Csv::has(std::string_view column) const { return std::ranges::find(columns_, column) != columns_.end(); }

Result<Done> Csv::require(const std::vector<std::string_view>& columns) const {
  for (const std::string_view column : columns)
    if (!has(column)) return wrong_at(head_line_, "the head has no column '" + std::string(column) + "'");
  return Done{};
}

Result<Done> Csv::allow(const std::function<bool(std::string_view)>& is_known, std::string_view known) const {
  for (const std::string& column : columns_)
    if (!is_known(column))
      return wrong_at(head_line_, "unknown column '" + column + "'; known are " + std::string(known));
  return Done{};
}

std::string_view Csv::text(const Row& row, std::string_view column) const {
  const auto found = std::ranges::find(columns_, column);
  if (found == columns_.end()) return {};
  return row.cells[static_cast<std::size_t>(found - columns_.begin())];
}

Result<double> Csv::number(const Row& row, std::string_view column) const {
  const std::string_view cell = text(row, column);
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc{} || end != cell.data() + cell.size() || !std::isfinite(value))
    return wrong(row, std::string(column) + " is '" + std::string(cell) + "', not a number");
  if (value < 0) return wrong(row, std::string(column) + " is " + std::string(cell) + ", below 0");
  return value;
}

tl::unexpected<Error> Csv::wrong(const Row& row, const std::string& what) const {
  return wrong_at(row.line, what);
}

tl::unexpected<Error> Csv::wrong_at(std::size_t line, const std::string& what) const {
  return fail(ErrorKind::kInvalid, file_ + ":" + std::to_string(line) + ": " + what);
}

}  // namespace banyan
