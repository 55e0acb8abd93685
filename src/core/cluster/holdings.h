// How many devices cells have, by session and by whose sessions these are.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/ids.h"
#include "core/cluster/device.h"

namespace banyan::cluster {

/// Counts each device of a session once, however often it is named as bound. What is said of a session before
/// anybody has said whose it is counts for the owner without a name.
class Holdings {
 public:
  /// The session is theirs from now on, and so is what its cells have.
  void set_owner(const SessionId& session, std::string owner);
  /// The session is gone; what a host still names as bound to it counts until that ends.
  void forget(const SessionId& session);
  void take(const SessionId& session, const HostId& host, const DeviceId& device);
  void release(const SessionId& session, const HostId& host, const DeviceId& device);

  /// How many devices the cells of all sessions of this owner have now.
  [[nodiscard]] std::uint64_t of(const std::string& owner) const;
  /// The owners whose number of devices may have changed since this was called last.
  [[nodiscard]] std::set<std::string> take_changed() { return std::exchange(changed_, {}); }
  /// Whose session it is; empty when that is not known.
  [[nodiscard]] const std::string& owner_of(const SessionId& session) const;

 private:
  struct Session {
    std::string owner;
    bool exists = false;
    std::map<std::pair<HostId, DeviceId>, std::uint64_t> uses;
  };
  void forget_if_idle(const SessionId& session);
  void count(const std::string& owner, std::uint64_t more, std::uint64_t fewer);

  std::map<SessionId, Session> sessions_;
  std::map<std::string, std::uint64_t> owners_;  ///< those that have some
  std::set<std::string> changed_;
};

}  // namespace banyan::cluster
