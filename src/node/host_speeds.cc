#include "node/host_speeds.h"

#include "base/codec.h"

namespace banyan::node {

namespace {
constexpr Duration kKeepSpeeds = 60s;
}

void HostSpeeds::recall(const std::string& record) {
  if (record.empty()) return;
  if (const auto known = decode<planner::SpeedsRecord>(record)) {
    speeds_.recall(*known);
  } else {
    host_.log(Log::Level::kWarning,
              "what was known of this host's speeds cannot be read: they are learned anew");
  }
}

void HostSpeeds::keep() {
  const Time now = host_.now().mono;
  if (!keep_at_) keep_at_ = now + kKeepSpeeds;
  if (now < *keep_at_ || speeds_.samples() == kept_) return;
  keep_at_ = now + kKeepSpeeds;
  kept_ = speeds_.samples();
  host_.write(PutSpeeds{encode(speeds_.record())});
}

}  // namespace banyan::node
