// Strong identifiers: two ids of different kinds never compare or convert.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>

namespace banyan {

/// A value that names something; `Tag` says what.
template <class Tag, class Rep>
struct Id {
  Rep value{};

  friend auto operator<=>(const Id&, const Id&) = default;
  friend bool operator==(const Id&, const Id&) = default;
};

/// A server, by the name its host agent registers with.
using HostId = Id<struct HostTag, std::string>;
/// A session; Jupyter clients see it as the kernel id (UUID text).
using SessionId = Id<struct SessionTag, std::string>;
/// One cell execution: the msg_id of its execute_request.
using ExecutionId = Id<struct ExecutionTag, std::string>;
/// A member of a session's Raft group. Never used again within the session; 0 is nobody.
using ReplicaId = Id<struct ReplicaTag, std::uint64_t>;
/// Counts the executors of a session: it grows each time another replica takes the lead. 0 is before the
/// first.
using Epoch = Id<struct EpochTag, std::uint64_t>;
/// A commit of a session: its sequence number in the log. 0 is the empty root.
using CommitId = Id<struct CommitTag, std::uint64_t>;
/// A GPU of a host, or a part of one that can be bound by itself. Unique on its host.
using DeviceId = Id<struct DeviceTag, std::string>;
/// One life of a worker process on a host; never used again by that host's life.
using WorkerId = Id<struct WorkerTag, std::uint64_t>;
/// One WebSocket connection of a client during one life of a gateway.
using ConnectionId = Id<struct ConnectionTag, std::uint64_t>;
/// One REST request of a gateway's life.
using RequestId = Id<struct RequestTag, std::uint64_t>;
/// One life of a daemon, drawn at random at its start: tells a restart from a reconnect.
using Incarnation = Id<struct IncarnationTag, std::uint64_t>;

}  // namespace banyan

template <class Tag, class Rep>
struct std::hash<banyan::Id<Tag, Rep>> {
  std::size_t operator()(const banyan::Id<Tag, Rep>& id) const noexcept { return std::hash<Rep>{}(id.value); }
};
