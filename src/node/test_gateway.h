// A gateway with scripted hosts, clients and a control store, for tests. The network and the disk work; tests
// say what the hosts answer.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/overloaded.h"
#include "node/gateway_node.h"
#include "node/link.h"

namespace banyan::node {

class TestGateway {
 public:
  using json = nlohmann::json;

  struct Host {
    std::unique_ptr<Link> link;
    bool up = false;
    std::uint64_t life = 0;
    std::map<SessionId, ReplicaReport> replicas;
    std::vector<KernelReport> kernels;  ///< none: as an earlier version says
    std::vector<cluster::Device> devices;
    std::vector<PeerMessage> got;
  };
  struct Client {
    bool open = false;
    bool reads = true;        ///< what is sent leaves at once
    bool confirms = true;     ///< pings are answered at once
    std::uint64_t asked = 0;  ///< what the last unanswered ping asks about
    std::vector<jupyter::Message> got;
    std::vector<std::uint64_t> unread;
    int refused = 0;     ///< HTTP status of a refused handshake
    int close_code = 0;  ///< of a closed WebSocket
  };

  explicit TestGateway(const std::vector<std::string>& names = {"h1", "h2", "h3", "h4"}) {
    for (const std::string& name : names) config.hosts[{name}] = name + ":1";
    config.token = "secret";
    config.kernel_specs = {{"python3",
                            R"({"argv":[],"display_name":"Python 3","language":"python"})",
                            {{"logo-64x64.png", "PNG"}}}};
  }

  /// Starts (again) with what the store holds. Hosts keep their lives; clients are cut off.
  void start() {
    for (auto& [id, client] : clients) client.open = false;
    ++life_;
    node_ = std::make_unique<GatewayNode>(config, Incarnation{1000 + life_}, 77 + life_);
    waiting_.clear();
    step(StoreLoaded{store});
  }
  void start_with_hosts() {
    start();
    for (const auto& [host, address] : config.hosts) start_host(host);
  }
  void stop() { node_.reset(); }

  void start_host(const HostId& id) {
    Host& host = hosts[id];
    host.up = true;
    host.life = ++lives_;
    host.link = std::make_unique<Link>(Incarnation{host.life}, config.timing, config.sizes);
    advance(1s);
  }
  /// It falls silent; the transport notices at once when `noticed`.
  void lose_host(const HostId& id, bool noticed = true) {
    hosts[id].up = false;
    if (noticed) step(PeerDown{id});
  }
  /// It comes back at once, without what was on its disk.
  void wipe_host(const HostId& id) {
    lose_host(id);
    hosts[id].replicas.clear();
    start_host(id);
  }
  void find_host(const HostId& id) {  // the same life as before
    hosts[id].up = true;
    advance(2500ms);
  }

  void step(GatewayEvent event) {
    events_.push_back(std::move(event));
    run();
  }
  void advance(Duration time) {
    for (const Time end = now_ + time; now_ < end;) {
      now_ += 50ms;
      step(Tick{});
      exchange();
    }
  }

  // REST
  HttpReply http(const std::string& method, const std::string& target, const std::string& body = {},
                 std::map<std::string, std::string> headers = {{"authorization", "token secret"}}) {
    const RequestId id{++last_request_};
    step(HttpRequest{id, method, target, std::move(headers), body});
    exchange();
    return replies.contains(id) ? replies[id] : HttpReply{id, 0, {}, {}};
  }
  /// The answer to the last request, 0 when there is none yet.
  HttpReply last_reply() {
    return replies.contains({last_request_}) ? replies[{last_request_}] : HttpReply{{}, 0, {}, {}};
  }
  [[nodiscard]] RequestId last_request() const { return {last_request_}; }
  SessionId create(const std::string& kernel = "python3", const json& env = json::object()) {
    const HttpReply reply = http("POST", "/api/kernels", json{{"name", kernel}, {"env", env}}.dump());
    EXPECT_EQ(reply.status, 201) << reply.body;
    return {json::parse(reply.body)["id"].get<std::string>()};
  }
  json model(const SessionId& id) { return json::parse(http("GET", "/api/kernels/" + id.value).body); }

