// The Python of one kernel on this host.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "node/protocol.h"
#include "runtime/worker/config.h"
#include "runtime/worker/view_zygote.h"
#include "runtime/worker/zygote.h"

namespace banyan::runtime {

/// Knows whether an interpreter can run workers of a kernel, and has the zygotes that fork them. Its zygote
/// is the trial: an interpreter that has brought it up can run the kernel, until one does not come up any
/// more; then it is tried again now and then, since somebody may install what it lacks. All calls and
/// handlers on the loop thread.
class KernelPython {
 public:
  struct Handlers {
    /// Of workers: forked, ended, not forked.
    std::function<void(const ZygoteSays&)> says;
    /// A zygote is gone, and its workers with it.
    std::function<void(const Zygote& zygote, const std::string& reason)> died;
    /// report() is another one. Also from within calls.
    std::function<void()> changed;
    LogSink log;
  };
  /// Whether its zygotes end when no worker has needed them for a while.
  enum class Keep : std::uint8_t { kAlways, kWhileUsed };

  /// Starts nothing. `zygote` is the command up to the interpreter, with the environment of all kernels;
  /// `loop`, `pool` and `config` outlive this.
  KernelPython(boost::asio::io_context& loop, boost::asio::thread_pool& pool, const WorkerConfig& config,
               KernelConfig kernel, ProcessSpec zygote, Keep keep, Handlers handlers);
  KernelPython(const KernelPython&) = delete;
  ~KernelPython();

  [[nodiscard]] const node::KernelReport& report() const { return report_; }
  /// Tries the interpreter, unless it is being tried or its zygote is there.
  void check();
  /// What forks the next worker, `ahead` one that has libraries, where there is one. kUnavailable says why
  /// the kernel cannot run.
  Result<std::shared_ptr<Zygote>> zygote(bool ahead);
  /// A worker of zygote() begins, or has ended.
  void used(int change);
  /// A worker has imported these.
  void note(const std::vector<std::string>& modules);
  /// Of its zygote; 0 when there is none at the moment.
  [[nodiscard]] int pid() const { return zygote_ ? zygote_->pid() : 0; }

 private:
  void says(const ZygoteSays& said);
  void ready(const ZygoteReady& said);
  void died(const std::string& reason);
  void cannot(const std::string& why);
  void set(node::KernelReport report);
  void rest();
  void drop_zygote();
  [[nodiscard]] std::string advised(const std::string& reason) const;
  [[nodiscard]] ProcessSpec spec(const std::filesystem::path& python) const;

  boost::asio::io_context& loop_;
  boost::asio::thread_pool& pool_;
  const WorkerConfig& config_;
  const KernelConfig kernel_;
  const ProcessSpec base_;
  const Keep keep_;
  Handlers handlers_;
  node::KernelReport report_;
  std::shared_ptr<Zygote> zygote_;
  std::optional<ViewZygote> views_;
  std::vector<std::shared_ptr<Zygote>> dropped_;  ///< until none of their handlers runs
  boost::asio::steady_timer again_;               ///< for the next trial
  boost::asio::steady_timer idle_;
  std::chrono::milliseconds backoff_;
  int users_ = 0;
  std::shared_ptr<bool> life_ = std::make_shared<bool>(true);
};

}  // namespace banyan::runtime
