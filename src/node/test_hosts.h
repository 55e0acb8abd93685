// Four hosts, a scripted gateway and scripted workers, with a network and disks that work, for tests. Faults
// are the simulator's.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/overloaded.h"
#include "node/host_node.h"
#include "node/link.h"
#include "node/stored_replicas.h"

namespace banyan::node {

inline const SessionId kSession{"0b5c4b46-7a4c-4f0e-9d57-1f6a9b3d2a11"};

/// A worker that runs the cell "name=value" by setting a variable, "%undo=2" by asking the history.
struct ModelWorker {
  SessionId session;
  std::optional<jupyter::Message> request;
  std::map<std::string, std::string> variables;
  std::vector<std::string> told;  ///< code of cells that ran elsewhere, or before its time
};

class TestHosts {
 public:
  explicit TestHosts(const Sizes& sizes = {}) : sizes_(sizes) {
    for (const char* name : {"h1", "h2", "h3", "h4"}) start({name});
  }

  void start(const HostId& id, Recovered found = {}) {
    Host& host = hosts_[id];
    host.up = true;
    ++lives_;
    host.node = std::make_unique<HostNode>(
        HostConfig{.id = id, .sizes = sizes_, .store = "store", .devices = devices_of(id)},
        Incarnation{lives_}, lives_);
    deliver(id, std::move(found));
    for (const auto& [other, state] : hosts_) {
      if (other == id || !state.up) continue;
      deliver(id, PeerUp{other});
      deliver(other, PeerUp{id});
    }
  }
  /// h4 has no device, the others have one.
  static std::vector<cluster::Device> devices_of(const HostId& id) {
    if (id.value == "h4") return {};
    return {{.id = {"0"}}};
  }
  void deliver(const HostId& id, HostEvent event) {
    pending_.emplace_back(id, std::move(event));
    if (busy_) return;
    busy_ = true;
    while (!pending_.empty()) {
      auto [to, next] = std::move(pending_.front());
      pending_.pop_front();
      if (!hosts_[to].up) continue;
      for (HostEffect& effect : hosts_[to].node->step({now_, {}}, std::move(next))) perform(to, effect);
    }
    busy_ = false;
  }
  /// Workers lack nothing any more, and say what they lacked.
  void answer_late() {
    lacks_.clear();
    for (auto& [host, applied] : std::exchange(late_, {})) deliver(host, std::move(applied));
  }
  /// The data store says what it has of what it was asked.
  void answer_fetches() {
    for (const auto& [host, wanted] : std::exchange(fetching_, {})) {
      const auto found = store_.find(wanted.key);
      if (store_is_down_) {
        deliver(host, ChunkFetched{.digest = wanted.digest, .key = wanted.key, .bytes = {}});
        continue;
      }
      const bool there = found != store_.end();
      deliver(host, ChunkFetched{wanted.digest, wanted.key,
                                 there ? std::optional(found->second) : std::nullopt, !there});
    }
  }
  void kill(const HostId& id) {
    std::erase_if(fetching_, [&](const auto& item) { return item.first == id; });
    hosts_[id].up = false;
    hosts_[id].node.reset();
    hosts_[id].workers.clear();
    for (auto& [other, host] : hosts_) {
      if (host.up) deliver(other, PeerDown{id});
    }
  }

  /// It hears that its connections broke, and never that they are up again.
  void lose_connections(const HostId& id) {
    for (const auto& [other, host] : hosts_) {
      if (other != id) deliver(id, PeerDown{other});
    }
  }

