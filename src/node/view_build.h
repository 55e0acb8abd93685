// How a worker is made a view of head: for how long, what was predicted, and what people are told of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "node/host_context.h"

namespace banyan::node {

/// One build at a time: from when the variables of a worker stopped to be a view of head until they are one.
/// It keeps what it came to. The replica does what is to be done, and tells it.
class ViewBuild {
 public:
  /// The context outlives this.
  ViewBuild(HostContext& host, SessionId session) : host_(host), session_id_(std::move(session)) {}

  /// Begins, unless one is under way.
  void begin(std::int64_t predicted_us);
  [[nodiscard]] bool under_way() const { return now_.has_value(); }
  /// How long it has been under way; nothing when none is.
  [[nodiscard]] std::optional<Duration> age() const;
  /// One is under way, and not for long: what it waits for goes before everything else.
  [[nodiscard]] bool is_young() const;
  // What happens. All of these are without effect while none is under way.
  /// What is done, for a person.
  void doing(std::string what);
  void loaded(std::uint64_t values, std::uint64_t bytes);
  void ran_a_cell();
  /// The worker is a view of head. False when none was under way.
  bool end();
  /// The worker is gone.
  void stop() { now_.reset(); }

  /// How far it is; nothing for what is soon done.
  [[nodiscard]] std::optional<ViewProgress> progress() const;
  /// What the last one came to that was worth telling.
  [[nodiscard]] const std::optional<ViewBuilt>& last() const { return last_; }

 private:
  struct Build {
    Time since;
    ViewBuilt so_far;
    std::string what;
  };

  HostContext& host_;
  const SessionId session_id_;
  std::optional<Build> now_;
  std::optional<ViewBuilt> last_;
};

}  // namespace banyan::node
