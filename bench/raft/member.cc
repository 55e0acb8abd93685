#include "raft/member.h"

#include <unistd.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/streambuf.hpp>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/codec.h"
#include "base/overloaded.h"
#include "core/raft/raft.h"
#include "node/host_context.h"
#include "runtime/net/websocket_network.h"
#include "runtime/storage/rocks_disk.h"

namespace banyan::bench {

namespace {

constexpr std::uint64_t kEntriesKept = 64;  // the number of entries that a replica of a session keeps

HostId host(int number) { return {"h" + std::to_string(number)}; }

/// A replica of one group, and the proposals of its own that are not committed yet.
struct Group {
  raft::Raft raft;
  SessionId id;
  std::map<raft::Index, Time> under_way;
  raft::Index compacted;
};

/// Drives its groups as a host agent does: HostContext makes one batch of all writes of a step, and one frame
/// of all messages for a peer.
class Member {
 public:
  explicit Member(MemberOptions options)
      : options_(std::move(options)),
        context_({.id = host(options_.number), .timing = timing_, .sizes = sizes_},
                 {static_cast<std::uint64_t>(options_.number)}, 1),
        control_(loop_.io(), options_.control),
        payload_(std::string(kEntryBytes, 'x')) {}

  int run() {
    auto disk = runtime::RocksDisk::open(loop_, options_.directory, [](const std::string& reason) {
      std::fprintf(stderr, "%s\n", reason.c_str());
      _exit(1);
    });
    if (!disk) return complain(disk.error());
    disk_ = std::move(*disk);
    if (const auto empty = disk_->recover(); !empty) return complain(empty.error());
    auto network = runtime::WebSocketNetwork::start(
        loop_,
        {.self = host(options_.number),
         .identity = runtime::Identity::fresh(),
         .listen = "127.0.0.1:0",
         .peers = {},
         .secret = "bench"},
        {.frame = [this](const HostId&, node::PeerFrame frame) { arrived(std::move(frame)); },
         .up = [this](const HostId& peer) { up(peer); },
         .down = [this](const HostId& peer) { up_.erase(peer); }});
    if (!network) return complain(network.error());
    network_ = std::move(*network);
    say("listening " + std::to_string(network_->port()));
    listen();
    loop_.every(timing_.tick, [this] { tick(); });
    loop_.run();
    return 0;
  }

 private:
  static int complain(const Error& error) {
    std::fprintf(stderr, "%s\n", error.message.c_str());
    return 1;
  }

  // ---- control

  void say(const std::string& line) const {
    const std::string text = line + "\n";
    if (write(options_.control, text.data(), text.size()) != static_cast<ssize_t>(text.size())) _exit(1);
  }

  void listen() {
    boost::asio::async_read_until(control_, input_, '\n',
                                  [this](const boost::system::error_code& error, std::size_t) {
                                    if (error) return loop_.stop();
                                    std::istream in(&input_);
                                    std::string line;
                                    std::getline(in, line);
                                    obey(line);
                                    listen();
                                  });
  }

  void obey(const std::string& line) {
    std::istringstream in(line);
    std::string word;
    in >> word;
    if (word == "peers") {
      for (int number = 1; number <= kMembers; ++number) {
        int port = 0;
        in >> port;
        network_->connect(host(number), "127.0.0.1:" + std::to_string(port), {});
      }
    } else if (word == "start") {
      open_groups();
    } else if (word == "measure") {
      std::int64_t warm_up = 0;
      std::int64_t length = 0;
      in >> warm_up >> length >> depth_;
      begin_ = loop_.now().mono + std::chrono::milliseconds(warm_up);
      end_ = begin_ + std::chrono::milliseconds(length);
      samples_.clear();
      loop_.after(std::chrono::milliseconds(warm_up + length), [this] { finish_measurement(); });
      step([this] {
        for (auto& [id, group] : groups_) refill(group);
      });
    }
  }

  void up(const HostId& peer) {
    up_.insert(peer);
    if (up_.size() == kMembers - 1 && !std::exchange(connected_, true)) say("connected");
  }

  void finish_measurement() {
    depth_ = 0;
    std::ofstream out(samples_file(options_.directory), std::ios::binary | std::ios::trunc);
    out << encode(samples_);
    out.close();
    say("done");
  }

  // ---- groups