  void send(const HostId& to, PeerMessage message) { link(to).send(std::move(message)); }
  void open(const session::Members& members = {{{1}, {"h1"}}, {{2}, {"h2"}}, {{3}, {"h3"}}},
            const session::Keep& keep = {}, session::Standbys standbys = session::Standbys::kHot) {
    const session::Spec spec{.kernel_name = "python3", .keep = keep, .standbys = standbys};
    for (const auto& [id, host] : members) send(host, OpenReplica{kSession, id, spec, members});
  }
  void execute(const std::string& cell, const std::string& code, ReplicaId lead, const HostId& host,
               std::uint64_t outputs_seen = 0, bool aborts = false) {
    send(host, Execute{kSession, {cell}, request(cell, code), lead, outputs_seen, restarts_, aborts});
  }
  static jupyter::Message request(const std::string& cell, const std::string& code) {
    jupyter::Message request;
    request.header = R"({"msg_id":")" + cell + R"(","msg_type":"execute_request","session":"client"})";
    request.content = Blob(R"({"code":")" + code + R"("})");
    request.metadata = R"({"cellId":"cell-)" + cell + R"("})";
    return request;
  }
  void restart_kernel() {
    restarts_ = 42;
    cells_run_ = 0;
    for (const char* host : {"h1", "h2", "h3"}) send({host}, Restart{kSession, restarts_});
  }
  /// The gateway dies, and starts with nothing.
  void restart_gateway() {
    links_.clear();
    frames_.clear();
    ended_.clear();
    outputs_.clear();
    ++gateway_life_;
    for (const auto& [id, host] : hosts_) link(id);
  }
  WorkerId worker_of(const HostId& host, const SessionId& session) {
    for (const auto& [id, worker] : hosts_[host].workers)
      if (worker.session == session) return id;
    return {};
  }
  void lose_worker(const HostId& host) {
    const WorkerId worker = hosts_[host].workers.begin()->first;
    hosts_[host].workers.clear();
    deliver(host, WorkerExited{worker, "killed by signal 9"});
  }
  /// The worker there prints, for the cell that it was asked to run last.
  void print(const HostId& host, const std::string& text) {
    say(host, hosts_[host].workers.begin()->first, jupyter::Channel::kIopub, "stream",
        R"({"name":"stdout","text":")" + text + R"("})");
  }
  /// A worker that waits for input() goes on.
  void answer_input(const HostId& host) {
    ModelWorker& worker = hosts_[host].workers.begin()->second;
    finish(host, hosts_[host].workers.begin()->first, worker);
  }
  /// The processes that were killed are gone.
  void bury_workers() {
    for (const auto& [host, worker] : std::exchange(dying_, {}))
      deliver(host, WorkerExited{worker, "killed by signal 9"});
  }
  void finish_writes() {
    const HostId host = std::exchange(slow_disk_, std::nullopt).value();
    for (const std::uint64_t token : std::exchange(written_, {})) deliver(host, Persisted{token});
    for (const Digest& digest : std::exchange(stored_, {})) deliver(host, ChunkLanded{digest});
  }
  bool run_until(const std::function<bool()>& done, Duration limit = 10s) {
    for (const Time end = now_ + limit; now_ < end; now_ += 5ms) {
      if (done()) return true;
      if (ticks_ && now_.time_since_epoch() % 50ms == 0ms) {
        for (auto& [id, host] : hosts_) {
          if (host.up) deliver(id, Tick{});
        }
      }
      for (auto& [id, peer] : links_) {
        while (auto frame = peer.poll(now_)) frames_.push_back({kGateway, id, std::move(*frame)});
      }
      drain();
    }
    return done();
  }
  [[nodiscard]] Time now() const { return now_; }
  /// An output has this.
  bool said(std::string_view text) const {
    return std::ranges::any_of(outputs_, [&](const FromKernel& output) {
      return output.message.content.view().find(text) != std::string_view::npos;
    });
  }
  bool ended(const std::string& cell) const { return ended_.contains({cell}); }

