#include "node/view_build.h"

#include <algorithm>

namespace banyan::node {

namespace {
constexpr std::int64_t kWorthTelling_us = 50'000;
constexpr Duration kShownAfter = 1s;
constexpr std::int64_t kShownEvery_us = 500'000;
constexpr Duration kYoung = 5s;
}  // namespace

void ViewBuild::begin(std::int64_t predicted_us) {
  if (now_) return;
  now_.emplace(Build{.since = host_.now().mono, .so_far = {.predicted_us = predicted_us}, .what = {}});
}

std::optional<Duration> ViewBuild::age() const {
  return now_ ? std::optional(host_.now().mono - now_->since) : std::nullopt;
}

bool ViewBuild::is_young() const {
  const auto age = this->age();
  return age && *age < kYoung;
}

void ViewBuild::doing(std::string what) {
  if (now_) now_->what = std::move(what);
}

void ViewBuild::loaded(std::uint64_t values, std::uint64_t bytes) {
  if (!now_) return;
  now_->so_far.values += values;
  now_->so_far.bytes += bytes;
}

void ViewBuild::ran_a_cell() {
  if (now_) ++now_->so_far.cells;
}

bool ViewBuild::end() {
  if (!now_) return false;
  ViewBuilt done = now_->so_far;
  done.took_us = microseconds(host_.now().mono - now_->since);
  now_.reset();
  if (done.took_us < kWorthTelling_us && done.cells == 0) return true;
  last_ = done;
  host_.log(Log::Level::kInfo, "session " + session_id_.value + ": its variables are here after " +
                                   std::to_string(done.took_us / 1000) +
                                   " ms (predicted: " + std::to_string(done.predicted_us / 1000) +
                                   " ms): " + std::to_string(done.values) + " values loaded (" +
                                   std::to_string(done.bytes) + " bytes), " + std::to_string(done.cells) +
                                   " cells run again");
  return true;
}

std::optional<ViewProgress> ViewBuild::progress() const {
  const auto age = this->age();
  if (!age || *age < kShownAfter) return std::nullopt;
  const std::int64_t took = microseconds(*age) / kShownEvery_us * kShownEvery_us;
  const std::int64_t predicted = now_->so_far.predicted_us;
  ViewProgress shown{.what = now_->what, .left_us = std::max<std::int64_t>(predicted - took, 0)};
  const std::int64_t all = std::max<std::int64_t>({predicted, took * 20 / 19, 1});
  shown.percent = static_cast<std::uint64_t>(100 * took / all);
  return shown;
}

}  // namespace banyan::node
