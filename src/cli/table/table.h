// Tables for people: aligned columns, colour only where it is wanted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace banyan::cli {

/// How the cells of a column are aligned.
enum class Align { kLeft, kRight };
/// Colours of a terminal.
enum class Colour { kNone, kGreen, kRed, kYellow, kBold };

/// One field of a row.
struct Cell {
  std::string text;
  Colour colour = Colour::kNone;
};

/// The head of a column.
struct Column {
  std::string title;
  Align align = Align::kLeft;
};

/// The table as text, a line for each row, columns two spaces apart. Width counts code points of UTF-8.
/// Control characters, which could steer the terminal, show as "?". A row has at most as many cells as there
/// are columns.
std::string render(const std::vector<Column>& columns, const std::vector<std::vector<Cell>>& rows,
                   bool coloured);

/// Whether to use colours: on a terminal, unless NO_COLOR is set and not empty (no-color.org). `no_color` is
/// null when it is not set.
bool wants_colour(bool terminal, const char* no_color);
/// Decides this for the stdout and the environment of this process.
bool stdout_wants_colour();

/// A number of bytes for a person: "512 MiB", "1.5 GiB".
std::string bytes_text(std::uint64_t bytes);
/// A duration for a person: "42 s", "5 min", "3 h", "2 d".
std::string age_text(std::int64_t seconds);

}  // namespace banyan::cli