  struct Host {
    bool up = false;
    std::unique_ptr<HostNode> node;
    std::map<WorkerId, ModelWorker> workers;
    std::map<Digest, Blob> chunks;
    StoredReplicas replicas;
    std::string speeds;
    std::size_t entries = 0;  ///< written to its logs
  };
  std::map<HostId, Host> hosts_;
  std::map<ExecutionId, ExecutionEnded> ended_;
  std::map<ExecutionId, int> starts_;
  std::map<CommitId, int> repeats_;  ///< how often a cell ran again
  std::vector<FromKernel> outputs_;
  std::vector<ExecutionDeclined> declined_;
  std::vector<Result<std::string>> answers_;              ///< to what workers asked
  std::map<std::string, SessionAnswer> session_answers_;  ///< to AskSession
  std::map<HostId, std::vector<ChunkPart>> chunk_parts_;  ///< that the gateway got
  std::map<HostId, std::map<SessionId, ReplicaReport>> reports_;
  std::uint64_t raft_frames_ = 0;
  std::set<std::string> libraries_;                       ///< that workers may begin with
  std::map<std::string, Blob> store_;                     ///< the data store of all hosts, by key
  std::vector<std::string> fetched_;                      ///< keys that were asked of it
  std::map<std::pair<HostId, Digest>, int> chunk_reads_;  ///< of chunks that were on a host's disk
  bool store_answers_ = true;
  bool store_is_down_ = false;
  int loads_ = 0;      ///< of replicas that hibernated
  bool ticks_ = true;  ///< without, hosts do only what they do at once
  bool run_cells_ = true;
  bool workers_start_ = true;
  bool workers_linger_ = false;  ///< those that are killed are not gone before bury_workers()
  bool blank_cells_ = false;
  bool cells_have_effects_ = false;
  std::uint64_t gpus_used_ = 0;                        ///< by each cell
  Duration cell_time_{};                               ///< of each cell, first and when it runs again
  std::vector<std::string> work_;                      ///< in the background, when each cell ends
  std::map<std::string, std::int64_t> serialised_us_;  ///< by each cell, first and when it runs again
  std::set<std::string> cells_read_;                   ///< of what is made when something reads it
  bool reads_are_said_ = true;
  std::vector<std::string> asked_reads_;    ///< code of cells of which that was asked
  std::vector<session::Removal> removals_;  ///< what a worker says that goes from the disk
  bool removals_are_said_ = true;
  bool alone_ = false;  ///< what cannot be serialised shares nothing
  bool repeats_differ_ = false;
  bool repeats_end_ = true;
  std::vector<std::string> reads_;     ///< by every cell
  std::string live_beside_;            ///< what a cell makes, too
  std::size_t blocks_ = 1;             ///< of each value
  std::string type_;                   ///< of each value
  std::set<std::string> do_not_load_;  ///< variables
  std::string lacks_;                  ///< a variable that workers have no blocks of; they answer later
  std::vector<std::pair<HostId, WorkerApplied>> late_;  ///< those answers
  bool repeats_end_workers_ = false;                    ///< cells that run again
  bool cells_ask_ = false;                              ///< with input()
  bool reports_have_reply_ = false;                     ///< as those of real workers
  std::uint64_t cells_run_ = 0;                         ///< the execution count of the last one
  std::optional<HostId> loses_chunks_;                  ///< what it stores is gone when it is read
  std::set<HostId> cut_;                                ///< the network carries nothing to and from them
  std::optional<HostId> slow_disk_;                     ///< its writes wait for finish_writes()

 private:
  std::vector<std::pair<HostId, WorkerId>> dying_;
  struct Frame {
    HostId from, to;
    PeerFrame frame;
  };

  Link& link(const HostId& host) {
    return links_.try_emplace(host, Incarnation{gateway_life_}, Timing{}, Sizes{}).first->second;
  }

  void drain() {
    while (!frames_.empty()) {
      Frame next = std::move(frames_.front());
      frames_.pop_front();
      if (cut_.contains(next.from) || cut_.contains(next.to)) continue;
      if (next.to == kGateway) {
        for (PeerMessage& message : link(next.from).receive(std::get<LinkFrame>(next.frame), now_).messages)
          take(next.from, message);
      } else {
        deliver(next.to, FrameArrived{next.from, std::move(next.frame)});
      }
    }
  }

  void take(const HostId& from, PeerMessage& message) {
    if (auto* end = std::get_if<ExecutionEnded>(&message)) ended_[end->execution] = *end;
    if (auto* output = std::get_if<FromKernel>(&message)) outputs_.push_back(*output);
    if (auto* declined = std::get_if<ExecutionDeclined>(&message)) declined_.push_back(*declined);
    if (auto* answer = std::get_if<SessionAnswer>(&message)) session_answers_[answer->request] = *answer;
    if (auto* part = std::get_if<ChunkPart>(&message)) chunk_parts_[from].push_back(*part);
    if (auto* report = std::get_if<HostReport>(&message)) {
      for (const SessionId& closed : report->closed) reports_[from].erase(closed);
      for (const auto& one : report->replicas) reports_[from][one.session] = one;
    }
  }

