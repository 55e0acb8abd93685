// What REST says of hosts and sessions under /api/banyan: what the operator's commands show and ask for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/json.h"

namespace banyan::api {

/// The platform at a glance.
struct Status {
  static constexpr std::string_view kName = "Status";
  std::string started;
  std::int64_t uptime_s = 0;
  std::uint64_t hosts = 0, hosts_up = 0, sessions = 0, sessions_busy = 0, sessions_without_quorum = 0;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("started", self.started, "when the gateway was; ISO 8601, in UTC");
    visit("uptime_s", self.uptime_s, "of the gateway, in seconds");
    visit("hosts", self.hosts, "");
    visit("hosts_up", self.hosts_up, "those that answer");
    visit("sessions", self.sessions, "");
    visit("sessions_busy", self.sessions_busy, "those that run a cell");
    visit("sessions_without_quorum", self.sessions_without_quorum,
          "those that cannot serve, because too few of their hosts answer");
  }
};

/// A kernel, as one host can run it.
struct HostKernel {
  static constexpr std::string_view kName = "HostKernel";
  std::string name, state, python;
  std::optional<std::string> reason;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("name", self.name, "of the kernelspec");
    visit("state", self.state, "checking, runs or cannot");
    visit("python", self.python, "its version; empty while that is not known");
    visit("reason", self.reason, "why the host cannot run it");
  }
};

/// A session that a drained host still holds.
struct Stay {
  static constexpr std::string_view kName = "Stay";
  std::string session;
  Nullable<std::string> reason;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("session", self.session, "its id");
    visit("reason", self.reason, "what holds it up, when that is known");
  }
};

/// A host.
struct Host {
  static constexpr std::string_view kName = "Host";
  std::string host;
  bool up = false, draining = false;
  std::vector<Stay> stay;
  std::uint64_t cpus = 0, gpus = 0, bound_gpus = 0, faulty_gpus = 0, memory_bytes = 0, resident_bytes = 0,
                replicas = 0, running_cells = 0;
  std::int64_t silent_ms = 0;
  std::string store;
  std::vector<HostKernel> kernels;
  std::vector<std::string> sessions, strays;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("host", self.host, "its name");
    visit("up", self.up, "it answers");
    visit("draining", self.draining, "its sessions are moved to other hosts");
    visit("stay", self.stay, "the sessions that it holds while it is drained");
    visit("cpus", self.cpus, "cores");
    visit("gpus", self.gpus, "all that it has");
    visit("bound_gpus", self.bound_gpus, "those that cells have now");
    visit("faulty_gpus", self.faulty_gpus, "those that do not work and that no cell has");
    visit("memory_bytes", self.memory_bytes, "");
    visit("resident_bytes", self.resident_bytes, "memory of the host agent itself");
    visit("replicas", self.replicas, "");
    visit("running_cells", self.running_cells, "");
    visit("silent_ms", self.silent_ms, "since it was last heard");
    visit("store", self.store, "the data store that it reads chunks from; empty for none");
    visit("kernels", self.kernels, "");
    visit("sessions", self.sessions, "the ids of the sessions of which it reports a replica");
    visit("strays", self.strays, "the ids of sessions that it has and the control store does not know");
  }
};

/// A GPU of a host.
struct Gpu {
  static constexpr std::string_view kName = "Gpu";
  std::string host, device, model;
  std::uint64_t memory_bytes = 0;
  std::string state;
  std::optional<std::string> session;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("host", self.host, "the host's name");
    visit("device", self.device, "its name there");
    visit("model", self.model, "empty when it is not known");
    visit("memory_bytes", self.memory_bytes, "0 when it is not known");
    visit("state", self.state, "idle, bound, faulty, or silent when its host does not answer");
    visit("session", self.session, "the id of the session whose cell has it, when one has");
  }
};

/// A cell that waits for GPUs.
struct QueuedCell {
  static constexpr std::string_view kName = "QueuedCell";
  std::string session;
  std::optional<std::string> path;
  std::uint64_t gpus = 0, place = 0;
  std::int64_t waiting_ms = 0;
  std::optional<std::int64_t> expected_ms;
  std::string user;
  bool at_limit = false;
  std::optional<std::int64_t> hours_spent_for_ms;
  std::optional<std::string> comes_to;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("session", self.session, "its session's id");
    visit("path", self.path, "of the session's notebook");
    visit("gpus", self.gpus, "how many it needs");
    visit("place", self.place,
          "among those that wait for the same hosts; 1: the next one; 0: no host can be asked now");
    visit("waiting_ms", self.waiting_ms, "for how long it has waited");
    visit("expected_ms", self.expected_ms,
          "for how long it may still wait, from the cells that have ended; absent while nobody can tell");
    visit("user", self.user, "whose session it is (KERNEL_USERNAME); empty when nobody has said");
    visit("at_limit", self.at_limit, "its user's cells have as many GPUs as one user may have at once");
    visit("hours_spent_for_ms", self.hours_spent_for_ms,
          "for how long it waits because its user's cells have had GPUs for as long as one user may within a "
          "day");
    visit("comes_to", self.comes_to, "the host with idle GPUs to which a replica of its session is moving");
  }
};

/// A host that is to take part again.
struct NewHost {
  static constexpr std::string_view kName = "NewHost";
  std::string host;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("host", self.host, "its name");
  }
};

