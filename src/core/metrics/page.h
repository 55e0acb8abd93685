// The page that Prometheus reads.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/metrics/histogram.h"

namespace banyan::metrics {

/// What tells the values of a family apart.
using Labels = std::map<std::string, std::string>;

/// Families of values. The values that are added belong to the family that was begun last. Source:
/// Prometheus, "Exposition formats", text format 0.0.4.
class Page {
 public:
  static constexpr const char* kMedia = "text/plain; version=0.0.4; charset=utf-8";

  /// A family of values that go up and down.
  void gauge(std::string name, std::string help) { begin(Kind::kGauge, std::move(name), std::move(help)); }
  /// A family of values that only grow while the process lives; its name ends with `_total`.
  void counter(std::string name, std::string help) {
    begin(Kind::kCounter, std::move(name), std::move(help));
  }
  /// A family of durations; its name ends with `_seconds`.
  void histogram(std::string name, std::string help) {
    begin(Kind::kHistogram, std::move(name), std::move(help));
  }
  void add(Labels labels, double value) { families_.back().values.push_back({std::move(labels), value, {}}); }
  void add(Labels labels, const Histogram& times) {
    families_.back().values.push_back({std::move(labels), 0, times});
  }

  [[nodiscard]] std::string text() const;

 private:
  enum class Kind : std::uint8_t { kGauge, kCounter, kHistogram };
  struct Value {
    Labels labels;
    double value = 0;
    Histogram times;
  };
  struct Family {
    Kind kind = Kind::kGauge;
    std::string name, help;
    std::vector<Value> values;
  };
  void begin(Kind kind, std::string name, std::string help) {
    families_.push_back({kind, std::move(name), std::move(help), {}});
  }

  std::vector<Family> families_;
};

}  // namespace banyan::metrics
