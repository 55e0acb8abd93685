#include "node/peer_life.h"

#include <gtest/gtest.h>

namespace banyan::node {
namespace {

const Incarnation kOwn{1};
const Incarnation kFirst{10};
const Incarnation kNext{11};

LinkFrame frame_of(Incarnation from) { return {.from = from, .to = kOwn, .ack = 0, .messages = {}}; }

LinkFrame sent(PeerLife& life) {
  LinkFrame frame;
  life.put_into(frame);
  return frame;
}

TEST(PeerLives, TheFirstThatIsHeardIsThePresentOne) {
  PeerLife life(kOwn);
  EXPECT_FALSE(life.present());
  EXPECT_TRUE(life.is_confirmed(frame_of(kFirst)));
  life.begin(kFirst);
  EXPECT_EQ(life.present(), kFirst);
  EXPECT_TRUE(life.is_confirmed(frame_of(kFirst)));
  EXPECT_FALSE(life.is_former(kFirst));
}

TEST(PeerLives, ANextOneHasToAnswerAQuestion) {
  PeerLife life(kOwn);
  life.begin(kFirst);
  EXPECT_FALSE(life.is_confirmed(frame_of(kNext)));
  const std::uint64_t asked = sent(life).ask;
  EXPECT_NE(asked, 0U);
  EXPECT_EQ(sent(life).ask, 0U) << "once for each frame that is no proof";
  LinkFrame answer = frame_of(kNext);
  answer.answer = asked + 1;
  EXPECT_FALSE(life.is_confirmed(answer)) << "that is no answer to the last question";
  answer.answer = asked;
  answer.to = Incarnation{2};
  EXPECT_FALSE(life.is_confirmed(answer)) << "it was for another life of this daemon";
  answer.to = kOwn;
  EXPECT_TRUE(life.is_confirmed(answer));
  life.begin(kNext);
  EXPECT_TRUE(life.is_former(kFirst));
}

TEST(PeerLives, TheQuestionToOneRivalIsNotAnsweredByAnother) {
  PeerLife life(kOwn);
  life.begin(kFirst);
  EXPECT_FALSE(life.is_confirmed(frame_of(kNext)));
  const std::uint64_t asked = sent(life).ask;
  LinkFrame answer = frame_of(Incarnation{12});
  answer.answer = asked;
  EXPECT_FALSE(life.is_confirmed(answer));
  EXPECT_NE(sent(life).ask, asked);
}

TEST(PeerLives, AQuestionIsAnsweredToWhoAskedIt) {
  PeerLife life(kOwn);
  life.begin(kFirst);
  EXPECT_FALSE(life.take_question(frame_of(kFirst)));
  LinkFrame question = frame_of(kFirst);
  question.ask = 5;
  EXPECT_TRUE(life.take_question(question));
  EXPECT_FALSE(life.asked_by_other_life());
  EXPECT_EQ(sent(life).answer, 5U);
  EXPECT_EQ(sent(life).answer, 0U);
  question.from = kNext;
  EXPECT_TRUE(life.take_question(question));
  EXPECT_EQ(life.asked_by_other_life(), kNext);
  EXPECT_EQ(sent(life).answer, 5U);
  EXPECT_FALSE(life.asked_by_other_life());
}

}  // namespace
}  // namespace banyan::node
