#include "daemons/service.h"

#include <malloc.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <random>

#include "runtime/net/handshake.h"

namespace banyan::daemons {

namespace {
constexpr Duration kLookEvery = std::chrono::milliseconds(20);
}  // namespace

Life draw_life() {
  std::random_device device;
  const auto word = [&] { return static_cast<std::uint64_t>(device()) << 32 | device(); };
  return {{word() | 1}, word()};
}

void start_log(const std::string& name) {
  spdlog::set_default_logger(spdlog::stderr_color_mt(name));
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%f %n %l %v");
  spdlog::flush_on(spdlog::level::info);
}

void write_log(const node::Log& line) {
  switch (line.level) {
    case node::Log::Level::kDebug:
      return spdlog::debug("{}", line.text);
    case node::Log::Level::kInfo:
      return spdlog::info("{}", line.text);
    case node::Log::Level::kWarning:
      return spdlog::warn("{}", line.text);
    case node::Log::Level::kError:
      return spdlog::error("{}", line.text);
  }
}

void die(const std::string& reason) {
  spdlog::critical("{}", reason);
  spdlog::shutdown();
  std::_Exit(1);  // destructors would wait for what has just failed, so none runs
}

void log_refusal(const HostId& peer, const std::string& why) {
  spdlog::error("no connection to {}: {}", runtime::for_log(peer.value), why);
}

void log_turned_away(const HostId& peer, const std::string& why) {
  spdlog::warn("whoever uses the name of {} is refused: {}", runtime::for_log(peer.value), why);
}

std::filesystem::path keys_folder(const std::filesystem::path& folder) { return folder / "keys"; }

Result<runtime::Identity> load_identity(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  const fs::path keys = keys_folder(folder);
  std::error_code error;
  if (fs::create_directories(keys, error)) fs::permissions(keys, fs::perms::owner_all, error);
  if (error) return fail(ErrorKind::kIo, "cannot make " + keys.string() + ": " + error.message());
  auto identity = runtime::Identity::load_or_create(keys / "identity.pem");
  if (identity) spdlog::info("the key of this daemon is {}", identity->key());
  return identity;
}

void stop_on_signals(runtime::Loop& loop, std::function<void()> farewell, std::function<bool()> may_stop,
                     Duration patience) {
  auto signals = std::make_shared<boost::asio::signal_set>(loop.io(), SIGTERM, SIGINT);
  signals->async_wait([&loop, signals, farewell = std::move(farewell), may_stop = std::move(may_stop),
                       patience](const boost::system::error_code& error, int signal) {
    if (error) return;
    spdlog::info("stopping on signal {}", signal);
    farewell();
    if (may_stop()) return loop.stop();
    loop.every(kLookEvery, [&loop, may_stop] {
      if (may_stop()) loop.stop();
    });
    loop.after(patience, [&loop] { loop.stop(); });
  });
}

std::uint64_t machine_memory_bytes() {
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

void return_free_memory() {
  constexpr std::size_t kMuch = 8 << 20;
  // Free bytes after the last trim: they stay in the heap's lists, but have no pages any more.
  static std::size_t left = 0;
  const std::size_t free = mallinfo2().fordblks;
  left = std::min(left, free);
  if (free - left < kMuch) return;
  malloc_trim(0);
  left = mallinfo2().fordblks;
}

}  // namespace banyan::daemons
