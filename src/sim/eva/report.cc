#include "sim/eva/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>

namespace banyan::sim::eva {

namespace {

using nlohmann::json;

/// A cell as text, with as many digits as a reader compares.
std::string text(const json& cell) {
  if (cell.is_null()) return "";
  if (cell.is_string()) return cell.get<std::string>();
  const double value = cell.get<double>();
  char buffer[40];
  const char* format = std::abs(value) >= 1000  ? "%.0f"
                       : std::abs(value) >= 100 ? "%.1f"
                       : std::abs(value) >= 10  ? "%.2f"
                                                : "%.3f";
  if (value == std::floor(value) && std::abs(value) < 1e7) format = "%.0f";
  std::snprintf(buffer, sizeof buffer, format, value);
  std::string out = buffer;
  if (std::abs(value) >= 9999.5) {
    for (std::size_t i = out.size(); i > 3 + (value < 0 ? 1U : 0U);) out.insert(i -= 3, ",");
  }
  return out;
}

std::string escaped(const std::string& plain) {
  std::string out;
  for (const char c : plain) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else
      out += c;
  }
  return out;
}

std::string id_of(const Sheet& sheet) {
  std::string id = sheet.name;
  std::ranges::replace(id, ' ', '-');
  return id;
}

std::string csv(const Sheet& sheet) {
  const auto plain = [](std::string cell) {
    std::erase(cell, ',');
    return cell;
  };
  std::string out;
  for (std::size_t i = 0; i < sheet.columns.size(); ++i) out += (i > 0 ? "," : "") + plain(sheet.columns[i]);
  for (const auto& row : sheet.rows) {
    out += '\n';
    for (std::size_t i = 0; i < row.size(); ++i)
      out += (i > 0 ? "," : "") + (row[i].is_null()     ? ""
                                   : row[i].is_string() ? plain(row[i].get<std::string>())
                                                        : row[i].dump());
  }
  return out + '\n';
}

std::string table(const Sheet& sheet) {
  std::string out = "<table><thead><tr>";
  for (const std::string& column : sheet.columns) out += "<th>" + escaped(column) + "</th>";
  out += "</tr></thead><tbody>";
  for (const auto& row : sheet.rows) {
    out += "<tr>";
    for (const json& cell : row)
      out += (cell.is_string() ? "<td class=text>" : "<td>") + escaped(text(cell)) + "</td>";
    out += "</tr>\n";
  }
  return out + "</tbody></table>\n";
}

/// The chart's data in the form that Chart.js takes.
json chart_data(const Chart& chart) {
  const char* colours[] = {"#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2", "#b279a2"};
  json datasets = json::array();
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    json points = json::array();
    for (std::size_t p = 0; p < chart.series[i].y.size(); ++p) {
      const json x = chart.bars.empty() ? json(chart.series[i].x[p])
                                        : json(chart.bars[static_cast<std::size_t>(chart.series[i].x[p])]);
      points.push_back({{"x", x}, {"y", chart.series[i].y[p]}});
    }
    datasets.push_back({{"label", chart.series[i].name},
                        {"data", points},
                        {"borderColor", colours[i % 6]},
                        {"backgroundColor", colours[i % 6]},
                        {"tension", 0}});
  }
  const std::string scale = chart.logarithmic ? "logarithmic" : "linear";
  const auto axis = [](const std::string& type, const std::string& title) {
    return json{{"type", type}, {"title", {{"display", !title.empty()}, {"text", title}}}};
  };
  return {{"type", chart.bars.empty() ? "line" : "bar"},
          {"data", {{"labels", chart.bars}, {"datasets", datasets}}},
          {"options",
           {{"animation", false},
            {"aspectRatio", 2.2},
            {"scales",
             {{"x", axis(chart.bars.empty() ? scale : "category", chart.x_title)},
              {"y", axis(scale, chart.y_title)}}}}}};
}

/// JSON for a script element, in which "</" is written otherwise because it would end the element.
std::string in_script(const json& value) {
  std::string out = value.dump();
  for (std::size_t at = out.find("</"); at != std::string::npos; at = out.find("</", at))
    out.replace(at, 2, "<\\/");
  return out;
}

