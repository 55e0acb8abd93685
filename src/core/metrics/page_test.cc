#include "core/metrics/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace banyan::metrics {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Page, HasEachFamilyWithItsHelpItsTypeAndItsValues) {
  Page page;
  page.gauge("banyan_hosts", "Hosts.");
  page.add({{"state", "up"}}, 3);
  page.add({{"state", "a \"b\"\n"}}, 0.5);
  page.counter("banyan_cells_total", "Cells that have ended.");
  page.add({}, 12);
  page.gauge("banyan_nothing", "Of which there is none.");
  const std::string text = page.text();
  EXPECT_THAT(text, HasSubstr("# HELP banyan_hosts Hosts.\n# TYPE banyan_hosts gauge\n"));
  EXPECT_THAT(text, HasSubstr("banyan_hosts{state=\"up\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("banyan_hosts{state=\"a \\\"b\\\"\\n\"} 0.5\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE banyan_cells_total counter\nbanyan_cells_total 12\n"));
  EXPECT_THAT(text, Not(HasSubstr("banyan_nothing")));
}

TEST(Page, CountsDurationsByTheirBounds) {
  Histogram times;
  for (const Duration time : {1ms, 3ms, 2000ms}) times.observe(time);
  times.observe(3h);
  Page page;
  page.histogram("banyan_cell_seconds", "From when a cell is accepted until its end.");
  page.add({{"gpus", "0"}}, times);
  const std::string text = page.text();
  EXPECT_THAT(text, HasSubstr("banyan_cell_seconds_count{gpus=\"0\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("banyan_cell_seconds_sum{gpus=\"0\"} 10802.004\n"));
  EXPECT_THAT(text, HasSubstr("banyan_cell_seconds_bucket{gpus=\"0\",le=\"0.001\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("banyan_cell_seconds_bucket{gpus=\"0\",le=\"1\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("banyan_cell_seconds_bucket{gpus=\"0\",le=\"7200\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("banyan_cell_seconds_bucket{gpus=\"0\",le=\"+Inf\"} 4\n"));
}

}  // namespace
}  // namespace banyan::metrics
