#include "runtime/devices/device_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace banyan::runtime {
namespace {

TEST(DeviceFiles, ThoseWithNumbersAreGpus) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "device_files_test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  for (const char* name : {"nvidia10", "nvidia2", "nvidia", "nvidiactl", "nvidia-uvm", "nvidia1x", "null"})
    std::ofstream(folder / name) << "";
  EXPECT_THAT(gpu_files(folder), testing::ElementsAre(folder / "nvidia2", folder / "nvidia10"));
  EXPECT_THAT(gpu_files(folder / "absent"), testing::IsEmpty());
}

TEST(DeviceFiles, ADeviceWhoseFileIsGoneIsFaulty) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "gone_test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  for (const char* name : {"nvidia0", "nvidia1"}) std::ofstream(folder / name) << "";
  DeviceFiles devices(gpu_files(folder));
  EXPECT_THAT(devices.list(),
              testing::ElementsAre(cluster::Device{.id = {"nvidia0"}}, cluster::Device{.id = {"nvidia1"}}));
  std::filesystem::remove(folder / "nvidia0");
  EXPECT_THAT(devices.list(), testing::ElementsAre(cluster::Device{.id = {"nvidia0"}, .healthy = false},
                                                   cluster::Device{.id = {"nvidia1"}}));
}

TEST(DeviceFiles, AProcessUsesADeviceWhileItHasTheFileOpen) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "uses_test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  for (const char* name : {"nvidia0", "nvidia1"}) std::ofstream(folder / name) << "";
  DeviceFiles devices(gpu_files(folder));
  const int self = getpid();
  {
    const std::ifstream first(folder / "nvidia1"), second(folder / "nvidia1");
    EXPECT_THAT(devices.uses({self}), testing::ElementsAre(port::DeviceUse{{"nvidia1"}, self}));
    EXPECT_THAT(devices.uses({}), testing::IsEmpty());
  }
  EXPECT_THAT(devices.uses({self}), testing::IsEmpty());
  constexpr int kNobody = 1 << 30;
  EXPECT_THAT(devices.uses({kNobody}), testing::IsEmpty());
}

}  // namespace
}  // namespace banyan::runtime