  void perform(const HostId& id, HostEffect& effect) {
    auto& workers = hosts_[id].workers;
    std::visit(Overloaded{
                   [&](SendFrame& e) {
                     if (std::holds_alternative<RaftFrame>(e.frame)) ++raft_frames_;
                     frames_.push_back({id, e.to, std::move(e.frame)});
                   },
                   [](ConnectPeer&) {},
                   [](DisconnectPeer&) {},
                   [&](Persist& e) {
                     for (const DiskWrite& write : e.writes) {
                       if (const auto* put = std::get_if<PutEntries>(&write))
                         hosts_[id].entries += put->entries.size();
                       hosts_[id].replicas.apply(write);
                       if (const auto* put = std::get_if<PutChunk>(&write); put && loses_chunks_ != id)
                         hosts_[id].chunks[put->digest] = put->bytes;
                       if (const auto* drop = std::get_if<DropChunk>(&write))
                         hosts_[id].chunks.erase(drop->digest);
                       if (const auto* put = std::get_if<PutSpeeds>(&write)) hosts_[id].speeds = put->record;
                     }
                     if (slow_disk_ == id) return void(written_.push_back(e.token));
                     deliver(id, Persisted{e.token});
                   },
                   [&](StoreChunk& e) {
                     if (loses_chunks_ != id) hosts_[id].chunks[e.digest] = e.bytes;
                     if (slow_disk_ == id) return void(stored_.push_back(e.digest));
                     deliver(id, ChunkLanded{e.digest});
                   },
                   [&](ReadChunk& e) {
                     const auto& chunks = hosts_[id].chunks;
                     const auto found = chunks.find(e.digest);
                     if (found != chunks.end()) ++chunk_reads_[{id, e.digest}];
                     deliver(id, ChunkRead{e.digest, found == chunks.end() ? std::nullopt
                                                                           : std::optional(found->second)});
                   },
                   [&](FetchChunk& e) {
                     fetched_.push_back(e.key);
                     fetching_.emplace_back(id, std::move(e));
                     if (store_answers_) answer_fetches();
                   },
                   [&](LoadReplica& e) {
                     ++loads_;
                     deliver(id, ReplicaLoaded{e.session, hosts_[id].replicas.find(e.session)});
                   },
                   [&](LaunchWorker& e) {
                     if (!workers_start_) return;
                     workers[e.worker] = {e.session, {}, {}, {}};
                     libraries_.insert(e.libraries.begin(), e.libraries.end());
                     deliver(id, WorkerReady{e.worker, 1});
                   },
                   [&](StopWorker& e) {
                     if (e.how != Stop::kKill) return;
                     workers.erase(e.worker);
                     dying_.emplace_back(id, e.worker);
                     if (!workers_linger_) bury_workers();
                   },
                   [&](ToWorker& e) {
                     workers[e.worker].request = e.message;
                     if (blank_cells_) return end_blank(id, e.worker);
                     if (run_cells_)
                       deliver(id, WorkerFenced{e.worker, {jupyter::parse_header(e.message.header)->msg_id}});
                   },
                   [&](AnswerFence& e) { run(id, e); },
                   [&](ApplyToWorker& e) {
                     WorkerApplied applied{e.worker, e.commit, {}, {}};
                     for (const auto& value : e.changed) {
                       if (value.names.front() == lacks_) {
                         applied.lacking.push_back(lacks_);
                         continue;
                       }
                       if (do_not_load_.contains(value.names.front())) {
                         applied.failed.push_back(value.names.front());
                         continue;
                       }
                       workers[e.worker].variables[value.names.front()] = value.blocks.front().bytes->view();
                     }
                     if (!e.code.empty()) workers[e.worker].told.push_back(e.code);
                     for (const auto& name : e.deleted) workers[e.worker].variables.erase(name);
                     if (!applied.lacking.empty()) return void(late_.emplace_back(id, std::move(applied)));
                     deliver(id, std::move(applied));
                   },
                   [&](RepeatOnWorker& e) { repeat(id, e); },
                   [&](AskReads& e) {
                     asked_reads_.push_back(e.code);
                     if (!reads_are_said_) return;
                     std::erase_if(e.names, [&](const auto& name) { return !cells_read_.contains(name); });
                     deliver(id, WorkerReads{e.worker, e.execution, e.names});
                   },
                   [&](AskRemovals& e) {
                     if (removals_are_said_) deliver(id, WorkerRemoves{e.worker, e.request, removals_});
                   },
                   [&](AnswerWorker& e) { answers_.push_back(std::move(e.answer)); },
                   [](ForgetSession&) {},
                   [](SetLease&) {},
                   [](Log&) {},
               },
               effect);
  }

