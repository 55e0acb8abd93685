#include "runtime/devices/xid_errors.h"

#include <gtest/gtest.h>

namespace banyan::runtime {
namespace {

TEST(XidErrors, WhatAProgramCausesIsNoFaultOfTheGpu) {
  for (const std::uint64_t xid : {8, 13, 31, 32, 43, 45, 68, 69, 109, 137}) {
    const auto error = xid_error(xid);
    ASSERT_TRUE(error) << xid;
    EXPECT_EQ(error->fault, XidFault::kApplication) << xid;
    EXPECT_EQ(error->xid, xid);
  }
}

TEST(XidErrors, WhatAResetMendsIsAFaultOfTheGpu) {
  for (const std::uint64_t xid : {46, 48, 62, 63, 64, 74, 79, 94, 95, 119, 120, 140, 143, 158}) {
    const auto error = xid_error(xid);
    ASSERT_TRUE(error) << xid;
    EXPECT_EQ(error->fault, XidFault::kDevice) << xid;
  }
  EXPECT_EQ(xid_error(79)->meaning, "the GPU has fallen off the bus");
}

TEST(XidErrors, OthersSayTooLittle) {
  for (const std::uint64_t xid : {0, 1, 14, 149, 154, 155, 159, 100'000}) EXPECT_FALSE(xid_error(xid)) << xid;
}

}  // namespace
}  // namespace banyan::runtime
