#include "runtime/kernel_shim/connection_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace banyan::runtime {
namespace {

using testing::HasSubstr;

const std::string kPorts = R"("shell_port":1,"iopub_port":2,"stdin_port":3,"control_port":4,"hb_port":5)";

TEST(ConnectionFile, ReadsWhatJupyterWrites) {
  const auto file = parse_connection_file("{" + kPorts + R"(,"ip":"127.0.0.1","key":"k","transport":"tcp",)" +
                                          R"("signature_scheme":"hmac-sha256","kernel_name":"x"})");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->key, "k");
  EXPECT_EQ(file->address(file->shell_port), "tcp://127.0.0.1:1");
  EXPECT_EQ(file->address(file->hb_port), "tcp://127.0.0.1:5");
}

TEST(ConnectionFile, KnowsUnixSocketsAndIpv6) {
  EXPECT_EQ(parse_connection_file("{" + kPorts + R"(,"ip":"/tmp/k","transport":"ipc"})")->address(2),
            "ipc:///tmp/k-2");
  EXPECT_EQ(parse_connection_file("{" + kPorts + R"(,"ip":"::1"})")->address(2), "tcp://[::1]:2");
}

TEST(ConnectionFile, SaysWhatIsWrong) {
  const auto problem = [](const std::string& text) { return parse_connection_file(text).error().message; };
  EXPECT_THAT(problem("[]"), HasSubstr("JSON object"));
  EXPECT_THAT(problem("{"), HasSubstr("JSON object"));
  EXPECT_THAT(problem(R"({"shell_port":1})"), HasSubstr("control_port"));
  EXPECT_THAT(problem("{" + kPorts + R"(,"hb_port":0})"), HasSubstr("hb_port"));
  EXPECT_THAT(problem("{" + kPorts + R"(,"hb_port":70000})"), HasSubstr("hb_port"));
  EXPECT_THAT(problem("{" + kPorts + R"(,"transport":"udp"})"), HasSubstr("transport"));
  EXPECT_THAT(problem("{" + kPorts + R"(,"key":7})"), HasSubstr("key"));
  EXPECT_THAT(problem("{" + kPorts + R"(,"signature_scheme":"hmac-md5"})"), HasSubstr("hmac-sha256"));
  EXPECT_THAT(read_connection_file("/nowhere.json").error().message, HasSubstr("/nowhere.json"));
}

}  // namespace
}  // namespace banyan::runtime
