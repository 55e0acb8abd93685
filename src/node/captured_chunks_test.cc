#include "node/captured_chunks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace banyan::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Blob of_size(char letter, std::size_t size) { return Blob(std::string(size, letter)); }

/// Chunks named by a letter.
class CapturedChunksTest : public ::testing::Test {
 protected:
  void add(char letter, std::size_t size) { chunks_.add(name(letter), of_size(letter, size)); }
  static Digest name(char letter) { return digest_of(std::string(1, letter)); }

  CapturedChunks chunks_{1000};
};

TEST_F(CapturedChunksTest, GoToTheDiskOldestFirstAndAFewAtATime) {
  add('b', 600);
  add('a', 400);
  add('c', 1);
  EXPECT_EQ(chunks_.bytes(), 1001U);
  EXPECT_THAT(chunks_.take_due(), ElementsAre(name('b'), name('a')));
  EXPECT_THAT(chunks_.take_due(), IsEmpty());
  chunks_.on_landed(name('a'));
  EXPECT_THAT(chunks_.take_due(), ElementsAre(name('c')));
  EXPECT_EQ(chunks_.bytes(), 601U);
}

TEST_F(CapturedChunksTest, OneThatIsLargerThanTheLimitGoesAlone) {
  add('a', 5000);
  add('b', 1);
  EXPECT_THAT(chunks_.take_due(), ElementsAre(name('a')));
  chunks_.on_landed(name('a'));
  EXPECT_THAT(chunks_.take_due(), ElementsAre(name('b')));
}

TEST_F(CapturedChunksTest, AreHereUntilTheyHaveLanded) {
  add('a', 10);
  EXPECT_EQ(chunks_.find(name('b')), nullptr);
  ASSERT_NE(chunks_.find(name('a')), nullptr);
  EXPECT_EQ(chunks_.find(name('a'))->view(), std::string(10, 'a'));
  (void)chunks_.take_due();
  EXPECT_NE(chunks_.find(name('a')), nullptr);
  chunks_.on_landed(name('a'));
  EXPECT_EQ(chunks_.find(name('a')), nullptr);
  EXPECT_EQ(chunks_.bytes(), 0U);
}

TEST_F(CapturedChunksTest, OneThatNothingRefersToIsNeverWritten) {
  add('a', 1000);
  add('b', 10);
  (void)chunks_.take_due();
  chunks_.drop(name('b'));
  chunks_.on_landed(name('a'));
  EXPECT_THAT(chunks_.take_due(), IsEmpty());
  EXPECT_EQ(chunks_.bytes(), 0U);
}

TEST_F(CapturedChunksTest, OneThatIsDroppedWhileItIsWrittenMakesRoom) {
  add('a', 1000);
  add('b', 1000);
  EXPECT_THAT(chunks_.take_due(), ElementsAre(name('a')));
  chunks_.drop(name('a'));
  chunks_.on_landed(name('a'));
  EXPECT_THAT(chunks_.take_due(), ElementsAre(name('b')));
}

TEST_F(CapturedChunksTest, OneThatComesAgainIsKeptOnce) {
  add('a', 10);
  add('a', 10);
  EXPECT_EQ(chunks_.bytes(), 10U);
  EXPECT_THAT(chunks_.take_due(), ElementsAre(name('a')));
  EXPECT_THAT(chunks_.take_due(), IsEmpty());
}

}  // namespace
}  // namespace banyan::node
