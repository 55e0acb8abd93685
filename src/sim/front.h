// The way between model clients and the gateway: HTTP requests and WebSockets that keep their order, take
// time, and break when the gateway dies.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/random.h"
#include "port/front.h"
#include "sim/plant.h"
#include "sim/process.h"
#include "sim/scheduler.h"
#include "sim/trace.h"

namespace banyan::sim {

/// A client's end of a WebSocket.
class SocketListener {
 public:
  virtual ~SocketListener() = default;
  virtual void opened(ConnectionId connection) = 0;
  virtual void received(ConnectionId connection, const jupyter::Message& message) = 0;
  /// The connection was closed, refused, or broke. `status` is a WebSocket close code, an HTTP status, or 0.
  virtual void closed(ConnectionId connection, int status) = 0;
};

/// All clients' connections to the gateway, through all its lives.
class Front {
 public:
  /// Takes the answer to a request. `status` is 0 when the connection broke before there was one.
  using Answer = std::function<void(int status, const std::string& body)>;
  using Deliver = std::function<void(node::GatewayEvent)>;

  Front(Scheduler& scheduler, Rng rng, Trace& trace, Process& process, std::string token, Plant plant)
      : scheduler_(scheduler),
        rng_(rng),
        trace_(trace),
        process_(process),
        token_(std::move(token)),
        plant_(plant) {}

  // The side of the clients.
  void request(std::string method, std::string target, std::string body, Answer answer);
  ConnectionId open(std::string target, SocketListener& listener);
  void send(ConnectionId id, jupyter::Message message);
  void close(ConnectionId id);
  /// Lets the client read nothing for a while.
  void stall(ConnectionId id, Duration duration);
  /// How long the gateway has run since then, without the time in which it was stopped.
  [[nodiscard]] Duration gateway_ran_since(TrueTime then) const;

  // The side of the gateway.
  void gateway_started(Deliver deliver);
  void gateway_stops() { stops_.emplace_back(scheduler_.now(), std::nullopt); }
  void gateway_goes_on();
  void gateway_died();

 private:
  friend class FrontPort;
  struct Socket {
    SocketListener* listener = nullptr;
    bool open = false;
    TrueTime up{};    ///< when the last message to the gateway arrives
    TrueTime down{};  ///< when the last message to the client arrives
    std::uint64_t sent = 0;
  };
  void enter(node::GatewayEvent event);
  TrueTime arrival(TrueTime& last);
  void damage_transfer(const std::string& target, std::string& body, Answer& answer);
  void to_client(ConnectionId id, jupyter::Message message);
  void deliver(ConnectionId id, const jupyter::Message& message);
  void end(ConnectionId id, int status);

  Scheduler& scheduler_;
  Rng rng_;
  Trace& trace_;
  Process& process_;
  std::string token_;
  Plant plant_;
  Deliver deliver_;
  std::uint64_t last_id_ = 0;
  std::map<RequestId, Answer> requests_;
  std::map<ConnectionId, Socket> sockets_;
  std::vector<std::pair<TrueTime, std::optional<TrueTime>>> stops_;  ///< of the gateway; the last may last on
  std::optional<std::pair<ConnectionId, jupyter::Message>>
      held_back_;                                  ///< a planted bug swaps it with the next one
  std::map<std::string, std::string> old_states_;  ///< planted bugs give them out: by where they came from
};

/// The port as one life of the gateway sees it.
class FrontPort final : public port::Front {
 public:
  FrontPort(sim::Front& front) : front_(front) {}  // NOLINT(google-explicit-constructor)
  void reply(node::HttpReply reply) override;
  void accept(ConnectionId id) override;
  void reject(node::RejectClient rejection) override;
  void send(ConnectionId id, jupyter::Message message) override;
  void ping(node::PingClient ping) override;
  void close(node::CloseClient close) override;

 private:
  sim::Front& front_;
};

}  // namespace banyan::sim
