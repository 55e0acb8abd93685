#include "cli/table/table.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "base/check.h"

namespace banyan::cli {

namespace {

std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

const char* code_of(Colour colour) {
  switch (colour) {
    case Colour::kNone:
      return "";
    case Colour::kGreen:
      return "\033[32m";
    case Colour::kRed:
      return "\033[31m";
    case Colour::kYellow:
      return "\033[33m";
    case Colour::kBold:
      return "\033[1m";
  }
  return "";
}

std::string padded(const Cell& cell, std::size_t width, Align align, bool coloured) {
  const std::string space(width - std::min(width, width_of(cell.text)), ' ');
  const bool paint = coloured && cell.colour != Colour::kNone;
  std::string text = cell.text;
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; },
      '?');
  if (paint) text = code_of(cell.colour) + text + "\033[0m";
  return align == Align::kRight ? space + text : text + space;
}

}  // namespace

std::string render(const std::vector<Column>& columns, const std::vector<std::vector<Cell>>& rows,
                   bool coloured) {
  std::vector<std::size_t> widths;
  for (const Column& column : columns) widths.push_back(width_of(column.title));
  for (const auto& row : rows) {
    CHECK(row.size() <= columns.size(), "a row has a cell for each column at most");
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i].text));
  }
  std::string out;
  const auto line = [&](const std::vector<Cell>& cells) {
    std::string text;
    for (std::size_t i = 0; i < cells.size(); ++i)
      text += (i == 0 ? "" : "  ") + padded(cells[i], widths[i], columns[i].align, coloured);
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  };
  std::vector<Cell> titles;
  for (const Column& column : columns) titles.push_back({column.title, Colour::kBold});
  line(titles);
  for (const auto& row : rows) line(row);
  return out;
}

bool wants_colour(bool terminal, const char* no_color) {
  return terminal && (no_color == nullptr || *no_color == '\0');
}

bool stdout_wants_colour() { return wants_colour(isatty(STDOUT_FILENO) == 1, std::getenv("NO_COLOR")); }

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array<const char*, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), value < 10 && unit > 0 ? "%.1f %s" : "%.0f %s", value,
                kUnits[unit]);
  return text.data();
}

std::string age_text(std::int64_t seconds) {
  if (seconds < 120) return std::to_string(seconds) + " s";
  if (seconds < 7200) return std::to_string(seconds / 60) + " min";
  if (seconds < 172800) return std::to_string(seconds / 3600) + " h";
  return std::to_string(seconds / 86400) + " d";
}

}  // namespace banyan::cli
