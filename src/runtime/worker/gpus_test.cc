#include "runtime/worker/gpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace banyan::runtime {
namespace {

TEST(Gpus, HaveDeviceFilesWithNumbers) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "gpus_test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  for (const char* name : {"nvidia10", "nvidia2", "nvidia", "nvidiactl", "nvidia-uvm", "nvidia1x", "null"})
    std::ofstream(folder / name) << "";
  EXPECT_THAT(gpu_files(folder), testing::ElementsAre(folder / "nvidia2", folder / "nvidia10"));
  EXPECT_THAT(gpu_files(folder / "absent"), testing::IsEmpty());
}

}  // namespace
}  // namespace banyan::runtime
