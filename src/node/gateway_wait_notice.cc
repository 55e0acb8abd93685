#include "node/gateway_wait_notice.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "core/jupyter/message.h"
#include "node/gateway_messages.h"

namespace banyan::node {

namespace {

using nlohmann::json;

constexpr Duration kShownAfter = 1s;  // shorter waits are not worth a line
/// To look where a cell stands takes longer where many wait: so long for each of them.
constexpr Duration kLookedAtEach = 1s, kLookedAtEachMore = 10ms;
const std::string kOfEarlierLife = "?";

/// Rounded up, so that it seldom changes: "20 s", "4 min", "2 h".
std::string rough(Duration time) {
  const std::int64_t seconds = microseconds(time) / 1'000'000;
  if (seconds < 60) return std::to_string((seconds + 10) / 10 * 10) + " s";
  if (seconds < 3600) return std::to_string((seconds + 59) / 60) + " min";
  return std::to_string((seconds + 3599) / 3600) + " h";
}

std::string text_of(const schedule::QueuedCell& cell, Time now) {
  const std::uint64_t gpus = cell.demand.gpus;
  std::string text = "Banyan waits for " + (gpus == 1 ? "a GPU" : std::to_string(gpus) + " GPUs") + ": ";
  if (cell.at_limit)
    return text + "your cells have as many as one user may have at once; it runs when one of them has ended";
  if (cell.hours_end)
    return text + "your cells have had them for as long as one user may within a day; it may run in about " +
           rough(*cell.hours_end - now);
  if (cell.comes_to) return text + "a replica moves to host " + cell.comes_to->value + ", which has them";
  text +=
      cell.place == 1 ? "this cell is the next one" : "place " + std::to_string(cell.place) + " in the queue";
  if (cell.expected) text += ", about " + rough(*cell.expected);
  return text;
}

}  // namespace

void WaitNotice::recover(const std::string& header) {
  header_ = header;
  text_ = kOfEarlierLife;
  is_alone_ = false;
}

void WaitNotice::watch(const std::string& header) {
  const Time now = gateway_.now().mono;
  const auto waiting = static_cast<Duration::rep>(gateway_.queued_count());
  if (now - looked_at_ < kLookedAtEach + kLookedAtEachMore * waiting) return;
  looked_at_ = now;
  const auto place = gateway_.queued_cell(session_);
  if (place && (place->place > 0 || place->comes_to)) return show(header, *place);
  if (text_ != kOfEarlierLife) end();
}

void WaitNotice::show(const std::string& header, const schedule::QueuedCell& place) {
  if (gateway_.now().mono - place.since < kShownAfter) return;
  std::string text = text_of(place, gateway_.now().mono);
  if (text == text_) return;
  const bool first = text_.empty();
  header_ = header;
  text_ = std::move(text);
  show_text(first ? "display_data" : "update_display_data", text_);
}

/// Only where nothing else can be there, the output is cleared as a whole.
void WaitNotice::end() {
  if (text_.empty()) return;
  if (is_alone_) {
    publish("clear_output", dump({{"wait", false}}));
  } else {
    show_text("update_display_data", "");
  }
  text_.clear();
  is_alone_ = true;
}

void WaitNotice::show_text(std::string_view type, const std::string& text) {
  publish(type, dump({{"data", {{"text/plain", text}}},
                      {"metadata", json::object()},
                      {"transient", {{"display_id", "banyan-wait-" + session_.value}}}}));
}

void WaitNotice::publish(std::string_view type, std::string content) {
  clients_.publish(jupyter::make_message(jupyter::Channel::kIopub, type, header_, std::move(content),
                                         gateway_.author(session_)));
}

}  // namespace banyan::node