  // Clients
  /// manner: further parts of the query, each with its "&".
  ConnectionId connect(const SessionId& session, const std::string& session_id,
                       const std::string& manner = {}) {
    const ConnectionId id{++last_connection_};
    const std::string query = session_id.empty() ? "" : "?session_id=" + session_id + manner;
    step(ClientOpening{
        id, "/api/kernels/" + session.value + "/channels" + query, {{"authorization", "token secret"}}});
    exchange();
    return id;
  }
  void disconnect(ConnectionId id) {
    clients[id].open = false;
    step(ClientClosed{id});
  }
  static jupyter::Message request(const std::string& type, const std::string& id,
                                  const std::string& content = "{}",
                                  jupyter::Channel channel = jupyter::Channel::kShell,
                                  const std::string& session = "tab") {
    return {.channel = channel,
            .header = json{{"msg_id", id}, {"msg_type", type}, {"session", session}}.dump(),
            .parent_header = "{}",
            .metadata = "{}",
            .content = Blob(content),
            .buffers = {}};
  }
  void say(ConnectionId id, jupyter::Message message) {
    step(FromClient{id, std::move(message)});
    exchange();
  }
  void execute(ConnectionId id, const std::string& cell, const std::string& content = R"({"code":"1"})") {
    say(id, request("execute_request", cell, content));
  }
  /// Everything that was sent leaves for the client.
  void drain(ConnectionId id) {
    for (const std::uint64_t bytes : std::exchange(clients[id].unread, {})) step(ClientDrained{id, bytes});
  }
  /// The client answers the ping that it has not answered, and those to come.
  void confirm(ConnectionId id) {
    clients[id].confirms = true;
    step(ClientConfirmed{id, clients[id].asked});
  }

  // Hosts speak
  void from_host(const HostId& id, PeerMessage message) {
    hosts[id].link->send(std::move(message));
    exchange();
  }
  /// What the test has made of the replica; its members are those that the gateway has asked for last.
  void report(const HostId& id, const SessionId& session) {
    ReplicaReport& replica = hosts[id].replicas[session];
    if (!replica.members.empty()) replica.members_wish = wishes_[session];
    HostReport report = figures(hosts[id]);
    report.replicas = {replica};
    from_host(id, std::move(report));
  }
  /// From now on it says that of its kernels.
  void tell_kernels(const HostId& id, std::vector<KernelReport> kernels) {
    hosts[id].kernels = std::move(kernels);
    from_host(id, figures(hosts[id]));
  }
  static jupyter::Message kernel_message(const std::string& type, const std::string& parent,
                                         const std::string& content,
                                         jupyter::Channel channel = jupyter::Channel::kIopub,
                                         const std::string& parent_session = "tab") {
    return {
        .channel = channel,
        .header = json{{"msg_id", type + "-of-" + parent}, {"msg_type", type}, {"session", "kernel"}}.dump(),
        .parent_header = parent.empty() ? "{}" : json{{"msg_id", parent}, {"session", parent_session}}.dump(),
        .metadata = "{}",
        .content = Blob(content),
        .buffers = {}};
  }
  void output(const HostId& host, const SessionId& session, const std::string& cell, std::uint64_t seq,
              const std::string& text) {
    from_host(host,
              FromKernel{session,
                         {cell},
                         seq,
                         kernel_message("stream", cell, json{{"name", "stdout"}, {"text", text}}.dump())});
  }
  void end(const HostId& host, const SessionId& session, const std::string& cell, std::uint64_t outputs = 0,
           session::Status status = session::Status::kOk) {
    ExecutionEnded end{.session = session, .execution = {cell}, .status = status, .outputs = outputs};
    const bool replied = status == session::Status::kOk || status == session::Status::kError;
    if (replied)
      end.reply = kernel_message("execute_reply", cell, json{{"status", session::name_of(status)}}.dump(),
                                 jupyter::Channel::kShell);
    if (status == session::Status::kLost) end.reason = "the host that ran the cell stopped answering";
    from_host(host, std::move(end));
  }

