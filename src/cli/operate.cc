// `banyan suspend`, `resume`, `migrate`.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <future>
#include <string>
#include <utility>

#include "cli/commands.h"
#include "cli/gateway_call.h"
#include "cli/table/progress.h"
#include "cli/table/table.h"

namespace banyan::cli {

namespace {

using nlohmann::json;

constexpr int kTriesAfterTimeout = 30;  // a try takes about two minutes

/// Asks the gateway to do it, and again when it has not finished in time: the gateway goes on meanwhile, and
/// the same request joins in.
Result<json> operate(const MovingOptions& options, const std::string& session, const json& body) {
  runtime::HttpCall request{.method = "POST",
                            .target = session_path(session, options.verb),
                            .body = body.dump(),
                            .timeout = std::chrono::seconds(150)};
  for (int i = 0;; ++i) {
    const auto answer = call_raw(options.show.gateway, request);
    if (!answer) return tl::unexpected(answer.error());
    if (answer->status == 504 && i < kTriesAfterTimeout) continue;
    if (answer->status != 200) return tl::unexpected(error_of(*answer));
    return json::parse(answer->body, nullptr, false);
  }
}

/// Shows in a bar what a session waits for before it is suspended, resumed or moved.
class Watch {
 public:
  Watch(const MovingOptions& options, std::string session)
      : options_(options), session_(std::move(session)), bar_(options.verb, 100) {}

  [[nodiscard]] bool visible() const { return bar_.visible(); }

  void look() {
    const auto sessions = sessions_of(options_.show.gateway);
    const api::Session* const one = sessions ? find(*sessions, session_) : nullptr;
    if (one == nullptr) return;
    const api::ViewModel view = one->view.value_or(api::ViewModel{});
    if (view.building)
      return bar_.tell(view.percent.value_or(0), plain(*view.building),
                       static_cast<double>(view.left_ms.value_or(0)) / 1000);
    if (one->queued > 0) return bar_.tell(0, "a cell runs; this is done between two", -1);
    if (one->pending) return copies(one->pending->bytes);
    bar_.tell(0, "its replicas make ready", -1);
  }

 private:
  /// So many bytes of its large values are not on a majority's disks yet.
  void copies(std::uint64_t pending) {
    most_pending_ = std::max({most_pending_, pending, std::uint64_t{1}});
    bar_.tell((most_pending_ - pending) * 100 / most_pending_,
              bytes_text(pending) + " of large values are being copied", -1);
  }

  const MovingOptions& options_;
  std::string session_;
  ProgressBar bar_;
  std::uint64_t most_pending_ = 0;  ///< the most bytes that were seen pending
};

/// Does it with a progress bar for whoever waits at a terminal.
Result<json> operate_watched(const MovingOptions& options, const std::string& session, const json& body) {
  auto answer = std::async(std::launch::async, [&] { return operate(options, session, body); });
  Watch watch(options, session);
  while (watch.visible() && answer.wait_for(std::chrono::milliseconds(300)) != std::future_status::ready)
    watch.look();
  return answer.get();
}

}  // namespace

int operate_session(const MovingOptions& options) {
  const auto session = find_session(options.show.gateway, options.session);
  if (!session) return complain(session.error());
  json body = json::object();
  if (options.verb == "migrate") body["host"] = options.host;
  if (options.verb != "resume") body["force"] = options.force;
  const auto answer = operate_watched(options, *session, body);
  if (!answer) return complain(answer.error());
  std::string text = options.verb == "suspend" ? "the session is suspended" : "the session is resumed";
  if (options.verb == "migrate")
    text = "the session is on host " + text_of(*answer, "host") + " now (" + text_of(*answer, "took_ms") +
           " ms)";
  if (options.verb == "migrate" && !flag_of(*answer, "copied"))
    text += "; what it does not need yet is still being copied there";
  return print_answer(options.show, *answer, text + "\n");
}

}  // namespace banyan::cli