  void run(const HostId& id, const AnswerFence& fence) {
    if (fence.refusal) return;
    ++starts_[fence.execution];
    now_ += cell_time_;
    ModelWorker& worker = hosts_[id].workers[fence.worker];
    say(id, fence.worker, jupyter::Channel::kIopub, "stream", R"({"name":"stdout","text":"hello"})");
    if (!cells_ask_) return finish(id, fence.worker, worker);
    say(id, fence.worker, jupyter::Channel::kStdin, "input_request", R"({"prompt":"?","password":false})");
  }

  void repeat(const HostId& id, const RepeatOnWorker& cell) {
    ++repeats_[cell.commit];
    now_ += cell_time_;
    if (repeats_end_workers_) return lose_worker(id);
    if (!repeats_end_) return;
    const std::size_t equals = cell.code.find('=');
    hosts_[id].workers[cell.worker].variables[cell.code.substr(0, equals)] = cell.code.substr(equals + 1);
    WorkerRepeated repeated{cell.worker, cell.commit, {}, {}, {}, serialised_us_};
    (repeats_differ_ ? repeated.changed : repeated.made).push_back(cell.code.substr(0, equals));
    deliver(id, std::move(repeated));
  }

  void end_blank(const HostId& id, WorkerId worker) {
    say(id, worker, jupyter::Channel::kShell, "execute_reply", R"({"status":"ok","execution_count":1})");
    say(id, worker, jupyter::Channel::kIopub, "status", R"({"execution_state":"idle"})");
  }

  void say(const HostId& id, WorkerId worker, jupyter::Channel channel, const char* type,
           std::string content) {
    const std::string& parent = hosts_[id].workers[worker].request->header;
    deliver(id, FromWorker{worker, jupyter::make_message(channel, type, parent, std::move(content),
                                                         {"kernel", "k", {}})});
  }

  void finish(const HostId& id, WorkerId serial, ModelWorker& worker) {
    const std::string code(worker.request->content.view());
    const std::size_t equals = code.find('=');
    const std::string name = code.substr(9, equals - 9);
    const std::string value = code.substr(equals + 1, code.size() - equals - 3);
    const std::uint64_t count = ++cells_run_;
    session::Delta delta;
    if (!live_beside_.empty()) delta.failed.push_back(live_beside_);
    if (name.starts_with('%')) {
      deliver(id, WorkerAsks{serial, R"({"do":")" + name.substr(1) + R"(","count":)" + value + "}"});
    } else {
      worker.variables[name] = value;
      delta.footprint.reads = reads_;
      if (cells_have_effects_) delta.footprint.effects = {"wrote a file"};
      delta.footprint.gpus = gpus_used_;
      delta.footprint.work = work_;
      delta.footprint.serialised_us = serialised_us_;
      if (name.starts_with("live")) {
        delta.failed.push_back(name);
      } else {
        session::CoVariable changed{{name}, {}, {static_cast<std::uint32_t>(blocks_)}};
        changed.type = type_;
        for (std::size_t i = 0; i < blocks_; ++i) {
          const std::string block = i == 0 ? value : value + std::to_string(i);
          changed.blocks.push_back({digest_of(block), block.size(), Blob(block)});
        }
        delta.changed.push_back(std::move(changed));
      }
    }
    if (alone_) delta.alone = delta.failed;
    WorkerReport report{serial, {jupyter::parse_header(worker.request->header)->msg_id}, count, delta, {}};
    if (reports_have_reply_) {
      say(id, serial, jupyter::Channel::kIopub, "status", R"({"execution_state":"idle"})");
      report.reply = {R"({"status":"ok","execution_count":1,"packed":true})", R"({"engine":"e"})"};
    }
    deliver(id, std::move(report));
    say(id, serial, jupyter::Channel::kShell, "execute_reply", R"({"status":"ok","execution_count":1})");
    say(id, serial, jupyter::Channel::kIopub, "status", R"({"execution_state":"idle"})");
  }

  Time now_{};
  Sizes sizes_;
  std::uint64_t lives_ = 0;
  std::uint64_t gateway_life_ = 999;
  std::uint64_t restarts_ = 0;
  std::map<HostId, Link> links_;
  std::deque<Frame> frames_;
  std::deque<std::pair<HostId, HostEvent>> pending_;
  std::vector<std::uint64_t> written_;
  std::vector<Digest> stored_;
  std::vector<std::pair<HostId, FetchChunk>> fetching_;
  bool busy_ = false;
};

}  // namespace banyan::node
