// The zygotes of workers that show variables of a session.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/worker/config.h"
#include "runtime/worker/modules_ahead.h"
#include "runtime/worker/zygote.h"

namespace banyan::runtime {

/// Keeps a zygote that has imported what workers of this host have imported, so that its workers load values
/// at once: importing pandas takes longer than loading most frames. A zygote that forks never imports. When
/// workers have imported more, or a library was replaced on the disk, a new zygote takes its place; the old
/// one lives as long as its workers. All calls and handlers are on the loop's thread.
class ViewZygote {
 public:
  struct Handlers {
    /// A zygote says that a worker was forked, could not be forked, or has ended.
    std::function<void(const ZygoteSays&)> says;
    /// A zygote is gone, and its workers with it.
    std::function<void(const Zygote& zygote, const std::string& reason)> died;
    LogSink log;
  };

  /// Starts nothing before note() has told of a library. `loop`, `pool` and `config` must outlive this.
  ViewZygote(boost::asio::io_context& loop, boost::asio::thread_pool& pool, ProcessSpec spec,
             const WorkerConfig& config, Handlers handlers);
  ViewZygote(const ViewZygote&) = delete;
  ~ViewZygote();

  /// A worker has imported these modules. Those of libraries that are not in the configuration are ignored,
  /// and those of libraries that a zygote was found to be unfit for.
  void note(const std::vector<std::string>& modules);
  /// What the zygote that serves has imported; empty when there is none.
  [[nodiscard]] std::set<std::string> libraries() const;
  /// The zygote that has done its imports and serves; null when there is none.
  [[nodiscard]] std::shared_ptr<Zygote> warm();

 private:
  void schedule();
  void prepare();
  void says(std::uint64_t number, const ZygoteSays& said);
  void imported(const ZygoteImported& done);
  void died(std::uint64_t number, const std::string& reason);
  void fail_next(const std::string& why);
  void leave_out(const std::vector<std::string>& unfit);
  void drop(std::shared_ptr<Zygote>& zygote);

  boost::asio::io_context& loop_;
  boost::asio::thread_pool& pool_;
  ProcessSpec spec_;
  const WorkerConfig& config_;
  Handlers handlers_;
  boost::asio::steady_timer timer_;     ///< fires when the next zygote is to begin
  boost::asio::steady_timer deadline_;  ///< by then the next zygote must have done its imports
  ModulesAhead modules_;
  std::shared_ptr<Zygote> current_;
  std::uint64_t current_number_ = 0;
  std::vector<ZygoteImported::File> files_;  ///< the files of the current zygote's libraries
  std::set<std::string> libraries_;          ///< these
  std::vector<std::string> told_;            ///< what the next zygote is to import
  std::shared_ptr<Zygote> next_;
  std::vector<std::shared_ptr<Zygote>> dropped_;  ///< kept until none of their handlers runs any more
  std::uint64_t next_number_ = 0;
  std::map<std::uint64_t, std::weak_ptr<Zygote>> zygotes_;  ///< all that live, old ones too, by number
  std::optional<std::chrono::steady_clock::time_point> prepared_at_;
  int failures_ = 0;
  std::shared_ptr<bool> life_ = std::make_shared<bool>(true);
};

}  // namespace banyan::runtime