  // What was seen
  template <class T>
  std::vector<T> got(const HostId& id) {
    std::vector<T> result;
    for (const PeerMessage& message : hosts[id].got) {
      if (const T* one = std::get_if<T>(&message)) result.push_back(*one);
    }
    return result;
  }
  template <class T>
  std::vector<HostId> who_got() {
    std::vector<HostId> result;
    for (auto& [id, host] : hosts) {
      if (!got<T>(id).empty()) result.push_back(id);
    }
    return result;
  }
  void forget() {
    for (auto& [id, host] : hosts) host.got.clear();
    for (auto& [id, client] : clients) client.got.clear();
  }
  /// "msg_type(parent)" or "msg_type:detail(parent)" of what the client got, in order.
  std::vector<std::string> heard(ConnectionId id) {
    std::vector<std::string> result;
    for (const auto& message : clients[id].got) result.push_back(describe(message));
    return result;
  }
  static std::string describe(const jupyter::Message& message) {
    const json header = json::parse(message.header), parent = json::parse(message.parent_header);
    const json content = json::parse(message.content.view());
    std::string text = header["msg_type"];
    for (const char* detail : {"execution_state", "text", "status", "ename", "prompt"}) {
      if (content.contains(detail)) {
        text += ":" + content[detail].get<std::string>();
        break;
      }
    }
    return text + "(" + parent.value("msg_id", "") + ")";
  }

  GatewayConfig config;
  std::map<HostId, Host> hosts;
  std::map<ConnectionId, Client> clients;
  std::map<std::string, std::string> store;
  std::map<RequestId, HttpReply> replies;
  std::map<HostId, std::string> addresses;  ///< of the hosts that the gateway is connected to
  std::map<HostId, std::string> keys;       ///< that it has named
  std::vector<HostId> disconnected;         ///< in order, those that were connected again too
  std::vector<Log> logs;
  bool store_works = true;                   ///< writes become durable at once
  bool hosts_open = true;                    ///< hosts open what they are asked to
  WorkerState worker = WorkerState::kReady;  ///< of replicas that are opened

 private:
  void run() {
    while (!events_.empty()) {
      GatewayEvent event = std::move(events_.front());
      events_.pop_front();
      if (!node_) continue;
      for (GatewayEffect& effect :
           node_->step({now_, {now_.time_since_epoch().count() / 1000}}, std::move(event)))
        perform(effect);
    }
  }
  void perform(GatewayEffect& effect) {
    std::visit(Overloaded{
                   [&](SendFrame& e) { to_hosts_.emplace_back(e.to, std::move(e.frame)); },
                   [&](ConnectPeer& e) {
                     addresses[e.peer] = e.address;
                     if (!e.key.empty()) keys[e.peer] = e.key;
                   },
                   [&](DisconnectPeer& e) {
                     addresses.erase(e.peer);
                     keys.erase(e.peer);
                     disconnected.push_back(e.peer);
                   },
                   [&](HttpReply& e) { replies[e.id] = e; },
                   [&](AcceptClient& e) { clients[e.id].open = true; },
                   [&](RejectClient& e) { clients[e.id].refused = e.status; },
                   [&](ToClient& e) {
                     Client& client = clients[e.id];
                     ASSERT_TRUE(client.open) << "a message for a connection that is not open";
                     const std::uint64_t bytes = e.message.size();
                     client.got.push_back(std::move(e.message));
                     if (client.reads) {
                       events_.push_back(ClientDrained{e.id, bytes});
                     } else {
                       client.unread.push_back(bytes);
                     }
                   },
                   [&](PingClient& e) {
                     if (clients[e.id].confirms) {
                       events_.push_back(ClientConfirmed{e.id, e.messages});
                     } else {
                       clients[e.id].asked = e.messages;
                     }
                   },
                   [&](CloseClient& e) {
                     clients[e.id].open = false;
                     clients[e.id].close_code = e.code;
                   },
                   [&](Store& e) {
                     if (!store_works) {
                       waiting_.push_back(e);
                       return;
                     }
                     write(e);
                   },
                   [&](Log& e) { logs.push_back(e); },
               },
               effect);
  }
  void write(const Store& record) {
    if (record.value.empty()) {
      store.erase(record.key);
    } else {
      store[record.key] = record.value;
    }
    if (record.token != 0) events_.push_back(Stored{record.token});
  }

