// The lease under which a host runs the user code of a session's cells.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "node/host_context.h"

namespace banyan::node {

/// Only one executor at a time runs user code: it runs code while its lease lasts, and its successor waits
/// until that lease must be over. The lease begins when the executor bids. It is extended by linearizable
/// reads of the session's log: had another executor been committed before such a read was sent, the read
/// would show it.
class Lease {
 public:
  /// The context outlives this.
  explicit Lease(const HostContext& host) : host_(host) {}

  // That of another executor, or of an earlier life of this host.
  /// It may hold a lease that lasts as long as one that begins now. Until that is over no user code begins
  /// here.
  void another_begins() { free_at_ = now() + host_.timing().lease + host_.timing().lease_margin; }
  /// It is known that nothing runs.
  void nobody_has_it() { free_at_.reset(); }
  [[nodiscard]] bool is_another_held() const { return free_at_ && now() < *free_at_; }

  // One's own.
  /// `asked`: when the bid was made that the log took. The lease counts from there.
  void begin(Time asked);
  void end();
  /// Nothing while there is none.
  [[nodiscard]] std::optional<Time> until() const { return until_; }
  [[nodiscard]] bool is_over() const { return until_ && now() >= *until_; }
  /// So little of it is left that a cell should not begin with it.
  [[nodiscard]] bool is_short() const { return until_ && *until_ - now() < host_.timing().lease / 2; }
  /// When the majority is asked again: well before the end, or at once, because a cell waits for it.
  enum class Renewal : std::uint8_t { kInTime, kSoon };
  [[nodiscard]] bool is_due(Renewal renewal) const;
  /// The read of this context was sent.
  void on_asked(std::uint64_t context);
  /// Nobody took the read: the next renewal is due at once.
  void on_nobody_asked() { asked_at_.reset(); }
  /// The read of this context was answered. Returns when it had been sent; nothing if it was no renewal.
  [[nodiscard]] std::optional<Time> take_asked(std::uint64_t context);
  /// At `asked` or later a majority still knew this executor: the lease is extended from there.
  void renew(Time asked);

 private:
  [[nodiscard]] Time now() const { return host_.now().mono; }

  const HostContext& host_;
  std::optional<Time> free_at_;  ///< when that of another one is over
  std::optional<Time> until_;
  std::optional<Time> asked_at_;         ///< the last renewal
  std::map<std::uint64_t, Time> asked_;  ///< when each read was sent, by context
};

}  // namespace banyan::node
