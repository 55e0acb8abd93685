#include "node/gateway_hosts.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace banyan::node {

namespace {

using State = HostRecord::State;

/// Names go into paths of REST and of the network, and into keys of the control store.
bool is_name(const HostId& host) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  return !host.value.empty() && host.value.size() <= 64 && host.value.front() != '.' && host != kGateway &&
         std::ranges::all_of(host.value, fits);
}

bool is_address(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0) return false;
  std::uint16_t port = 0;
  const char* const end = address.data() + address.size();
  const auto read = std::from_chars(address.data() + colon + 1, end, port);
  const bool printable = std::ranges::all_of(address, [](char c) { return c > ' ' && c <= '~'; });
  return read.ec == std::errc() && read.ptr == end && port != 0 && printable;
}

}  // namespace

void HostDirectory::recover(std::map<HostId, HostRecord> stored) {
  std::map<HostId, HostRecord> all = std::move(stored);
  // Hosts that only the configuration named, and that it does not name any more.
  std::erase_if(all, [&](const auto& one) {
    return one.second.address.empty() && !gateway_.config().hosts.contains(one.first);
  });
  for (const auto& [host, address] : gateway_.config().hosts) {
    HostRecord& record = all[host];
    record.address = address;
    if (record.state != State::kRemoved) continue;
    gateway_.emit(DisconnectPeer{host});
    gateway_.log(Log::Level::kWarning, "host " + host.value +
                                           " was removed, though the configuration names it; `banyan hosts "
                                           "add " +
                                           host.value + "` takes it back");
  }
  for (auto& [host, record] : all) take(host, std::move(record));
}

/// The record is what holds for the host from now on.
void HostDirectory::take(const HostId& host, HostRecord record) {
  const auto before = records_.find(host);
  const bool connected = before != records_.end() && before->second.state != State::kRemoved;
  const bool moved = !connected || before->second.address != record.address;
  if (record.state == State::kRemoved) {
    if (connected) gateway_.emit(DisconnectPeer{host});
    if (gateway_.hosts().contains(host)) gateway_.remove_host(host);
  } else {
    // While the host was removed, whoever proved the name had it, perhaps its agent of before.
    if (before != records_.end() && !connected) gateway_.emit(DisconnectPeer{host});
    if (moved) gateway_.emit(ConnectPeer{host, record.address, record.key});
    if (record.state == State::kInUse || !gateway_.hosts().contains(host)) gateway_.add_host(host);
    // Its agent may have run all the time, and thinks that it has told what it holds.
    if (before != records_.end() && !connected) gateway_.send(host, ReportAll{});
    if (record.state == State::kDraining) gateway_.tell(schedule::HostDraining{host, record.force});
  }
  strangers_.erase(host);
  impostors_.erase(host);
  records_[host] = std::move(record);
  if (moved || records_[host].state == State::kRemoved) tell_all();
}

/// The record as the control store has it. It leaves out the address that the configuration names: by its
/// key alone a host is none any more when the configuration does not name it.
std::string HostDirectory::stored(const HostId& host) const {
  HostRecord record = records_.at(host);
  if (record.state == State::kInUse && gateway_.config().hosts.contains(host)) record.address.clear();
  return to_record(record);
}

void HostDirectory::store(const HostId& host, RequestId request) {
  gateway_.store(host_key(host), stored(host), RequestNoted{request});
}

bool HostDirectory::add(const HostId& host, RequestId request) {
  const auto known = records_.find(host);
  if (known == records_.end()) return false;
  HostRecord record{.address = known->second.address, .key = known->second.key};
  take(host, std::move(record));
  gateway_.log(Log::Level::kInfo, "host " + host.value + " takes part");
  store(host, request);
  return true;
}

bool HostDirectory::removed(const HostId& host) const {
  const auto known = records_.find(host);
  return known != records_.end() && known->second.state == State::kRemoved;
}

void HostDirectory::drain(const HostId& host, bool force, RequestId request) {
  HostRecord record = records_.at(host);
  record.state = State::kDraining;
  record.force = force;
  take(host, std::move(record));
  gateway_.log(Log::Level::kInfo, "host " + host.value + " is drained");
  store(host, request);
}

void HostDirectory::remove(const HostId& host, RequestId request) {
  HostRecord record = records_.at(host);
  record.state = State::kRemoved;
  record.key.clear();
  take(host, std::move(record));
  gateway_.log(Log::Level::kInfo, "host " + host.value + " is removed");
  store(host, request);
}

/// Whether the name belongs to this key. A name that belongs to none yet belongs to this one from now on.
bool HostDirectory::learn_key(const HostId& host, const std::string& key) {
  HostRecord& record = records_.at(host);
  if (record.key == key) return true;
  if (!record.key.empty()) {
    if (impostors_.insert(host).second)
      gateway_.log(
          Log::Level::kWarning,
          "a host agent says that it is host " + host.value +
              ", and the name belongs to another key, so this one is not listened to; if the host was "
              "installed anew, `banyan hosts remove " +
              host.value + "` and then `banyan hosts add " + host.value +
              "` let it come back with its new key");
    return false;
  }
  record.key = key;
  gateway_.emit(ConnectPeer{host, record.address, key});
  gateway_.log(Log::Level::kInfo, "the name " + host.value + " belongs to the key " + key + " from now on");
  gateway_.store(host_key(host), stored(host));
  tell_all();
  return true;
}

/// Where the configuration names an address, that one counts.
void HostDirectory::on_introduced(const PeerIntroduced& said) {
  const auto& [peer, address, key] = said;
  if (!is_name(peer)) return;
  if (removed(peer)) return on_stranger(peer);
  const auto known = records_.find(peer);
  if (known != records_.end() && !learn_key(peer, key)) return;
  if (!is_address(address) || gateway_.config().hosts.contains(peer)) return;
  if (known != records_.end() && known->second.address == address) return;
  if (const auto host = gateway_.hosts().find(peer); host != gateway_.hosts().end() && host->second.up)
    return gateway_.log(Log::Level::kWarning, "a second host agent says that it is host " + peer.value +
                                                  ", at " + address + "; the one at " +
                                                  known->second.address +
                                                  " answers, so this one is not listened to");
  HostRecord record = known == records_.end() ? HostRecord{.key = key} : known->second;
  record.address = address;
  take(peer, std::move(record));
  gateway_.log(Log::Level::kInfo, "host " + peer.value + " has registered itself; it listens at " + address);
  gateway_.store(host_key(peer), stored(peer));
}

void HostDirectory::on_stranger(const HostId& peer) {
  if (!is_name(peer) || !strangers_.insert(peer).second) return;
  gateway_.log(Log::Level::kWarning,
               "host " + peer.value + " is refused: " +
                   (removed(peer) ? "it was removed; `banyan hosts add " + peer.value + "` takes it back"
                                  : "it has not said where it listens; its file needs "
                                    "'advertise'"));
}

void HostDirectory::tell_peers_of(const HostId& host) const {
  PeerAddresses addresses;
  for (const auto& [peer, record] : records_) {
    if (record.state == State::kRemoved || record.address.empty()) continue;
    addresses.peers[peer] = record.address;
    if (!record.key.empty()) addresses.keys[peer] = record.key;
  }
  gateway_.send(host, std::move(addresses));
}

void HostDirectory::tell_all() const {
  for (const auto& [host, peer] : gateway_.hosts())
    if (peer.takes_addresses) tell_peers_of(host);
}

}  // namespace banyan::node
