#include "cli/table/table.h"

#include <gtest/gtest.h>

namespace banyan::cli {
namespace {

TEST(Table, ColumnsLineUpAlsoWithUmlauts) {
  const std::string text = render({{"HOST"}, {"CELLS", Align::kRight}},
                                  {{{"grün", Colour::kGreen}, {"7"}}, {{"h2"}, {"1234567"}}}, false);
  EXPECT_EQ(text, "HOST    CELLS\ngrün        7\nh2    1234567\n");
}

TEST(Table, ColourDoesNotCountAsWidth) {
  const std::string text = render({{"A"}, {"B"}}, {{{"x", Colour::kRed}, {"y"}}}, true);
  EXPECT_NE(text.find("\033[31mx\033[0m  y"), std::string::npos);
}

TEST(Table, WithoutColourThereIsNoEscapeSequence) {
  EXPECT_EQ(render({{"A"}}, {{{"x", Colour::kRed}}}, false), "A\nx\n");
}

TEST(Table, CellsCannotSteerTheTerminal) {
  EXPECT_EQ(render({{"A"}}, {{{"a\033[2Jb\nc"}}}, false), "A\na?[2Jb?c\n");
}

TEST(Table, ColourIsForTerminalsWithoutNoColor) {
  EXPECT_TRUE(wants_colour(true, nullptr));
  EXPECT_TRUE(wants_colour(true, ""));
  EXPECT_FALSE(wants_colour(true, "1"));
  EXPECT_FALSE(wants_colour(false, nullptr));
}

TEST(Text, BytesAndAges) {
  EXPECT_EQ(bytes_text(512), "512 B");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(bytes_text(std::uint64_t{24} << 30), "24 GiB");
  EXPECT_EQ(age_text(119), "119 s");
  EXPECT_EQ(age_text(3600), "60 min");
  EXPECT_EQ(age_text(172800), "2 d");
}

}  // namespace
}  // namespace banyan::cli
