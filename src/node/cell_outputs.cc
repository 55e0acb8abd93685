#include "node/cell_outputs.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "node/gateway_messages.h"

namespace banyan::node {

namespace {

using nlohmann::json;

constexpr Duration kToldEvery = 1s;

OutputLog empty_log(const HostContext& host) {
  return {host.sizes().journal_max, host.sizes().session_buffer};
}

}  // namespace

CellOutputs::CellOutputs(HostContext& host, const Execute& order)
    : host_(host),
      session_(order.session),
      cell_(order.execution),
      request_header_(order.request.header),
      log_(empty_log(host)) {}

void CellOutputs::send(Backlog backlog) {
  const auto may = [&] { return backlog == Backlog::kAdd || !host_.backlogged(kGateway); };
  while (asked_ && sent_ < log_.total() && may()) {
    const std::uint64_t seq = ++sent_;
    if (const jupyter::Message* output = log_.find(seq))
      host_.send(kGateway, FromKernel{session_, cell_, seq, *output});
  }
}

void CellOutputs::forget() { log_ = empty_log(host_); }

jupyter::Message CellOutputs::own(jupyter::Channel channel, std::string_view type, std::string content) {
  return jupyter::make_message(channel, type, request_header_, std::move(content), host_.author(session_));
}

void CellOutputs::say(const std::string& text) {
  add(note(text, request_header_, host_.author(session_)));
  send();
}

void CellOutputs::send_beside(jupyter::Message message) {
  if (asked_) host_.send(kGateway, FromKernel{session_, {}, 0, std::move(message)});
}

void CellOutputs::show_progress(const std::string& doing, const ViewProgress& progress) {
  const Time now = host_.now().mono;
  if (progress_at_ && now - *progress_at_ < kToldEvery) return;
  const auto tenths = std::min<std::uint64_t>(progress.percent / 10, 10);
  std::string bar;
  for (std::uint64_t i = 0; i < 10; ++i) bar += i < tenths ? "█" : "░";
  std::string text = "Banyan " + doing + ": " + bar + " " + progress.what;
  if (progress.left_us > 0)
    text += ", about " + std::to_string((progress.left_us + 999'999) / 1'000'000) + " s left";
  tell_client(progress_at_ ? "update_display_data" : "display_data",
              dump({{"data", {{"text/plain", text}}},
                    {"metadata", json::object()},
                    {"transient", {{"display_id", "banyan-" + cell_.value}}}}));
  progress_at_ = now;
}

void CellOutputs::end_progress() {
  if (progress_at_) tell_client("clear_output", dump({{"wait", false}}));
  progress_at_.reset();
}

void CellOutputs::close_progress(const std::string& done, const std::string& what) {
  if (!progress_at_) return;
  progress_at_ = Time{};  // however lately it was shown
  show_progress(done, {.what = what, .percent = 100});
  progress_at_.reset();
}

void CellOutputs::tell_client(std::string_view type, std::string content) {
  send_beside(own(jupyter::Channel::kIopub, type, std::move(content)));
}

bool CellOutputs::on_asked(std::uint64_t seen) {
  if (std::exchange(asked_, true)) return false;
  sent_ = seen;
  return true;
}

}  // namespace banyan::node
