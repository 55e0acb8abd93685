#include "runtime/devices/nvml_devices.h"

#include <gmock/gmock.h>

#include <fstream>

#include "runtime/devices/test_gpus.h"

namespace banyan::runtime {
namespace {

using cluster::Device;
using Level = node::Log::Level;
using port::DeviceUse;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::unique_ptr<NvmlDevices> opened(FakeMachine& machine, const std::vector<std::string>& files) {
  auto devices = NvmlDevices::open(files, machine.library(), machine.log());
  if (!devices) {
    ADD_FAILURE() << devices.error().message;
    return nullptr;
  }
  return std::move(*devices);
}

/// Which of the devices work, in their order.
std::vector<bool> healthy(NvmlDevices& devices) {
  std::vector<bool> which;
  for (const Device& device : devices.list()) which.push_back(device.healthy);
  return which;
}

Device model(unsigned int number) {
  const std::string text = std::to_string(number);
  return {.id = {"nvidia" + text}, .model = "Model " + text, .memory_bytes = number * 1'000'000'000ULL};
}

FakeDevice slice(const std::string& uuid) {
  return {.name = "Model 1 MIG 1g.5gb", .uuid = uuid, .memory_bytes = 5'000'000'000ULL};
}

Device slice_device(const std::string& uuid) {
  return {.id = {uuid}, .model = "Model 1 MIG 1g.5gb", .memory_bytes = 5'000'000'000ULL};
}

TEST(NvmlDevices, TellsModelAndMemoryOfEachGpuInTheOrderOfTheFiles) {
  FakeMachine machine;
  machine.has({1, 2});
  const auto devices = opened(machine, machine.files({2, 1}));
  EXPECT_THAT(devices->list(), ElementsAre(model(2), model(1)));
  EXPECT_THAT(machine.logged, IsEmpty());
}

TEST(NvmlDevices, FindsAGpuByTheNumberOfItsFileAndNotByItsIndex) {
  FakeMachine machine;
  machine.has({7, 3, 0});
  const auto devices = opened(machine, machine.files({0, 3, 7}));
  EXPECT_THAT(devices->list(), ElementsAre(model(0), model(3), model(7)));
  machine.gpu(0).status = kFakeGpuIsLost;
  EXPECT_THAT(healthy(*devices), ElementsAre(true, true, false));
}

TEST(NvmlDevices, ServesNoOtherGpusThanTheConfiguredOnes) {
  FakeMachine machine;
  machine.has({0, 1, 2, 3});
  const auto devices = opened(machine, machine.files({1, 3}));
  EXPECT_THAT(devices->list(), ElementsAre(model(1), model(3)));
  machine.gpu(0).processes = machine.gpu(1).processes = {40};
  EXPECT_THAT(devices->uses({40}), ElementsAre(DeviceUse{{"nvidia1"}, 40}));
  EXPECT_FALSE(machine.gpu(0).registered);
  EXPECT_TRUE(machine.gpu(1).registered);
}

TEST(NvmlDevices, AGpuThatDoesNotAnswerIsFaultyAndKeepsItsPlace) {
  FakeMachine machine;
  machine.has({0, 1, 2});
  const auto devices = opened(machine, machine.files({0, 1, 2}));
  machine.gpu(1).status = kFakeGpuIsLost;
  Device lost = model(1);
  lost.healthy = false;
  EXPECT_THAT(devices->list(), ElementsAre(model(0), lost, model(2)));
  machine.gpu(1).status = nvml::kSuccess;
  EXPECT_THAT(healthy(*devices), ElementsAre(true, true, true)) << "it answers again";
}

TEST(NvmlDevices, AGpuWhoseFileIsGoneIsFaulty) {
  FakeMachine machine;
  machine.has({0, 1});
  const auto devices = opened(machine, machine.files({0, 1}));
  std::filesystem::remove(machine.file("nvidia0"));
  EXPECT_THAT(healthy(*devices), ElementsAre(false, true));
}

TEST(NvmlDevices, AGpuThatTheLibraryDoesNotKnowIsFaulty) {
  FakeMachine machine;
  machine.has({0, 1});
  machine.gpu(0).status = kFakeGpuIsLost;
  const auto devices = opened(machine, machine.files({0, 1, 2}));
  machine.gpu(0).status = nvml::kSuccess;
  EXPECT_THAT(devices->list(), ElementsAre(Device{.id = {"nvidia0"}, .healthy = false}, model(1),
                                           Device{.id = {"nvidia2"}, .healthy = false}));
  ASSERT_EQ(machine.logged.size(), 2U);
  EXPECT_EQ(machine.logged[1].level, Level::kWarning);
  EXPECT_THAT(machine.logged[1].text, HasSubstr("nvidia2 counts as faulty"));
  EXPECT_THAT(devices->uses({40}), IsEmpty());
}

TEST(NvmlDevices, AnErrorThatIsTheGpusOwnMakesItFaultyUntilTheNextStart) {
  FakeMachine machine;
  machine.has({0, 1});
  const auto files = machine.files({0, 1});
  auto devices = opened(machine, files);
  machine.nvml().events = {{&machine.gpu(1), 48}, {&machine.gpu(1), 95}};
  EXPECT_THAT(healthy(*devices), ElementsAre(true, false));
  EXPECT_THAT(healthy(*devices), ElementsAre(true, false)) << "it is not forgotten";
  ASSERT_EQ(machine.logged.size(), 1U) << "once for each GPU";
  EXPECT_EQ(machine.logged[0].level, Level::kError);
  EXPECT_THAT(machine.logged[0].text, HasSubstr("GPU nvidia1 reports XID 48, an uncorrectable memory error"));
  devices = opened(machine, files);
  EXPECT_THAT(healthy(*devices), ElementsAre(true, true));
}

TEST(NvmlDevices, AnErrorOfAProgramLeavesItsGpuHealthy) {
  FakeMachine machine;
  machine.has({0});
  const auto devices = opened(machine, machine.files({0}));
  for (const unsigned long long xid : {13, 31, 43, 45, 68})
    machine.nvml().events.push_back({&machine.gpu(0), xid});
  EXPECT_THAT(healthy(*devices), ElementsAre(true));
  EXPECT_THAT(machine.nvml().events, IsEmpty());
  ASSERT_EQ(machine.logged.size(), 5U);
  EXPECT_EQ(machine.logged[0].level, Level::kDebug);
}

TEST(NvmlDevices, AnErrorThatIsNotKnownIsLoggedAndNoMore) {
  FakeMachine machine;
  machine.has({0});
  const auto devices = opened(machine, machine.files({0}));
  machine.nvml().events = {{&machine.gpu(0), 999}};
  EXPECT_THAT(healthy(*devices), ElementsAre(true));
  ASSERT_EQ(machine.logged.size(), 1U);
  EXPECT_EQ(machine.logged[0].level, Level::kInfo);
  EXPECT_THAT(machine.logged[0].text, HasSubstr("XID 999"));
}

TEST(NvmlDevices, AnErrorFindsItsGpuByTheHandleOrByTheUuid) {
  FakeMachine machine;
  machine.has({0, 1, 2});
  const auto devices = opened(machine, machine.files({0, 1, 2}));
  FakeDevice another_handle = machine.gpu(1);
  FakeDevice stranger{.uuid = "GPU-9"};
  machine.gpu(2).uuid_status = kFakeGpuIsLost;
  machine.nvml().events = {{&another_handle, 79}, {&stranger, 79}};
  EXPECT_THAT(healthy(*devices), ElementsAre(true, false, false)) << "the last one does not answer";
  machine.nvml().events = {{&machine.gpu(2), 79}};
  EXPECT_THAT(healthy(*devices), ElementsAre(true, false, false));
  machine.gpu(2).uuid_status = nvml::kSuccess;
  EXPECT_THAT(healthy(*devices), ElementsAre(true, false, false))
      << "it answers, and its error is not forgotten";
}

TEST(NvmlDevices, AnErrorOfAGpuThatDoesNotSayWhoItIsBlamesNoOther) {
  FakeMachine machine;
  machine.has({0});
  const auto devices = opened(machine, machine.files({0, 1}));
  machine.logged.clear();
  FakeDevice stranger{.uuid_status = kFakeGpuIsLost};
  machine.nvml().events = {{&stranger, 79}};
  EXPECT_THAT(healthy(*devices), ElementsAre(true, false));
  EXPECT_THAT(machine.logged, IsEmpty());
}

TEST(NvmlDevices, AGpuThatDoesNotSayWhoItIsIsFaulty) {
  FakeMachine machine;
  machine.has({0, 1});
  machine.gpu(0).uuid_status = kFakeGpuIsLost;
  const auto devices = opened(machine, machine.files({0, 1}));
  EXPECT_THAT(devices->list(), ElementsAre(Device{.id = {"nvidia0"}, .healthy = false}, model(1)));
  ASSERT_EQ(machine.logged.size(), 1U);
  EXPECT_THAT(machine.logged[0].text, HasSubstr("nvidia0 counts as faulty"));
}

TEST(NvmlDevices, AGpuWithAnErrorOfItsOwnIsNotAskedAgain) {
  FakeMachine machine;
  machine.has({0});
  const auto devices = opened(machine, machine.files({0}));
  machine.nvml().events = {{&machine.gpu(0), 119}};
  EXPECT_THAT(healthy(*devices), ElementsAre(false));
  const int asked = machine.nvml().asked;
  machine.nvml().events = {{&machine.gpu(0), 45}};
  EXPECT_THAT(healthy(*devices), ElementsAre(false));
  EXPECT_THAT(devices->uses({40}), IsEmpty());
  EXPECT_EQ(machine.nvml().asked, asked);
}

TEST(NvmlDevices, ReadingErrorsWaitsForNothingAndEnds) {
  FakeMachine machine;
  machine.has({0});
  const auto devices = opened(machine, machine.files({0}));
  EXPECT_THAT(healthy(*devices), ElementsAre(true));
  EXPECT_EQ(machine.nvml().waits, 1);
  machine.nvml().events = {{&machine.gpu(0), 13}};
  machine.nvml().endless = true;
  EXPECT_THAT(healthy(*devices), ElementsAre(true));
  EXPECT_EQ(machine.nvml().waits, 65);
  EXPECT_EQ(machine.nvml().timeout_ms, 0U);
}

TEST(NvmlDevices, AGpuWithoutEventsIsServedAndTheLogSaysWhatIsMissing) {
  FakeMachine machine;
  machine.has({0, 1});
  machine.gpu(0).events = false;
  const auto devices = opened(machine, machine.files({0, 1}));
  EXPECT_THAT(devices->list(), ElementsAre(model(0), model(1)));
  ASSERT_EQ(machine.logged.size(), 1U);
  EXPECT_EQ(machine.logged[0].level, Level::kWarning);
  EXPECT_THAT(machine.logged[0].text, HasSubstr("nvidia0"));
}

TEST(NvmlDevices, SlicesStandInPlaceOfTheirGpu) {
  FakeMachine machine;
  machine.has({0, 1, 2});
  FakeDevice empty_place = slice("MIG-none");
  empty_place.there = false;
  machine.gpu(1).slices = {slice("MIG-a"), empty_place, slice("MIG-b")};
  machine.gpu(1).mig = true;
  machine.gpu(2).slices = {slice("MIG-c")};  // MIG would be on after a reset
  const auto devices = opened(machine, machine.files({0, 1, 2}));
  EXPECT_THAT(devices->list(), ElementsAre(model(0), slice_device("MIG-a"), slice_device("MIG-b"), model(2)));
}

TEST(NvmlDevices, ASliceThatIsGoneIsFaultyAndTheOthersWork) {
  FakeMachine machine;
  machine.has({1});
  machine.gpu(0).slices = {slice("MIG-a"), slice("MIG-b"), slice("MIG-c")};
  machine.gpu(0).mig = true;
  const auto devices = opened(machine, machine.files({1}));
  machine.gpu(0).slices[0].status = kFakeNotFound;
  machine.gpu(0).slices[1].uuid = "MIG-d";  // another slice has taken its place
  EXPECT_THAT(healthy(*devices), ElementsAre(false, false, true));
}

TEST(NvmlDevices, AnErrorOfTheGpuCountsForAllItsSlices) {
  FakeMachine machine;
  machine.has({0, 1});
  machine.gpu(1).slices = {slice("MIG-a"), slice("MIG-b")};
  machine.gpu(1).mig = true;
  const auto devices = opened(machine, machine.files({0, 1}));
  machine.nvml().events = {{&machine.gpu(1), 95}};
  EXPECT_THAT(healthy(*devices), ElementsAre(true, false, false));
}

TEST(NvmlDevices, AGpuThatIsDividedIntoNothingIsFaulty) {
  FakeMachine machine;
  machine.has({0});
  machine.gpu(0).mig = true;
  const auto devices = opened(machine, machine.files({0}));
  EXPECT_THAT(devices->list(), ElementsAre(Device{.id = {"nvidia0"}, .healthy = false}));
  ASSERT_EQ(machine.logged.size(), 1U);
  EXPECT_THAT(machine.logged[0].text, HasSubstr("no slices"));
}

TEST(NvmlDevices, TellsWhichOfTheProcessesUseADevice) {
  FakeMachine machine;
  machine.has({0, 1, 2});
  machine.gpu(0).processes = {40, 41};
  machine.gpu(1).processes = {41, 42};
  machine.gpu(2).slices = {slice("MIG-a"), slice("MIG-b")};
  machine.gpu(2).slices[1].processes = {41};
  machine.gpu(2).mig = true;
  const auto devices = opened(machine, machine.files({0, 1, 2}));
  EXPECT_THAT(devices->uses({41, 42, 43}),
              ElementsAre(DeviceUse{{"MIG-b"}, 41}, DeviceUse{{"nvidia0"}, 41}, DeviceUse{{"nvidia1"}, 41},
                          DeviceUse{{"nvidia1"}, 42}));
  EXPECT_THAT(devices->uses({}), IsEmpty());
  machine.gpu(1).status = kFakeGpuIsLost;
  EXPECT_THAT(devices->uses({42}), IsEmpty());
}

TEST(NvmlDevices, FindsAProcessAmongMany) {
  FakeMachine machine;
  machine.has({0});
  for (unsigned int process = 1; process <= 500; ++process) machine.gpu(0).processes.push_back(process);
  const auto devices = opened(machine, machine.files({0}));
  EXPECT_THAT(devices->uses({500, 501}), ElementsAre(DeviceUse{{"nvidia0"}, 500}));
}

TEST(NvmlDevices, AnOldLibraryTellsModelAndMemory) {
  FakeMachine machine(BANYAN_FAKE_NVML_BARE);
  machine.has({0, 1});
  machine.gpu(0).slices = {slice("MIG-a")};
  machine.gpu(0).mig = true;
  machine.gpu(0).processes = {40};
  const auto devices = opened(machine, machine.files({0, 1}));
  EXPECT_THAT(devices->list(), ElementsAre(model(0), model(1)));
  EXPECT_THAT(devices->uses({40}), IsEmpty());
  machine.gpu(1).status = kFakeGpuIsLost;
  EXPECT_THAT(healthy(*devices), ElementsAre(true, false));
  ASSERT_EQ(machine.logged.size(), 2U);
  EXPECT_THAT(machine.logged[0].text, HasSubstr("tells no errors"));
}

TEST(NvmlDevices, TheLibraryIsLeftAsItWas) {
  FakeMachine machine;
  machine.has({0, 1});
  auto devices = opened(machine, machine.files({0, 1}));
  EXPECT_EQ(machine.nvml().initialised, 1);
  EXPECT_EQ(machine.nvml().event_sets, 1);
  devices.reset();
  EXPECT_EQ(machine.nvml().initialised, 0);
  EXPECT_EQ(machine.nvml().event_sets, 0);
}

ErrorKind kind_of_failure(FakeMachine& machine, const std::string& library, const std::string& expected) {
  const auto devices = NvmlDevices::open({machine.file("nvidia0")}, library, machine.log());
  if (devices) {
    ADD_FAILURE() << "it opens " << library;
    return ErrorKind::kInvalid;
  }
  EXPECT_THAT(devices.error().message, HasSubstr(expected));
  return devices.error().kind;
}

TEST(NvmlDevices, ALibraryThatIsAbsentIsToldFromOneThatFails) {
  FakeMachine machine;
  machine.has({0});
  EXPECT_EQ(kind_of_failure(machine, "libbanyan-absent.so.1", "libbanyan-absent.so.1"), ErrorKind::kNotFound);
  EXPECT_EQ(kind_of_failure(machine, machine.file("absent.so"), "absent.so"), ErrorKind::kNotFound);
  std::ofstream(machine.file("empty.so")) << "";  // as some containers have it
  EXPECT_EQ(kind_of_failure(machine, machine.file("empty.so"), "too short"), ErrorKind::kUnavailable);
  EXPECT_EQ(kind_of_failure(machine, "libm.so.6", "libm.so.6 has no function nvml"), ErrorKind::kUnavailable);
  machine.nvml().init = kFakeDriverNotLoaded;
  EXPECT_EQ(kind_of_failure(machine, machine.library(),
                            "nvmlInit_v2 of NVIDIA's management library fails: Driver Not Loaded"),
            ErrorKind::kUnavailable);
  EXPECT_EQ(machine.nvml().initialised, 0) << "what has not begun does not end";
}

TEST(NvmlDevices, ALibraryThatKnowsNoneOfTheGpusFails) {
  FakeMachine machine;
  machine.has({1, 2});
  EXPECT_EQ(kind_of_failure(machine, machine.library(), "none of this host's GPUs"), ErrorKind::kUnavailable);
  EXPECT_EQ(machine.nvml().initialised, 0);
}

}  // namespace
}  // namespace banyan::runtime
