// The zygote of workers that show variables of a session.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/worker/zygote.h"

namespace banyan::runtime {

/// Has imported what workers of this host have imported, so that its workers load values at once: to import
/// pandas takes longer than to load most frames. Workers of new sessions are not forked from it: their cells
/// may set what a library reads when it is imported. All calls and handlers on the loop thread.
class ViewZygote {
 public:
  /// Nothing is started before something is known. `after`: so long after the last module that is new.
  ViewZygote(boost::asio::io_context& loop, boost::asio::thread_pool& pool, ProcessSpec spec,
             std::chrono::milliseconds after, Zygote::Handlers handlers);
  ViewZygote(const ViewZygote&) = delete;
  ~ViewZygote();

  /// A worker has imported these.
  void note(const std::vector<std::string>& modules);
  /// The zygote, where it has nothing else to do at the moment; else null. It lives as long as this.
  [[nodiscard]] Zygote* warm();

 private:
  void import_pending();
  void died(const std::string& reason);

  boost::asio::io_context& loop_;
  boost::asio::thread_pool& pool_;
  ProcessSpec spec_;
  std::chrono::milliseconds after_;
  Zygote::Handlers handlers_;
  boost::asio::steady_timer timer_;
  std::optional<Zygote> zygote_;
  std::set<std::string> known_;
  std::vector<std::string>
      pending_;  ///< of these: it has not been told, in the order in which they were imported
  std::vector<std::string> told_;
  int importing_ = 0;  ///< requests that it has not answered
  int deaths_ = 0;
  std::shared_ptr<bool> life_ = std::make_shared<bool>(true);
};

}  // namespace banyan::runtime
