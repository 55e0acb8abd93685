#include "cli/moving/file_ways.h"

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>

#include "core/session/transfer.h"

namespace banyan::cli {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr double kAssumed = 2 * session::kFileBytesPerSecond;  // bytes per second in each direction
constexpr double kFixed_us = 20e3;                             // what a command takes whatever the size
constexpr std::array kWays{"wrote", "read"};

}  // namespace

FileWays::FileWays(fs::path file) : file_(std::move(file)) {
  std::error_code error;
  if (!fs::is_regular_file(file_, error)) return;
  std::ifstream in(file_, std::ios::binary);
  const json stored = json::parse(in, nullptr, false);
  if (!stored.is_object()) return;
  for (const auto& [place, ways] : stored.items()) {
    for (std::size_t way = 0; way < kWays.size() && ways.is_object(); ++way) {
      for (const json& one : ways.value(kWays[way], json::array()))
        if (one.is_array() && one.size() == 2 && one[0].is_number_unsigned() && one[1].is_number_integer())
          places_[place][way].push_back({one[0].get<std::uint64_t>(), one[1].get<std::int64_t>()});
    }
  }
}

fs::path FileWays::file_of_user() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache != '\0') return fs::path(cache) / "banyan" / "ways.json";
  const char* const home = std::getenv("HOME");
  return home == nullptr || *home == '\0' ? fs::path() : fs::path(home) / ".cache" / "banyan" / "ways.json";
}

double FileWays::bytes_per_second(const std::string& place) const {
  double seconds_each = 0;
  for (std::size_t way = 0; way < kWays.size(); ++way) {
    planner::Rate rate(kAssumed, kFixed_us);
    if (const auto known = places_.find(place); known != places_.end())
      for (const Sample& sample : known->second[way])
        rate.observe(static_cast<double>(sample.bytes), sample.took_us);
    seconds_each += 1 / rate.units_per_second();
  }
  return 1 / seconds_each;
}

std::uint64_t FileWays::samples(const std::string& place) const {
  const auto known = places_.find(place);
  return known == places_.end() ? 0 : known->second[0].size() + known->second[1].size();
}

void FileWays::note(const std::string& place, std::size_t way, std::uint64_t bytes, Duration took) {
  if (bytes == 0) return;
  auto& samples = places_[place][way];
  if (samples.size() >= planner::Rate::kRemembered) samples.erase(samples.begin());
  samples.push_back({bytes, microseconds(took)});
  save();
}

void FileWays::save() const {
  if (file_.empty()) return;
  json stored = json::object();
  for (const auto& [place, ways] : places_) {
    for (std::size_t way = 0; way < kWays.size(); ++way) {
      json list = json::array();
      for (const Sample& sample : ways[way]) list.push_back({sample.bytes, sample.took_us});
      stored[place][kWays[way]] = std::move(list);
    }
  }
  std::error_code error;  // ignored: without a cache the speeds are learned anew
  fs::create_directories(file_.parent_path(), error);
  const fs::path draft = file_.string() + "." + std::to_string(std::random_device{}());
  std::ofstream out(draft, std::ios::binary);
  out << stored.dump(1) << '\n';
  out.close();
  if (out) fs::rename(draft, file_, error);
  if (!out || error) fs::remove(draft, error);
}

}  // namespace banyan::cli
