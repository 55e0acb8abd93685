// The lease under which a host runs the user code of a session's cells.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "node/host_context.h"

namespace banyan::node {

/// An executor runs user code only as long as its lease is not over, and a new one begins only when that of
/// the one before is: so never two at a time. A lease begins with the executor's bid. It is renewed by
/// linearizable reads of the session's log: whoever takes the lead away has that committed before the answer,
/// and waits.
class Lease {
 public:
  /// The host outlives this.
  explicit Lease(const HostContext& host) : host_(host) {}

  // That of another executor, or of an earlier life of this host.
  /// It may last as long as one that begins now.
  void another_begins() { free_at_ = now() + host_.timing().lease + host_.timing().lease_margin; }
  /// It is known that nothing runs.
  void nobody_has_it() { free_at_.reset(); }
  [[nodiscard]] bool is_another_held() const { return free_at_ && now() < *free_at_; }

  // One's own.
  /// `asked`: when the bid that the log took was made.
  void begin(Time asked);
  void end();
  /// Nothing while there is none.
  [[nodiscard]] std::optional<Time> until() const { return until_; }
  [[nodiscard]] bool is_over() const { return until_ && now() >= *until_; }
  /// So little of it is left that a cell should not begin with it.
  [[nodiscard]] bool is_short() const { return until_ && *until_ - now() < host_.timing().lease / 2; }
  /// How long after the last time the majority is asked again: long before the end, or at once, as a cell
  /// waits.
  enum class Renewal : std::uint8_t { kInTime, kSoon };
  [[nodiscard]] bool is_due(Renewal renewal) const;
  /// The read of this context was sent.
  void on_asked(std::uint64_t context);
  /// The read was answered: when it had been sent. Nothing for a read of somebody else.
  [[nodiscard]] std::optional<Time> take_asked(std::uint64_t context);
  /// The majority still knew this executor after `asked`.
  void renew(Time asked);

 private:
  [[nodiscard]] Time now() const { return host_.now().mono; }

  const HostContext& host_;
  std::optional<Time> free_at_;
  std::optional<Time> until_;
  std::optional<Time> asked_at_;         ///< the last renewal
  std::map<std::uint64_t, Time> asked_;  ///< when each read was sent, by context
};

}  // namespace banyan::node
