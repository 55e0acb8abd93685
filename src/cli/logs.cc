// `banyan logs`: the last lines of the daemons that `banyan up` started, and those that follow.

#include <chrono>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>
#include <utility>

#include "cli/commands.h"

namespace banyan::cli {

namespace fs = std::filesystem;

int logs(const LogsOptions& options) {
  const fs::path folder = fs::path(options.directory) / "logs";
  std::map<std::string, std::ifstream> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().stem();
    if (entry.path().extension() == ".log" && (options.name.empty() || options.name == name))
      files.emplace(name, std::ifstream(entry.path()));
  }
  if (files.empty()) {
    std::fprintf(stderr,
                 "banyan: no log %s%sin %s; name the folder that 'banyan up' was started with: --dir DIR\n",
                 options.name.c_str(), options.name.empty() ? "" : " ", folder.c_str());
    return kFailed;
  }
  const auto print = [&](const std::string& name, const std::string& line) {
    if (files.size() > 1) std::printf("%-8s ", name.c_str());
    std::printf("%s\n", line.c_str());
  };
  std::map<std::string, std::string> unfinished;
  for (auto& [name, file] : files) {
    std::deque<std::string> last;
    for (std::string line; std::getline(file, line);) {
      if (options.follow && file.eof()) {  // the rest of the line has not been written yet
        unfinished[name] = line;
        break;
      }
      last.push_back(line);
      if (last.size() > static_cast<std::size_t>(options.lines)) last.pop_front();
    }
    for (const auto& line : last) print(name, line);
  }
  while (options.follow) {
    std::fflush(stdout);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    for (auto& [name, file] : files) {
      file.clear();
      for (std::string part; std::getline(file, part);) {
        unfinished[name] += part;
        if (file.eof()) break;  // the rest of the line has not been written yet
        print(name, std::exchange(unfinished[name], {}));
      }
    }
  }
  return kDone;
}

}  // namespace banyan::cli
