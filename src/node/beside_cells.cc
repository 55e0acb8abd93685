#include "node/beside_cells.h"

#include <algorithm>
#include <utility>

#include "node/gateway_messages.h"

namespace banyan::node {

namespace {
constexpr std::size_t kWaitingMax = 256;
constexpr std::size_t kAskedMax = 256;
}  // namespace

bool calls_back(const jupyter::Message& request) {
  const auto header = jupyter::parse_header(request.header);
  return header && header->msg_type.starts_with("comm_") && header->msg_type != "comm_info_request";
}

BesideCells::BesideCells(HostContext& host, SessionId session)
    : host_(host), session_id_(std::move(session)) {}

void BesideCells::note(const jupyter::Message& request) {
  if (const auto header = jupyter::parse_header(request.header)) asked_.push_back(header->msg_id);
  if (asked_.size() > kAskedMax) asked_.pop_front();
}

bool BesideCells::keep(jupyter::Message request) {
  if (waiting_.size() >= kWaitingMax) return false;
  waiting_.push_back(std::move(request));
  return true;
}

std::vector<jupyter::Message> BesideCells::take_if(
    const std::function<bool(const jupyter::Message&)>& takes) {
  std::vector<jupyter::Message> taken;
  std::deque<jupyter::Message> waiting;
  for (jupyter::Message& request : std::exchange(waiting_, {})) {
    if (takes(request)) {
      taken.push_back(std::move(request));
    } else {
      waiting.push_back(std::move(request));
    }
  }
  waiting_ = std::move(waiting);
  return taken;
}

bool BesideCells::callback_waits() const { return std::ranges::any_of(waiting_, calls_back); }

bool BesideCells::answers(const std::string& parent) const {
  return std::ranges::find(asked_, parent) != asked_.end();
}

void BesideCells::say(jupyter::Message message) {
  const bool answers = message.channel != jupyter::Channel::kIopub || is_status(message);
  if (!answers && host_.backlogged(kGateway)) {
    ++unsaid_.messages;
    unsaid_.parent_header = std::move(message.parent_header);
    return;
  }
  say_what_is_missing();
  host_.send(kGateway, FromKernel{session_id_, {}, 0, std::move(message)});
}

void BesideCells::say_what_is_missing() {
  if (unsaid_.messages == 0 || host_.backlogged(kGateway)) return;
  const Unsaid unsaid = std::exchange(unsaid_, {});
  const std::string text =
      "[banyan: " + std::to_string(unsaid.messages) +
      " messages of output are missing here: the gateway could not be reached for long]\n";
  host_.send(
      kGateway,
      FromKernel{session_id_, {}, 0, node::note(text, unsaid.parent_header, host_.author(session_id_))});
}

}  // namespace banyan::node
