#include "core/metrics/page.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <limits>
#include <utility>

namespace banyan::metrics {

namespace {

prometheus::ClientMetric::Histogram described(const Histogram& times) {
  const auto up_to = times.up_to();
  prometheus::ClientMetric::Histogram all;
  all.sample_count = up_to.back();
  all.sample_sum = times.sum_s();
  for (std::size_t bucket = 0; bucket < up_to.size(); ++bucket)
    all.bucket.push_back({up_to[bucket], bucket < Histogram::kBounds_s.size()
                                             ? Histogram::kBounds_s[bucket]
                                             : std::numeric_limits<double>::infinity()});
  return all;
}

}  // namespace

std::string Page::text() const {
  std::vector<prometheus::MetricFamily> all;
  for (const Family& family : families_) {
    prometheus::MetricFamily described_family{family.name, family.help, {}, {}};
    for (const Value& value : family.values) {
      prometheus::ClientMetric metric;
      for (const auto& [name, text] : value.labels) metric.label.push_back({name, text});
      switch (family.kind) {
        case Kind::kGauge:
          described_family.type = prometheus::MetricType::Gauge;
          metric.gauge.value = value.value;
          break;
        case Kind::kCounter:
          described_family.type = prometheus::MetricType::Counter;
          metric.counter.value = value.value;
          break;
        case Kind::kHistogram:
          described_family.type = prometheus::MetricType::Histogram;
          metric.histogram = described(value.times);
          break;
      }
      described_family.metric.push_back(std::move(metric));
    }
    if (!described_family.metric.empty()) all.push_back(std::move(described_family));
  }
  return prometheus::TextSerializer().Serialize(all);
}

}  // namespace banyan::metrics
