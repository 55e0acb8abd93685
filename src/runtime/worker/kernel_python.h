// The Python of one kernel on this host.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "node/protocol.h"
#include "runtime/worker/config.h"
#include "runtime/worker/view_zygote.h"
#include "runtime/worker/zygote.h"

namespace banyan::runtime {

/// Knows whether an interpreter can run workers of a kernel, and keeps the zygotes that fork them. The zygote
/// is the trial: an interpreter that has brought one up can run the kernel. When a zygote does not come up,
/// the kernel counts as one that cannot run here, and the interpreter is tried again now and then, because
/// somebody may install what it lacks. All calls and handlers are on the loop's thread.
class KernelPython {
 public:
  struct Handlers {
    /// A zygote says that a worker was forked, could not be forked, or has ended.
    std::function<void(const ZygoteSays&)> says;
    /// A zygote is gone, and its workers with it.
    std::function<void(const Zygote& zygote, const std::string& reason)> died;
    /// report() has changed. It may be called from within calls of this class.
    std::function<void()> changed;
    LogSink log;
  };
  /// Whether the zygotes stay for ever, or end when no worker has needed them for a while.
  enum class Keep : std::uint8_t { kAlways, kWhileUsed };

  /// Starts nothing yet. `zygote` is the command up to the interpreter, with the environment of all kernels.
  /// `loop`, `pool` and `config` must outlive this.
  KernelPython(boost::asio::io_context& loop, boost::asio::thread_pool& pool, const WorkerConfig& config,
               KernelConfig kernel, ProcessSpec zygote, Keep keep, Handlers handlers);
  KernelPython(const KernelPython&) = delete;
  ~KernelPython();

  [[nodiscard]] const node::KernelReport& report() const { return report_; }
  /// Tries the interpreter, unless it is being tried or its zygote is there.
  void check();
  /// The zygote that forks the next worker; with `ahead` one that has imported libraries, if there is one.
  /// kUnavailable says why the kernel cannot run.
  Result<std::shared_ptr<Zygote>> zygote(bool ahead);
  /// Counts the workers of zygote(): +1 when one begins, -1 when one has ended.
  void used(int change);
  /// A worker has imported these modules.
  void note(const std::vector<std::string>& modules);
  /// The libraries that zygote(true) has imported; empty while it would be a zygote without any.
  [[nodiscard]] std::set<std::string> ahead() const {
    return views_ ? views_->libraries() : std::set<std::string>();
  }
  /// The process id of its zygote; 0 when there is none at the moment.
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
  std::vector<std::shared_ptr<Zygote>> dropped_;  ///< kept until none of their handlers runs any more
  boost::asio::steady_timer again_;               ///< fires when the interpreter is to be tried again
  boost::asio::steady_timer idle_;
  std::chrono::milliseconds backoff_;
  int users_ = 0;
  std::shared_ptr<bool> life_ = std::make_shared<bool>(true);
};

}  // namespace banyan::runtime
