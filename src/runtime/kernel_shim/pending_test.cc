#include "runtime/kernel_shim/pending.h"

#include <gtest/gtest.h>

namespace banyan::runtime {
namespace {

using Ids = std::vector<std::string>;

jupyter::Header header(const std::string& msg_id, const std::string& msg_type = "execute_request") {
  return {.msg_id = msg_id, .session = {}, .username = {}, .msg_type = msg_type, .version = {}};
}

jupyter::WireMessage wire(const std::string& identity, const std::string& content = "{}") {
  jupyter::WireMessage out{.identities = {identity}, .message = {}};
  out.message.content = Blob(content);
  return out;
}

TEST(Pending, RoutesAReplyToWhoAsked) {
  Pending pending;
  pending.add(header("a"), wire("ann"));
  pending.add(header("b"), wire("bob"));
  EXPECT_EQ(pending.identities("a"), Ids{"ann"}) << "an input_request on the way does not end the request";
  EXPECT_EQ(pending.answered("b"), Ids{"bob"});
  EXPECT_EQ(pending.answered("a"), Ids{"ann"});
  EXPECT_EQ(pending.answered("a"), Ids{}) << "a second reply has nobody to go to";
  EXPECT_EQ(pending.identities("never"), Ids{});
}

TEST(Pending, SendsAgainInOrderWhatIsNotAnswered) {
  Pending pending;
  pending.add(header("1"), wire("x", "1"));
  pending.add(header("2", "comm_msg"), wire("x", "2"));
  pending.add(header("3"), wire("x", "3"));
  const auto contents = [&] {
    std::string all;
    for (const auto& message : pending.take_to_send()) all += message.content.view();
    return all;
  };
  EXPECT_EQ(contents(), "123");
  pending.answered("1");
  EXPECT_EQ(contents(), "3") << "a comm_msg is sent once: nothing tells whether it arrived";
}

TEST(Pending, IsBounded) {
  Pending pending(2);
  for (const char* id : {"1", "2", "2", "3"}) pending.add(header(id), wire("x"));
  EXPECT_EQ(pending.size(), 2U);
  EXPECT_EQ(pending.identities("1"), Ids{});
  EXPECT_EQ(pending.identities("3"), Ids{"x"});
}

}  // namespace
}  // namespace banyan::runtime
