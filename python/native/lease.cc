#include "lease.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace banyan {
namespace {

constexpr std::chrono::milliseconds kPeriod{50};

struct Watchdog {
  const std::int64_t* deadline_ns;
  std::atomic<bool> armed = false;
  std::mutex mutex;
  std::condition_variable wake;
  bool asleep = false;  // Guarded by mutex.

  [[nodiscard]] bool expired() const {
    const std::int64_t deadline = __atomic_load_n(deadline_ns, __ATOMIC_ACQUIRE);
    if (deadline == 0) return false;
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000'000 + now.tv_nsec >= deadline;
  }

  // If cells follow each other quickly, the thread is in its wait of 50 ms and nobody has to wake it. In an
  // idle worker it sleeps.
  [[noreturn]] void run() {
    std::unique_lock lock(mutex);
    for (;;) {
      if (!armed) {
        asleep = true;
        wake.wait(lock, [this] { return armed.load(); });
        asleep = false;
      }
      if (armed && expired()) _exit(kLeaseExpired);
      wake.wait_for(lock, kPeriod);
    }
  }

  void arm() {
    armed = true;
    const std::lock_guard lock(mutex);
    if (asleep) wake.notify_one();
  }
};

// It is never deleted: the thread outlives all statics, and a child that user code forks has the object but
// no such thread.
Watchdog* watchdog = nullptr;

}  // namespace

void start_lease_watchdog(int fd) {
  if (watchdog != nullptr) throw std::logic_error("the lease watchdog runs already");
  void* page = mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, fd, 0);
  if (page == MAP_FAILED)
    throw std::system_error(errno, std::generic_category(), "cannot map the lease page");
  watchdog = new Watchdog{.deadline_ns = static_cast<const std::int64_t*>(page), .mutex = {}, .wake = {}};
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread([] { watchdog->run(); });
  pthread_setname_np(thread.native_handle(), "banyan-lease");
  thread.detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void arm_lease() {
  if (watchdog != nullptr) watchdog->arm();
}

void disarm_lease() {
  if (watchdog != nullptr) watchdog->armed = false;
}

}  // namespace banyan
