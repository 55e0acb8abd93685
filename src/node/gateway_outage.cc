#include "node/gateway_outage.h"

namespace banyan::node {

namespace {
constexpr Duration kOutageGrace = 10s;  // hosts restart faster than this
}

void Outage::watch() {
  if (members_.voters().can_serve()) {
    since_.reset();
  } else if (!since_) {
    since_ = gateway_.now().mono;
  }
}

bool Outage::lasts() const {
  return since_ && !members_.voters().can_serve() && gateway_.now().mono - *since_ >= kOutageGrace;
}

std::string Outage::reason() const {
  if (members_.voters().can_serve()) return {};
  const std::size_t voters = record_.committed.size();
  const std::size_t up = members_.voters().up();
  if (members_.voters().beyond_repair())
    return "Too many of the session's replicas are lost, with their data or with hosts that were removed (" +
           std::to_string(members_.voters().lost()) + " of " + std::to_string(voters) +
           "); it cannot go on. Add those hosts again if they still have their data, or shut the kernel down "
           "and start a new "
           "one.";
  std::string down;
  for (const auto& [replica, host] : record_.committed) {
    if (!gateway_.usable(host)) down += (down.empty() ? "" : ", ") + host.value;
  }
  return "Only " + std::to_string(up) + " of the session's " + std::to_string(voters) +
         (up == 1 ? " replicas is up" : " replicas are up") + ", and a cell needs " +
         std::to_string(voters / 2 + 1) + "; not up: " + down +
         ". Start these hosts again (`banyan hosts` shows them), then run the cell again.";
}

Verdict Outage::verdict() const { return {"NoQuorum", reason() + " The cell was not run."}; }

}  // namespace banyan::node
