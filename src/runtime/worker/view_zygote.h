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
#include "runtime/worker/zygote.h"

namespace banyan::runtime {

/// Keeps a zygote that has imported what workers of this host have imported, so that its workers load values
/// at once: to import pandas takes longer than to load most frames. When more is known, or a library was
/// replaced on the disk, a new one takes its place; a zygote that forks never imports. The old one lives as
/// long as its workers. All calls and handlers on the loop thread.
class ViewZygote {
 public:
  struct Handlers {
    /// Of workers: forked, ended, not forked.
    std::function<void(const ZygoteSays&)> says;
    /// A zygote is gone, and its workers with it.
    std::function<void(const Zygote& zygote, const std::string& reason)> died;
    LogSink log;
  };

  /// Nothing is started before something is known. `loop`, `pool` and `config` outlive it.
  ViewZygote(boost::asio::io_context& loop, boost::asio::thread_pool& pool, ProcessSpec spec,
             const WorkerConfig& config, Handlers handlers);
  ViewZygote(const ViewZygote&) = delete;
  ~ViewZygote();

  /// A worker has imported these. Names of other libraries than the configuration's are ignored.
  void note(const std::vector<std::string>& modules);
  /// One that has imported, and serves; null when there is none.
  [[nodiscard]] std::shared_ptr<Zygote> warm();

 private:
  void schedule();
  void prepare();
  void says(std::uint64_t number, const ZygoteSays& said);
  void imported(const ZygoteImported& done);
  void died(std::uint64_t number, const std::string& reason);
  void fail_next(const std::string& why);
  void drop(std::shared_ptr<Zygote>& zygote);

  boost::asio::io_context& loop_;
  boost::asio::thread_pool& pool_;
  ProcessSpec spec_;
  const WorkerConfig& config_;
  Handlers handlers_;
  boost::asio::steady_timer timer_;     ///< for the next one to begin
  boost::asio::steady_timer deadline_;  ///< for it to have imported
  std::set<std::string> known_;
  std::vector<std::string> order_;  ///< those that it is told, in the order in which they were imported
  bool more_ = false;               ///< than the next one was told
  std::shared_ptr<Zygote> current_;
  std::uint64_t current_number_ = 0;
  std::vector<ZygoteImported::File> files_;  ///< of the current one's libraries
  std::shared_ptr<Zygote> next_;
  std::vector<std::shared_ptr<Zygote>> dropped_;  ///< until none of their handlers runs
  std::uint64_t next_number_ = 0;
  std::map<std::uint64_t, std::weak_ptr<Zygote>> zygotes_;  ///< that live, also old ones, by their numbers
  std::optional<std::chrono::steady_clock::time_point> prepared_at_;
  int failures_ = 0;
  std::shared_ptr<bool> life_ = std::make_shared<bool>(true);
};

}  // namespace banyan::runtime