constexpr const char* kStyle = R"(
:root { color-scheme: light dark }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem }
h2 { margin-top: 2.5rem } .scroll { overflow-x: auto }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { padding: .2rem .7rem; text-align: right; border-bottom: 1px solid #8884; white-space: nowrap }
th { white-space: normal; vertical-align: bottom } th:first-child, td.text { text-align: left }
canvas { max-width: 46rem; background: #fff; margin: 1rem 0 } .note { max-width: 50rem; color: #777 }
nav a { margin-right: .8rem })";

std::string page(const std::vector<Sheet>& sheets, const std::string& origin, const std::string& chart_js) {
  std::string out =
      "<!doctype html><html lang=en><head><meta charset=utf-8><title>Eva, reproduced</title><style>";
  out += std::string(kStyle) + "</style><script>" + chart_js +
         "</script></head><body>\n<h1>Eva, reproduced</h1>\n<p>" + escaped(origin) +
         " The paper: Eva: Cost-Efficient Cloud-Based Cluster Scheduling, EuroSys 2025.</p><nav>";
  for (const Sheet& sheet : sheets)
    out += "<a href=\"#" + id_of(sheet) + "\">" + escaped(sheet.name) + "</a>";
  out += "</nav>\n";
  for (const Sheet& sheet : sheets) {
    out += "<h2 id=\"" + id_of(sheet) + "\">" + escaped(sheet.name + ": " + sheet.title) + "</h2>\n";
    if (!sheet.chart.series.empty())
      out += "<canvas id=\"chart-" + id_of(sheet) + "\"></canvas><script>new Chart(\"chart-" + id_of(sheet) +
             "\", " + in_script(chart_data(sheet.chart)) + ")</script>\n";
    out += "<div class=scroll>" + table(sheet) + "</div>";
    for (const std::string& note : sheet.notes) out += "<p class=note>" + escaped(note) + "</p>\n";
  }
  return out + "</body></html>\n";
}

bool write(const std::filesystem::path& path, const std::string& content) {
  std::ofstream file(path, std::ios::trunc | std::ios::binary);
  file << content;
  return static_cast<bool>(file.flush());
}

std::size_t width(const std::string& utf8) {
  return static_cast<std::size_t>(std::ranges::count_if(utf8, [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

json to_json(const std::vector<Sheet>& sheets) {
  json all = json::array();
  for (const Sheet& sheet : sheets) {
    json rows = json::array();
    for (const auto& row : sheet.rows) {
      json entry = json::object();
      for (std::size_t i = 0; i < row.size(); ++i) entry[sheet.columns[i]] = row[i];
      rows.push_back(std::move(entry));
    }
    all.push_back({{"name", sheet.name}, {"title", sheet.title}, {"rows", rows}, {"notes", sheet.notes}});
  }
  return all;
}

std::string to_text(const Sheet& sheet) {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < sheet.columns.size(); ++i) {
    widths.push_back(width(sheet.columns[i]));
    for (const auto& row : sheet.rows) widths[i] = std::max(widths[i], width(text(row[i])));
  }
  const auto line = [&](const auto& cell_text) {
    std::string out;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const std::string cell = cell_text(i);
      const std::string pad(widths[i] - width(cell), ' ');
      out += (i > 0 ? "  " : "") + (i == 0 ? cell + pad : pad + cell);
    }
    return out + "\n";
  };
  std::string out =
      sheet.name + ": " + sheet.title + "\n" + line([&](std::size_t i) { return sheet.columns[i]; });
  for (const auto& row : sheet.rows) out += line([&](std::size_t i) { return text(row[i]); });
  for (const std::string& note : sheet.notes) out += note + "\n";
  return out;
}

Result<Done> write_report(const std::filesystem::path& folder, const std::vector<Sheet>& sheets,
                          const std::string& origin, const std::string& chart_js) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  bool written = !error && write(folder / "report.html", page(sheets, origin, chart_js)) &&
                 write(folder / "report.json", to_json(sheets).dump(2) + "\n");
  for (const Sheet& sheet : sheets) written = written && write(folder / (id_of(sheet) + ".csv"), csv(sheet));
  if (!written)
    return fail(ErrorKind::kIo, folder.string() + ": cannot be written; name another folder with --out");
  return Done{};
}

}  // namespace banyan::sim::eva