/// A replica of a session.
struct Replica {
  static constexpr std::string_view kName = "Replica";
  std::uint64_t replica = 0;
  std::string host, role;
  bool up = false, leader = false;
  std::string worker;
  std::uint64_t pid = 0, last_commit = 0;
  Nullable<std::uint64_t> lacking;
  std::uint64_t lost = 0;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("replica", self.replica, "its id");
    visit("host", self.host, "");
    visit("role", self.role, "executor, standby or joining");
    visit("up", self.up, "its host answers");
    visit("leader", self.leader, "of the session's Raft group");
    visit("worker", self.worker, "none, starting, ready or busy");
    visit("pid", self.pid, "of the worker on its host; 0 for none");
    visit("last_commit", self.last_commit, "the newest commit that it knows");
    visit("lacking", self.lacking,
          "chunks of an import that its host has yet to get; null while that is not known");
    visit("lost", self.lost, "such chunks that are nowhere any more");
  }
};

/// How a session's variables come or came to a host: the first four fields while they do, the others of the
/// last time that it took a while.
struct ViewModel {
  static constexpr std::string_view kName = "View";
  std::optional<std::string> building, host;
  std::optional<std::uint64_t> percent;
  std::optional<std::int64_t> left_ms, predicted_ms, took_ms;
  std::optional<std::uint64_t> values, bytes, cells;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("building", self.building, "what is done, for a person");
    visit("host", self.host, "where");
    visit("percent", self.percent, "");
    visit("left_ms", self.left_ms, "predicted");
    visit("predicted_ms", self.predicted_ms, "");
    visit("took_ms", self.took_ms, "");
    visit("values", self.values, "co-variables that were loaded");
    visit("bytes", self.bytes, "of these");
    visit("cells", self.cells, "that ran again");
  }
};

/// Values of a session that a cell's reply did not wait for, and that are on no majority's disks yet.
struct PendingModel {
  static constexpr std::string_view kName = "Pending";
  std::uint64_t bytes = 0, captured_bytes = 0;
  std::int64_t for_ms = 0;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("bytes", self.bytes, "");
    visit("captured_bytes", self.captured_bytes,
          "the part that is only in the memory of the executor's host");
    visit("for_ms", self.for_ms, "how long the oldest of them has been pending");
  }
};

/// A session, as operators see it.
struct Session {
  static constexpr std::string_view kName = "Session";
  std::string id, kernel, python, state;
  Nullable<std::string> executor;
  std::uint64_t epoch = 0, last_commit = 0, amended = 0, execution_count = 0, queued = 0;
  std::vector<Replica> replicas;
  std::string created;
  std::int64_t age_s = 0;
  std::string last_activity;
  std::uint64_t connections = 0;
  std::optional<std::string> path;
  std::optional<ViewModel> view;
  std::optional<PendingModel> pending;
  std::optional<QueuedCell> waits;
  std::optional<std::string> reason;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("id", self.id, "a UUID: Jupyter's id of the kernel");
    visit("kernel", self.kernel, "its kernelspec");
    visit("python", self.python, "version of the Python that it runs in, or would; empty while no host says");
    visit("state", self.state, "starting, idle, busy, restarting, dead or suspended");
    visit("executor", self.executor, "the host that runs its cells, when there is one");
    visit("epoch", self.epoch, "");
    visit("last_commit", self.last_commit, "");
    visit("amended", self.amended, "how often the log was changed other than by a cell");
    visit("execution_count", self.execution_count, "");
    visit("queued", self.queued, "cells that have not ended");
    visit("replicas", self.replicas, "");
    visit("created", self.created, "ISO 8601, in UTC");
    visit("age_s", self.age_s, "seconds since then");
    visit("last_activity", self.last_activity, "ISO 8601, in UTC");
    visit("connections", self.connections, "WebSockets of clients");
    visit("path", self.path, "of its notebook");
    visit("view", self.view, "when there is something to tell");
    visit("pending", self.pending, "large values that are still being copied, if there are any");
    visit("waits", self.waits, "its next cell, while that waits for GPUs");
    visit("reason", self.reason, "why it cannot serve, and what to do");
  }
};

/// A variable, or work of the process, that does not go along.
struct Lost {
  static constexpr std::string_view kName = "Lost";
  std::string name, reason;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("name", self.name, "");
    visit("reason", self.reason, "");
  }
};

/// Something that may lose variables.
struct Forced {
  static constexpr std::string_view kName = "Forced";
  std::optional<bool> force;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("force", self.force, "also where something is lost by it");
  }
};

/// A move that is wanted.
struct Move {
  static constexpr std::string_view kName = "Move";
  std::string host;
  std::optional<bool> force;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("host", self.host, "where the session is to run its cells");
    visit("force", self.force, "also where something is lost by it");
  }
};

/// A session that has been suspended.
struct Suspended {
  static constexpr std::string_view kName = "Suspended";
  bool suspended = true;
  std::vector<Lost> lost;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("suspended", self.suspended, "");
    visit("lost", self.lost, "");
  }
};

/// A session that has been resumed.
struct Resumed {
  static constexpr std::string_view kName = "Resumed";
  bool suspended = false;
  std::string host;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("suspended", self.suspended, "");
    visit("host", self.host, "where its cells run");
  }
};

/// A session that has been moved.
struct Moved {
  static constexpr std::string_view kName = "Moved";
  std::string host;
  std::vector<Lost> lost;
  bool copied = false;
  std::int64_t took_ms = 0;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("host", self.host, "where its cells run now");
    visit("lost", self.lost, "");
    visit("copied", self.copied, "the host has all values; else the rest follows");
    visit("took_ms", self.took_ms, "");
  }
};

}  // namespace banyan::api
