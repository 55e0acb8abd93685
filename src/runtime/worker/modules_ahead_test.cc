#include "runtime/worker/modules_ahead.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/worker/config.h"

namespace banyan::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ModulesAhead, AreInTheOrderInWhichWorkersImportedThem) {
  ModulesAhead ahead({kEveryLibrary});
  EXPECT_TRUE(ahead.empty());
  EXPECT_TRUE(ahead.note({"b", "b.part", "a"}));
  EXPECT_FALSE(ahead.empty());
  EXPECT_THAT(ahead.take(), ElementsAre("b", "b.part", "a"));
}

TEST(ModulesAhead, ComeFirstWhereMostWorkersImportTheirLibrary) {
  ModulesAhead ahead({kEveryLibrary});
  ahead.note({"rare", "often", "often.part"});
  EXPECT_FALSE(ahead.note({"often"}));
  ahead.note({"rare.part"});
  EXPECT_THAT(ahead.take(), ElementsAre("often", "often.part", "rare", "rare.part"));
}

TEST(ModulesAhead, AreNewsOnce) {
  ModulesAhead ahead({kEveryLibrary});
  EXPECT_TRUE(ahead.note({"a"}));
  EXPECT_TRUE(ahead.has_more());
  (void)ahead.take();
  EXPECT_FALSE(ahead.has_more());
  EXPECT_FALSE(ahead.note({"a"}));
  EXPECT_FALSE(ahead.has_more());
}

TEST(ModulesAhead, AreOfTheLibrariesThatAreNamed) {
  ModulesAhead ahead({"a"});
  EXPECT_FALSE(ahead.note({"b", "ab", "b.a"}));
  ahead.note({"a.part"});
  EXPECT_THAT(ahead.take(), ElementsAre("a.part"));
  EXPECT_FALSE(ModulesAhead({}).note({"a"}));
}

TEST(ModulesAhead, AModuleThatIsLeftOutIsNotNewsAgain) {
  ModulesAhead ahead({kEveryLibrary});
  ahead.note({"a", "a.broken"});
  ahead.leave_out({"a.broken"});
  EXPECT_FALSE(ahead.note({"a.broken"}));
  EXPECT_THAT(ahead.take(), ElementsAre("a"));
}

TEST(ModulesAhead, NothingOfALibraryThatIsLeftOutIsWanted) {
  ModulesAhead ahead({"a", "b"});
  ahead.note({"a", "a.part", "b"});
  ahead.leave_out_libraries({"a"});
  EXPECT_FALSE(ahead.note({"a.other"}));
  EXPECT_THAT(ahead.take(), ElementsAre("b"));
  ahead.leave_out_libraries({"b"});
  EXPECT_THAT(ahead.take(), IsEmpty());
}

TEST(ModulesAhead, AreTwoThousandAtMost) {
  ModulesAhead ahead({kEveryLibrary});
  for (int number = 0; number < 2001; ++number) ahead.note({"a" + std::to_string(number)});
  EXPECT_EQ(ahead.take().size(), 2000U);
}

}  // namespace
}  // namespace banyan::runtime
