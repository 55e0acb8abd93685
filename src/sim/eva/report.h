// Writes sheets as one self-contained page, as CSV and as JSON.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/eva/experiment.h"

namespace banyan::sim::eva {

/// A list with {"name", "title", "rows": [{column: cell}], "notes"} of each sheet.
nlohmann::json to_json(const std::vector<Sheet>& sheets);
/// Aligned text for a terminal.
std::string to_text(const Sheet& sheet);
/// Writes report.html (tables and charts, nothing is loaded from elsewhere), and for each sheet NAME.csv,
/// into the folder. `chart_js` is the text of Chart.js. kIo when it cannot be written.
Result<Done> write_report(const std::filesystem::path& folder, const std::vector<Sheet>& sheets,
                          const std::string& origin, const std::string& chart_js);

}  // namespace banyan::sim::eva
