// Drivers hand events to a node and carry out its effects on the ports. The live daemons and the simulator
// use the same ones.
#pragma once

#include <deque>
#include <functional>

#include "node/gateway_node.h"
#include "node/host_node.h"
#include "port/chunk_source.h"
#include "port/disk.h"
#include "port/front.h"
#include "port/launcher.h"
#include "port/network.h"

namespace banyan::port {

/// Reads the clocks for a driver.
using Clock = std::function<Now()>;
/// Takes a node's log lines.
using LogSink = std::function<void(const node::Log&)>;

/// Runs a HostNode, on one thread. Ports and node must outlive it.
class HostDriver {
 public:
  struct Ports {
    Network& network;
    Disk& disk;
    Launcher& launcher;
    Clock clock;
    LogSink log;
    ChunkSource* store = nullptr;  ///< nullptr when the host reads no data store; its HostConfig says so, too
  };
  HostDriver(node::HostNode& node, Ports ports) : node_(node), ports_(std::move(ports)) {}

  /// Steps the node and performs its effects. It may be called from within a port's call: such events wait
  /// until the effects of the step before are out.
  void deliver(node::HostEvent event);

 private:
  void perform(node::HostEffect effect);

  node::HostNode& node_;
  Ports ports_;
  std::deque<node::HostEvent> waiting_;
  bool busy_ = false;
};

/// Runs a GatewayNode, on one thread. Ports and node must outlive it.
class GatewayDriver {
 public:
  struct Ports {
    Network& network;
    ControlStore& store;
    Front& front;
    Clock clock;
    LogSink log;
  };
  GatewayDriver(node::GatewayNode& node, Ports ports) : node_(node), ports_(std::move(ports)) {}

  /// Steps the node and performs its effects. It may be called from within a port's call: such events wait
  /// until the effects of the step before are out.
  void deliver(node::GatewayEvent event);

 private:
  void perform(node::GatewayEffect effect);

  node::GatewayNode& node_;
  Ports ports_;
  std::deque<node::GatewayEvent> waiting_;
  bool busy_ = false;
};

}  // namespace banyan::port
