// Runs scenario files. A line "> command" acts. The lines below it, up to a blank line, a comment or the next
// command, are the result that it must have. BANYAN_REWRITE=1 writes the results into the files instead of
// comparing them; read the difference before you keep it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace banyan::scenarios {

inline std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// The names of all scenario files of the folder, without ".txt".
inline std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(folder))
    if (file.path().extension() == ".txt") names.push_back(file.path().stem().string());
  std::ranges::sort(names);
  return names;
}

/// Runs one file. `world.run(command)` returns the lines of a command's result. A line with "VIOLATION" in it
/// fails the test, whatever the file says.
template <class World>
void run(const std::filesystem::path& file, World world) {
  const auto is_command = [](const std::string& line) { return line.starts_with("> "); };
  const auto is_expectation = [&](const std::string& line) {
    return !line.empty() && !is_command(line) && line.front() != '#';
  };
  const std::vector<std::string> lines = lines_of(file);
  const bool rewrite = std::getenv("BANYAN_REWRITE") != nullptr;
  std::string rewritten;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (is_expectation(lines[i])) continue;
    rewritten += lines[i] + "\n";
    if (!is_command(lines[i])) continue;
    std::string expected;
    for (std::size_t j = i + 1; j < lines.size() && is_expectation(lines[j]); ++j)
      expected += lines[j] + "\n";
    const std::string actual = world.run(lines[i].substr(2));
    EXPECT_EQ(actual.find("VIOLATION"), std::string::npos) << actual;
    rewritten += actual;
    if (!rewrite) ASSERT_EQ(expected, actual) << file.string() << ":" << i + 1 << ": " << lines[i];
  }
  if (rewrite) std::ofstream(file) << rewritten;
}

}  // namespace banyan::scenarios
