// The time constants and size limits of the node machines, in one place because they depend on each other.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace banyan::node {

struct Timing {
  Duration tick = 50ms;           ///< Raft's tick; events of type Tick come about this often
  int heartbeat_ticks = 2;        ///< 100 ms between heartbeats
  int election_ticks = 12;        ///< a follower campaigns after 600 to 1,200 ms of silence
  Duration lease = 2s;            ///< how long an executor may run user code without hearing from a majority
  Duration lease_margin = 200ms;  ///< clocks of two hosts drift less than this within a lease
  Duration executor_silent = 1500ms;  ///< a leader takes the lead from an executor that is silent for so long
  Duration link_resend = 200ms;       ///< an unacknowledged link message is sent again after this
  Duration interrupt_deadline = 20s;  ///< an interrupted cell that goes on is killed after this
  Duration replace_after = 8s;        ///< the gateway replaces a replica on a host that is silent for so long
  Duration hibernate_after = 30s;     ///< a suspended session that nobody asks is on the disk only
  Duration standby_after = 1s;   ///< after its launch an empty worker of a standby loads, and after a commit
                                 ///< one that has much to load: whom a client waits for goes first
  Duration standby_behind = 5s;  ///< it loads by then, also while commits come; an empty one that has much to
                                 ///< load loads then
  Duration standby_gave = 5s;    ///< a peer that it sent values loads them first
  Duration standby_gives = 1min;  ///< a minute after it fell behind it loads also while it sends some
  Duration plan_above = 50ms;     ///< a view that loads faster is loaded: to think about it would take longer
  Duration host_silent = 2s;      ///< the gateway treats a host as down when its link is silent for so long
};

/// Limits in bytes and entries.
struct Sizes {
  std::uint64_t inline_chunk_max = 64 << 10;  ///< larger chunks travel beside the log
  std::uint64_t durable_inline = 8 << 20;     ///< values of more bytes may be copied after the reply
  /// Bytes of values that cells have made and that are not on the disk yet; beyond it cells wait.
  std::uint64_t capture_bytes = std::uint64_t{4} << 30;
  std::uint64_t background_write = 4 << 20;  ///< bytes of them that go to the disk at a time
  std::uint64_t much_to_load = 16 << 20;     ///< for a standby, beside what others do on its host
  std::uint64_t chunk_part = 1 << 20;        ///< bytes of a ChunkPart
  std::uint64_t link_window = 8 << 20;       ///< unacknowledged bytes of a link
  std::uint64_t journal_max = 1 << 20;       ///< bytes of outputs that a commit keeps
  std::uint64_t compact_entries = 512;       ///< the log is compacted after so many entries
  std::uint64_t compact_bytes = 8 << 20;     ///< or so many bytes
  std::uint64_t client_window = 4 << 20;     ///< bytes on the way to one client
  std::uint64_t session_buffer =
      64 << 20;  ///< bytes a gateway keeps for the slow or absent clients of a session
  std::uint64_t message_max = 256 << 20;  ///< bytes of one message of a client
  std::uint64_t small_value =
      64 << 10;  ///< an export brings each value of so few bytes (session::kSmallValue)
};

}  // namespace banyan::node
