// For tests: a machine with GPUs, of which a library that stands for NVIDIA's tells.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "port/drivers.h"
#include "runtime/devices/test_nvml.h"

namespace banyan::runtime {

/// A machine whose device files are links to a character device that is always there. The library is as new
/// while this lives.
class FakeMachine {
 public:
  explicit FakeMachine(std::string library = BANYAN_FAKE_NVML) : library_(std::move(library)) {
    handle_ = dlopen(library_.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) throw std::runtime_error(dlerror());
    state_ = reinterpret_cast<decltype(&fake_nvml)>(dlsym(handle_, "fake_nvml"))();
    std::string pattern = (std::filesystem::temp_directory_path() / "banyan-gpus-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~FakeMachine() {
    *state_ = {};
    dlclose(handle_);
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  FakeMachine(const FakeMachine&) = delete;
  FakeMachine& operator=(const FakeMachine&) = delete;

  [[nodiscard]] const std::string& library() const { return library_; }
  [[nodiscard]] FakeNvml& nvml() { return *state_; }
  FakeDevice& gpu(std::size_t index) { return state_->gpus.at(index); }

  /// The path of a device file, whether it is there or not.
  [[nodiscard]] std::string file(const std::string& name) const { return folder_ / name; }
  /// Device files with these numbers, which are there.
  std::vector<std::string> files(const std::vector<unsigned int>& numbers) {
    std::vector<std::string> made;
    for (const unsigned int number : numbers) {
      made.push_back(file("nvidia" + std::to_string(number)));
      std::filesystem::create_symlink("/dev/null", made.back());
    }
    return made;
  }
  /// GPUs with these numbers, in this order of the library: "Model 3" with 3 GB, and UUID "GPU-3".
  void has(const std::vector<unsigned int>& numbers) {
    for (const unsigned int number : numbers) {
      const std::string text = std::to_string(number);
      state_->gpus.push_back({.name = "Model " + text,
                              .uuid = "GPU-" + text,
                              .minor = number,
                              .memory_bytes = number * 1'000'000'000ULL});
    }
  }

  /// Log lines go to `logged`.
  port::LogSink log() {
    return [this](const node::Log& line) { logged.push_back(line); };
  }
  std::vector<node::Log> logged;

 private:
  std::string library_;
  std::filesystem::path folder_;
  void* handle_ = nullptr;
  FakeNvml* state_ = nullptr;
};

}  // namespace banyan::runtime
