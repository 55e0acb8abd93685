// What the two daemons have in common: log lines, signals, the numbers that name this life, the key pair.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>

#include "base/ids.h"
#include "node/gateway_events.h"
#include "runtime/loop/loop.h"
#include "runtime/net/identity.h"
#include "runtime/net/websocket_network.h"

namespace banyan::daemons {

/// What names one life of a daemon, drawn from the operating system at its start.
struct Life {
  Incarnation incarnation;
  std::uint64_t seed = 0;
};
Life draw_life();

/// Writes a log line of the node to the daemon's log (stderr).
void write_log(const node::Log& line);
/// Sets up the log of a daemon with this name.
void start_log(const std::string& name);
/// Prints `reason` as the daemon's last words and ends the process with status 1.
[[noreturn]] void die(const std::string& reason);
/// Logs why there is no connection to a peer.
void log_refusal(const HostId& peer, const std::string& why);
/// Logs why whoever uses a peer's name is refused.
void log_turned_away(const HostId& peer, const std::string& why);
/// Where a daemon with this folder has its own key pair, and keys of others that it trusts. Cells do not see
/// it where there is a sandbox.
std::filesystem::path keys_folder(const std::filesystem::path& folder);
/// The daemon's key pair, in its folder of keys; both are made at its first start. The log names the public
/// key.
Result<runtime::Identity> load_identity(const std::filesystem::path& folder);
/// Ends the loop on SIGTERM and SIGINT: `farewell` is called, and the loop stops as soon as it `may_stop`,
/// but after `patience` in any case.
void stop_on_signals(runtime::Loop& loop, std::function<void()> farewell, std::function<bool()> may_stop,
                     Duration patience);
/// The memory of this machine.
std::uint64_t machine_memory_bytes();

/// Hands what the network between daemons tells to a node, by `deliver`.
template <class Deliver>
runtime::WebSocketNetwork::Handlers peers_to(Deliver deliver) {
  return {.frame = [deliver](const HostId& from,
                             node::PeerFrame frame) { deliver(node::FrameArrived{from, std::move(frame)}); },
          .up = [deliver](const HostId& peer) { deliver(node::PeerUp{peer}); },
          .down = [deliver](const HostId& peer) { deliver(node::PeerDown{peer}); },
          .refused = log_refusal,
          .turned_away = log_turned_away};
}

/// Gives free memory back to the system when there is much of it: glibc keeps the memory of sessions that are
/// gone or hibernate. It takes some milliseconds; a timer calls it.
void return_free_memory();

}  // namespace banyan::daemons
