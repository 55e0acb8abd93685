#include "runtime/devices/devices_of_host.h"

#include <gmock/gmock.h>

#include <fstream>

#include "runtime/devices/nvml_devices.h"
#include "runtime/devices/test_gpus.h"

namespace banyan::runtime {
namespace {

using Level = node::Log::Level;
using testing::HasSubstr;
using testing::IsEmpty;

bool by_nvml(const std::unique_ptr<port::Devices>& devices) {
  return dynamic_cast<NvmlDevices*>(devices.get()) != nullptr;
}

/// Opens them without NVML, and expects one line that says why.
void expect_plain(FakeMachine& machine, const std::vector<std::string>& files, const std::string& library,
                  Level level, const std::string& why) {
  machine.logged.clear();
  const auto devices = open_devices(files, machine.log(), library);
  EXPECT_FALSE(by_nvml(devices));
  EXPECT_EQ(devices->list().size(), files.size());
  ASSERT_EQ(machine.logged.size(), 1U);
  EXPECT_EQ(machine.logged[0].level, level);
  EXPECT_THAT(machine.logged[0].text, HasSubstr(why));
}

TEST(DevicesOfHost, AreThoseOfTheLibraryWhereThereIsOne) {
  FakeMachine machine;
  machine.has({0});
  const auto devices = open_devices(machine.files({0}), machine.log(), machine.library());
  EXPECT_TRUE(by_nvml(devices));
  EXPECT_EQ(devices->list().at(0).model, "Model 0");
  EXPECT_THAT(machine.logged, IsEmpty());
}

TEST(DevicesOfHost, AreThoseOfTheFilesWhereTheLibraryIsAbsentOrFails) {
  FakeMachine machine;
  const auto files = machine.files({0, 1});
  expect_plain(machine, files, "libbanyan-absent.so.1", Level::kInfo, "libbanyan-absent.so.1");
  expect_plain(machine, files, "libm.so.6", Level::kWarning, "has no function");
  expect_plain(machine, files, machine.library(), Level::kWarning, "none of this host's GPUs");
  machine.nvml().init = kFakeDriverNotLoaded;
  expect_plain(machine, files, machine.library(), Level::kWarning, "Driver Not Loaded");
}

TEST(DevicesOfHost, PlainFilesNeverReachTheLibrary) {
  FakeMachine machine;
  machine.has({0, 1});
  auto files = machine.files({0});
  files.push_back(machine.file("nvidia1"));
  std::ofstream(files.back()) << "";
  expect_plain(machine, files, machine.library(), Level::kInfo, "not those of a driver");
  EXPECT_EQ(machine.nvml().asked, 0);
}

TEST(DevicesOfHost, AFileThatIsGoneIsThatOfAGpuWhichDoesNotWork) {
  FakeMachine machine;
  machine.has({0});
  auto files = machine.files({0});
  files.push_back(machine.file("nvidia1"));
  EXPECT_TRUE(are_devices(files));
  EXPECT_TRUE(by_nvml(open_devices(files, machine.log(), machine.library())));
  EXPECT_FALSE(are_devices({files.back()}));
}

TEST(DevicesOfHost, AHostWithoutGpusHasNothingToSay) {
  FakeMachine machine;
  EXPECT_THAT(open_devices({}, machine.log(), machine.library())->list(), IsEmpty());
  EXPECT_THAT(machine.logged, IsEmpty());
}

}  // namespace
}  // namespace banyan::runtime
