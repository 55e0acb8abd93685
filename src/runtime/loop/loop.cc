#include "runtime/loop/loop.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <utility>

namespace banyan::runtime {

namespace asio = boost::asio;

namespace {

constexpr int kBackgroundNice = 10;  // beside a thread of nice 0 it has a tenth of a core

void repeat(const std::shared_ptr<asio::steady_timer>& timer, Duration period,
            const std::shared_ptr<std::function<void()>>& task) {
  timer->expires_after(period);
  timer->async_wait([timer, period, task](const boost::system::error_code& error) {
    if (error) return;
    (*task)();
    repeat(timer, period, task);
  });
}

}  // namespace

Loop::Loop(std::size_t pool_threads) : io_(1), pool_(pool_threads) {
  // Of one thread; without the right to it nothing changes.
  asio::post(background_,
             [] { (void)setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kBackgroundNice); });
}

Loop::~Loop() {
  for (asio::thread_pool* pool : {&pool_, &background_}) {
    pool->stop();
    pool->join();
  }
}

Now Loop::now() const {
  timespec mono{};
  clock_gettime(CLOCK_MONOTONIC, &mono);
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  return {Time(std::chrono::seconds(mono.tv_sec) + std::chrono::nanoseconds(mono.tv_nsec)),
          {std::chrono::duration_cast<std::chrono::microseconds>(wall).count()}};
}

void Loop::post(std::function<void()> task) { asio::post(io_, std::move(task)); }

void Loop::every(Duration period, std::function<void()> task) {
  repeat(std::make_shared<asio::steady_timer>(io_), period,
         std::make_shared<std::function<void()>>(std::move(task)));
}

void Loop::after(Duration delay, std::function<void()> task) {
  auto timer = std::make_shared<asio::steady_timer>(io_);
  timer->expires_after(delay);
  timer->async_wait([timer, task = std::move(task)](const boost::system::error_code& error) {
    if (!error) task();
  });
}

void Loop::offload(std::function<void()> work, std::function<void()> done) {
  offload_to(pool_, std::move(work), std::move(done));
}

void Loop::offload_in_background(std::function<void()> work, std::function<void()> done) {
  offload_to(background_, std::move(work), std::move(done));
}

void Loop::offload_to(asio::thread_pool& pool, std::function<void()> work, std::function<void()> done) {
  asio::post(pool, [this, work = std::move(work), done = std::move(done)]() mutable {
    work();
    work = nullptr;  // so that what it holds is gone before `done` runs
    asio::post(io_, std::move(done));
  });
}

void Loop::run() {
  const auto guard = asio::make_work_guard(io_);
  io_.run();
}

void Loop::stop() { io_.stop(); }

}  // namespace banyan::runtime