 public:
  /// What was held back becomes durable.
  void flush_store() {
    for (const Store& record : std::exchange(waiting_, {})) write(record);
    run();
    exchange();
  }
  /// Carries frames until nothing moves.
  void exchange() {
    for (bool moved = true; moved;) {
      moved = false;
      while (!to_hosts_.empty()) {
        auto [id, frame] = std::move(to_hosts_.front());
        to_hosts_.pop_front();
        Host& host = hosts[id];
        if (!host.up) continue;
        const auto received = host.link->receive(std::get<LinkFrame>(std::move(frame)), now_);
        if (received.reset) report_all(host);
        for (const PeerMessage& message : received.messages) take(id, host, message);
        moved = true;
      }
      for (auto& [id, host] : hosts) {
        if (!host.up || !node_) continue;
        while (auto frame = host.link->poll(now_)) {
          events_.push_back(FrameArrived{id, std::move(*frame)});
          moved = true;
        }
      }
      run();
    }
  }

 private:
  static HostReport figures(const Host& host) {
    HostReport report{.cpus = 8, .memory_bytes = 1 << 30, .takes_addresses = true};
    report.kernels = host.kernels;
    report.gpus = host.devices.size();
    report.devices = host.devices;
    return report;
  }
  static void report_all(Host& host) {
    HostReport report = figures(host);
    report.whole = true;
    for (const auto& [session, replica] : host.replicas) report.replicas.push_back(replica);
    host.link->send(std::move(report));
  }
  void take(const HostId&, Host& host, const PeerMessage& message) {
    host.got.push_back(message);
    if (std::holds_alternative<ReportAll>(message)) report_all(host);
    if (const auto* change = std::get_if<ChangeMembers>(&message)) wishes_[change->session] = change->wish;
    if (const auto* open = std::get_if<OpenReplica>(&message);
        open && hosts_open && !host.replicas.contains(open->session)) {
      ReplicaReport report{
          .session = open->session, .replica = open->replica, .complete = true, .founding = open->founding};
      if (open->origin == Origin::kFounding) {  // others know nothing before the leader has spoken to them
        report.leader = open->members.begin()->first;
        report.members = open->members;
      }
      report.worker = worker;
      report.worker_pid = host.life * 100;
      host.replicas[open->session] = report;
      HostReport said = figures(host);
      said.replicas = {report};
      host.link->send(std::move(said));
    }
    const auto other = [&](const CloseReplica& close) {
      const auto held = host.replicas.find(close.session);
      return held != host.replicas.end() && close.replica.value != 0 && close.replica != held->second.replica;
    };
    if (const auto* close = std::get_if<CloseReplica>(&message); close && !other(*close)) {
      host.replicas.erase(close->session);
      HostReport said = figures(host);
      said.closed = {close->session};
      host.link->send(std::move(said));
    }
  }

  std::unique_ptr<GatewayNode> node_;
  Time now_{};
  std::map<SessionId, std::uint64_t> wishes_;  ///< ChangeMembers::wish
  std::uint64_t life_ = 0, lives_ = 0, last_request_ = 0, last_connection_ = 0;
  std::deque<GatewayEvent> events_;
  std::deque<std::pair<HostId, PeerFrame>> to_hosts_;
  std::vector<Store> waiting_;
};

}  // namespace banyan::node
