// The host agent as a pure machine: many replicas, one disk, the workers of one server.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "core/planner/choice.h"
#include "node/host_events.h"
#include "node/timing.h"

namespace banyan::node {

/// A host agent's configuration, fixed for its life.
struct HostConfig {
  HostId id;
  Timing timing;
  Sizes sizes;
  planner::Strategy plan = planner::Strategy::kStreamed;  ///< of views
  std::string store;  ///< the data store that FetchChunk reads, as clients name it; empty for none
  std::vector<cluster::Device> devices = {};  ///< as far as is known at the start; HostFigures has them later
  bool whole_ticks = false;  ///< also calm replicas get whole ticks: for the test that it makes no difference
};

class HostMachine;

/// All decisions of a host agent. Pure: the same events at the same times give the same effects.
class HostNode {
 public:
  /// `seed` drives election timeouts and message ids; `life` must differ from all earlier lives of this host.
  HostNode(const HostConfig& config, Incarnation life, std::uint64_t seed);
  ~HostNode();

  /// Handles one event. The effects may be performed in any order but for those on the same peer, worker or
  /// disk, which keep theirs. The first event of a life is Recovered.
  std::vector<HostEffect> step(const Now& now, HostEvent event);
  /// Bytes of values that are in memory and not on the disk yet.
  [[nodiscard]] std::uint64_t captured_bytes() const;

 private:
  std::unique_ptr<HostMachine> machine_;
};

}  // namespace banyan::node
