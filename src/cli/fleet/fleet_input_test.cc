#include "cli/fleet/fleet_input.h"

#include <gtest/gtest.h>

#include <fstream>

namespace banyan::cli {
namespace {

class FleetInputTest : public testing::Test {
 protected:
  FleetInputTest() {
    write("catalog.csv", "type,family,gpu,cpu,ram_gib,usd_h\nit1,p,4,16,244,12\nit3,c,0,8,32,0.8\n");
    write("tasks.csv", "id,gpu,cpu,ram_gib\na,2,8,24\nb,0,6,20\n");
  }
  static std::string path(const std::string& name) { return testing::TempDir() + name; }
  static void write(const std::string& name, const std::string& text) { std::ofstream(path(name)) << text; }
  static Result<FleetInput> read(const std::string& current = "") {
    return read_fleet_input(path("tasks.csv"), path("catalog.csv"), current.empty() ? "" : path(current));
  }
  /// The error of reading the files, without their folder.
  static std::string error(const std::string& current = "") {
    const auto input = read(current);
    return input ? "" : input.error().message.substr(testing::TempDir().size());
  }
};

TEST_F(FleetInputTest, EqualTasksShareAWorkload) {
  write("tasks.csv", "id,gpu,cpu,ram_gib,job\na,2,8,24,j\nb,2,8,24,j\nc,0,6,20,\n");
  const auto input = read();
  ASSERT_TRUE(input) << input.error().message;
  EXPECT_EQ(input->workloads.size(), 2U);
  EXPECT_EQ(input->tasks[1].job_tasks, 2U);
  EXPECT_EQ(input->tasks[2].job_tasks, 1U);
}

TEST_F(FleetInputTest, FamiliesHaveDemandsAndSpeedsOfTheirOwn) {
  write("tasks.csv", "id,gpu,cpu,ram_gib,cpu@p,speed@c\na,0,4,8,9,0\n");
  const auto input = read();
  ASSERT_TRUE(input) << input.error().message;
  EXPECT_EQ(input->workloads[0].on[0]->demand, eva::resources(0, 9, 8));
  EXPECT_FALSE(input->workloads[0].on[1]) << "speed 0: cannot run there";
}

TEST_F(FleetInputTest, WhatIsWrongWithTasksIsSaidWithFileAndLine) {
  write("tasks.csv", "id,gpu,cpu,ram_gib\na,2,8,24\nb,64,6,20\n");
  EXPECT_EQ(error(), "tasks.csv:3: task 'b' fits no type of the catalog; ask for less or add a larger type");
  write("tasks.csv", "id,gpu,cpu,ram_gib\na,2,-8,24\n");
  EXPECT_EQ(error(), "tasks.csv:2: cpu is -8, below 0");
  write("tasks.csv", "id,gpu,cpu,ram_gib\na,2,8,24\n\na,0,1,1\n");
  EXPECT_EQ(error(), "tasks.csv:4: id 'a' is already on line 2");
  write("tasks.csv", "id,gpu,cpu,ram_gib,colour\na,2,8,24,red\n");
  EXPECT_EQ(error().substr(0, 36), "tasks.csv:1: unknown column 'colour'");
  write("tasks.csv", "id,gpu,cpu,ram_gib\na,two,8,24\n");
  EXPECT_EQ(error(), "tasks.csv:2: gpu is 'two', not a number");
}

TEST_F(FleetInputTest, WhatIsWrongWithTheCatalogIsSaidWithFileAndLine) {
  write("catalog.csv", "type,family,gpu,cpu,ram_gib,usd_h\nit1,p,4,16,244,0\n");
  EXPECT_EQ(error(), "catalog.csv:2: usd_h is 0; a price is above it");
  write("catalog.csv", "type,family,gpu,cpu,ram_gib,usd_h\nit1,p,4,16,244,12\nit1,p,4,16,244,12\n");
  EXPECT_EQ(error(), "catalog.csv:3: type 'it1' is there twice");
}

TEST_F(FleetInputTest, TheCurrentFleetMustBePossible) {
  write("now.csv", "instance,type,task\ni,it1,a\ni,it1,b\nidle,it3,\n");
  const auto input = read("now.csv");
  ASSERT_TRUE(input) << input.error().message;
  EXPECT_EQ(input->instances.size(), 2U);
  EXPECT_EQ(input->tasks[1].instance, 0U);
  write("now.csv", "instance,type,task\ni,it3,a\n");
  EXPECT_EQ(error("now.csv"), "now.csv:2: task 'a' does not fit on 'i'");
  write("now.csv", "instance,type,task\ni,it1,nobody\n");
  EXPECT_EQ(error("now.csv"), "now.csv:2: task 'nobody' is not in the list of tasks");
  write("now.csv", "instance,type,task\ni,it1,a\nj,it1,a\n");
  EXPECT_EQ(error("now.csv"), "now.csv:3: task 'a' is on 'i' already");
}

}  // namespace
}  // namespace banyan::cli