  void open_groups() {
    step([this] {
      for (int i = 0; i < options_.groups; ++i) {
        const SessionId id{"group-" + std::to_string(i)};
        raft::Config config;
        config.id = {static_cast<std::uint64_t>(options_.number)};
        config.election_ticks = timing_.election_ticks;
        config.heartbeat_ticks = timing_.heartbeat_ticks;
        config.seed = static_cast<std::uint64_t>(i) + 1;
        const auto birth = raft::Restored::birth({{1}, {2}, {3}});
        auto raft = raft::Raft::open(config, birth);
        CHECK(raft.has_value(), "a group that is born opens");
        context_.write(node::PutMeta{id, "bench"});
        context_.write(node::PutHardState{id, birth.hard_state});
        context_.write(node::PutSnapshot{id, birth.snapshot});
        Group& group = groups_.emplace(id, Group{std::move(*raft), id, {}, {1}}).first->second;
        pump(group);
        if (i % kMembers + 1 == options_.number) {
          group.raft.campaign();
          pump(group);
        }
      }
    });
  }

  void tick() {
    step([this] {
      bool led = !groups_.empty();
      for (auto& [id, group] : groups_) {
        group.raft.tick();
        pump(group);
        led = led && group.raft.leader() != raft::kNobody;
      }
      if (led && !std::exchange(ready_, true)) say("ready");
    });
  }

  void arrived(node::PeerFrame frame) {
    auto* raft = std::get_if<node::RaftFrame>(&frame);
    if (raft == nullptr) return;
    step([&] {
      for (const node::RaftFrame::Item& item : raft->items) {
        const auto group = groups_.find(item.session);
        if (group == groups_.end()) continue;
        group->second.raft.step(item.message);
        pump(group->second);
      }
    });
  }

  void persisted(std::uint64_t token) {
    step([&] {
      for (const node::Durable& write : context_.persisted(token).writes) {
        Group& group = groups_.at(write.session);
        group.raft.persisted(write.token);
        pump(group);
      }
    });
  }

  /// One step of the host: takes an event and then performs all effects.
  template <class Event>
  void step(Event event) {
    context_.set_now(loop_.now());
    event();
    for (node::HostEffect& effect : context_.finish()) {
      if (auto* persist = std::get_if<node::Persist>(&effect)) {
        disk_->write(std::move(persist->writes), [this, token = persist->token] { persisted(token); });
      } else if (auto* send = std::get_if<node::SendFrame>(&effect)) {
        network_->send(send->to, std::move(send->frame));
      }
    }
  }

  void pump(Group& group) {
    while (true) {
      raft::Output out = group.raft.take_output();
      if (out.empty()) return;
      if (out.persist) context_.persist(group.id, std::move(*out.persist));
      if (out.install) group.raft.applied(out.install->index);
      if (out.role && out.role->role != raft::Role::kLeader) group.under_way.clear();
      for (const raft::Entry& entry : out.committed) committed(group, entry);
      for (raft::Message& message : out.messages) {
        const HostId to = host(static_cast<int>(message.to.value));
        context_.send_raft(to, group.id, std::move(message));
      }
      refill(group);
      compact_if_due(group, out);
    }
  }

  void committed(Group& group, const raft::Entry& entry) {
    group.raft.applied(entry.index);
    const auto mine = group.under_way.find(entry.index);
    if (mine == group.under_way.end()) return;
    const Time now = loop_.now().mono;
    if (mine->second >= begin_ && now <= end_)
      samples_.push_back(static_cast<std::uint64_t>((now - mine->second).count()));
    group.under_way.erase(mine);
  }

  /// Proposes until `depth_` proposals are under way, if this replica leads.
  void refill(Group& group) {
    while (group.under_way.size() < depth_ && group.raft.role() == raft::Role::kLeader) {
      const auto proposed = group.raft.propose(payload_);
      if (!proposed) return;
      group.under_way[proposed->index] = loop_.now().mono;
    }
  }

  void compact_if_due(Group& group, const raft::Output& out) {
    if (out.committed.empty()) return;
    const raft::Index applied = out.committed.back().index;
    if (applied - group.compacted < sizes_.compact_entries) return;
    if (group.raft.compact(applied, Blob("bench"), kEntriesKept)) group.compacted = applied;
  }

  MemberOptions options_;
  node::Timing timing_;
  node::Sizes sizes_;
  runtime::Loop loop_;
  node::HostContext context_;
  boost::asio::posix::stream_descriptor control_;
  boost::asio::streambuf input_;
  Blob payload_;
  std::unique_ptr<runtime::RocksDisk> disk_;
  std::unique_ptr<runtime::WebSocketNetwork> network_;
  std::map<SessionId, Group> groups_;
  std::set<HostId> up_;
  bool connected_ = false;
  bool ready_ = false;
  std::size_t depth_ = 0;
  Time begin_;
  Time end_;
  std::vector<std::uint64_t> samples_;
};

}  // namespace

std::filesystem::path samples_file(const std::filesystem::path& directory) {
  return std::filesystem::path(directory.string() + ".samples");
}

int run_member(const MemberOptions& options) { return Member(options).run(); }

}  // namespace banyan::bench
