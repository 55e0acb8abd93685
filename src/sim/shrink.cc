#include "sim/shrink.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "sim/pool.h"

namespace banyan::sim {

namespace {

using Numbers = std::vector<std::uint64_t>;
constexpr std::size_t kFaultsMost = 1000;

class Shrinker {
 public:
  Shrinker(unsigned processes, const ShrinkProgress& progress) : processes_(processes), progress_(progress) {}

  Result<Failing> operator()(const ScheduleOptions& options) {
    const auto whole = first_that_fails({options}, "");
    if (!whole) return fail(whole.error().kind, whole.error().message);
    if (!*whole) return fail(ErrorKind::kInvalid, "this schedule breaks no promise");
    smallest_ = **whole;
    wanted_ = kind_of(smallest_.result);
    for (bool smaller = true; smaller;) {
      const auto faults = fewer_faults();
      if (!faults) return fail(faults.error().kind, faults.error().message);
      const auto cells = fewer_cells();
      if (!cells) return fail(cells.error().kind, cells.error().message);
      smaller = *cells;
    }
    return smallest_;
  }

 private:
  /// Runs the candidates side by side and returns the first of them, in their order, that fails as wanted.
  Result<std::optional<Failing>> first_that_fails(const std::vector<ScheduleOptions>& candidates,
                                                  const std::string& wanted) {
    std::vector<std::optional<ScheduleResult>> results(candidates.size());
    const auto jobs = static_cast<unsigned>(std::min<std::size_t>(processes_, candidates.size()));
    const auto ran = run_pool(
        {0, candidates.size(), jobs},
        [&](std::uint64_t number) {
          ScheduleResult result = run_schedule(candidates[number]);
          result.seed = number;
          return result;
        },
        [&](ScheduleResult result) {
          ++tried_;
          results[result.seed] = std::move(result);
        });
    if (!ran) return fail(ran.error().kind, ran.error().message);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (results[i]->violations.empty() || (!wanted.empty() && kind_of(*results[i]) != wanted)) continue;
      results[i]->seed = candidates[i].seed;
      return std::optional<Failing>({candidates[i], std::move(*results[i])});
    }
    return std::optional<Failing>();
  }

  Result<bool> becomes_smaller(const std::vector<ScheduleOptions>& candidates) {
    if (candidates.empty()) return false;
    auto found = first_that_fails(candidates, wanted_);
    if (!found) return fail(found.error().kind, found.error().message);
    const bool smaller = found->has_value();
    if (smaller) smallest_ = std::move(**found);
    progress_(tried_, smallest_);
    return smaller;
  }

  [[nodiscard]] Numbers faults() const {
    if (smallest_.options.faults) return {smallest_.options.faults->begin(), smallest_.options.faults->end()};
    // A process that ended did not say how many faults there were. Numbers that never strike are soon left
    // out.
    Numbers all(smallest_.result.faults > 0 ? smallest_.result.faults : kFaultsMost);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i + 1;
    return all;
  }

  [[nodiscard]] ScheduleOptions with(Numbers faults) const {
    ScheduleOptions options = smallest_.options;
    options.faults.emplace(faults.begin(), faults.end());
    return options;
  }

  Result<Done> fewer_faults() {
    std::size_t parts = 1;
    while (true) {
      const Numbers all = faults();
      if (all.empty()) return Done{};
      parts = std::min(parts, all.size());
      std::vector<ScheduleOptions> candidates;
      for (std::size_t part = 0; part < parts; ++part) {
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(all.size() * part / parts);
        const auto end = all.begin() + static_cast<std::ptrdiff_t>(all.size() * (part + 1) / parts);
        Numbers rest(all.begin(), begin);
        rest.insert(rest.end(), end, all.end());
        candidates.push_back(with(std::move(rest)));
      }
      const auto smaller = becomes_smaller(candidates);
      if (!smaller) return fail(smaller.error().kind, smaller.error().message);
      if (*smaller) {
        parts = std::max<std::size_t>(parts - 1, 2);
      } else if (parts >= all.size()) {
        return Done{};
      } else {
        parts = std::min(parts * 2, all.size());
      }
    }
  }

  /// Tries fewer cells. Another number of cells is another schedule, so all numbers are tried: that a larger
  /// one does not fail says nothing of a smaller one.
  Result<bool> fewer_cells() {
    std::vector<ScheduleOptions> candidates;
    for (const std::uint64_t cells : {1, 2, 3, 5, 8, 12, 20, 30, 50, 80}) {
      if (cells >= smallest_.options.cells) break;
      candidates.push_back(smallest_.options);
      candidates.back().cells = cells;
    }
    return becomes_smaller(candidates);
  }

  unsigned processes_;
  const ShrinkProgress& progress_;
  std::uint64_t tried_ = 0;
  std::string wanted_;
  Failing smallest_;
};

}  // namespace

std::string kind_of(const ScheduleResult& result) {
  if (result.violations.empty()) return "";
  std::string text = result.violations.front();
  if (text.starts_with("at ")) text.erase(0, std::min(text.find(": ") + 2, text.size()));
  return text.substr(0, text.find(':'));
}

Result<Failing> shrink(const ScheduleOptions& options, unsigned processes, const ShrinkProgress& progress) {
  return Shrinker(processes, progress)(options);
}

}  // namespace banyan::sim
