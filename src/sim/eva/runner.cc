#include "sim/eva/runner.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace banyan::sim::eva {

namespace {

using nlohmann::json;

std::optional<json> read_value(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  json value = json::parse(file, nullptr, false);
  return value.is_discarded() ? std::nullopt : std::optional(std::move(value));
}

/// Writes a value to a file, whole or not at all: an interruption leaves no half file behind.
bool write_value(const std::filesystem::path& path, const json& value) {
  const std::filesystem::path part = path.string() + ".part";
  {
    std::ofstream file(part, std::ios::trunc);
    file << value.dump() << '\n';
    if (!file.flush()) return false;
  }
  std::error_code error;
  std::filesystem::rename(part, path, error);
  return !error;
}

void show(const RunnerOptions& options, std::size_t done, std::size_t all, const std::string& key) {
  if (!options.progress) return;
  if (isatty(STDERR_FILENO) == 0) {
    std::fprintf(stderr, "%zu of %zu: %s\n", done, all, key.c_str());
    return;
  }
  constexpr std::size_t kWidth = 30;
  const std::size_t full = kWidth * done / all;
  std::fprintf(stderr, "\r\033[K[%s%s] %zu/%zu %s", std::string(full, '#').c_str(),
               std::string(kWidth - full, '.').c_str(), done, all, key.c_str());
  if (done == all) std::fputc('\n', stderr);
  std::fflush(stderr);
}

}  // namespace

Result<Values> run_cells(const std::vector<Cell>& cells, const RunnerOptions& options) {
  std::error_code error;
  std::filesystem::create_directories(options.directory, error);
  if (error) return fail(ErrorKind::kIo, options.directory.string() + ": " + error.message());
  Values values;
  std::vector<const Cell*> open;
  for (const Cell& cell : cells) {
    if (values.contains(cell.key)) continue;
    auto known = read_value(options.directory / (cell.key + ".json"));
    if (!known) open.push_back(&cell);
    values.emplace(cell.key, known ? std::move(*known) : json());
  }
  std::mutex mutex;  // guards values, done and failed
  std::size_t done = values.size() - open.size();
  bool failed = false;
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < open.size(); i = next++) {
      json value = open[i]->value();
      const std::lock_guard lock(mutex);
      failed = !write_value(options.directory / (open[i]->key + ".json"), value) || failed;
      values[open[i]->key] = std::move(value);
      show(options, ++done, values.size(), open[i]->key);
    }
  };
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < std::min<std::size_t>(options.threads, open.size()); ++i)
    threads.emplace_back(work);
  threads.clear();
  if (failed)
    return fail(ErrorKind::kIo,
                options.directory.string() + ": cannot be written; name another folder with --out");
  return values;
}

}  // namespace banyan::sim::eva
