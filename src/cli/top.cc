// `banyan top`: hosts, GPUs, cells that wait and sessions that run cells, anew each second.

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cli/commands.h"
#include "cli/gateway_call.h"
#include "cli/table/table.h"

namespace banyan::cli {

namespace {

constexpr std::chrono::milliseconds kEach{1000};
constexpr std::size_t kUsualLines = 24;
constexpr std::uint64_t kBarMost = 16;  // GPUs of a host that get a sign each

/// What one screen shows.
struct Seen {
  std::vector<api::Host> hosts;
  std::vector<api::Session> sessions;
  std::vector<api::QueuedCell> queue;
};

Result<Seen> look(const runtime::AddressOptions& gateway) {
  Seen seen;
  auto hosts = hosts_of(gateway);
  if (!hosts) return tl::unexpected(hosts.error());
  auto sessions = sessions_of(gateway);
  if (!sessions) return tl::unexpected(sessions.error());
  auto queue = ask_gateway<std::vector<api::QueuedCell>>(gateway, "/api/banyan/queue");
  if (!queue) return tl::unexpected(queue.error());
  return Seen{std::move(*hosts), std::move(*sessions), std::move(*queue)};
}

/// "##.!": a sign for each GPU, bound, idle or faulty; numbers where there are too many.
std::string gpus_of(const api::Host& host) {
  if (host.gpus == 0) return "-";
  if (host.gpus > kBarMost) return std::to_string(host.bound_gpus) + " of " + std::to_string(host.gpus);
  const std::uint64_t faulty = std::min(host.faulty_gpus, host.gpus - std::min(host.bound_gpus, host.gpus));
  const std::uint64_t idle = host.gpus - std::min(host.gpus, host.bound_gpus + faulty);
  return std::string(host.bound_gpus, '#') + std::string(idle, '.') + std::string(faulty, '!');
}

std::string head_of(const Seen& seen) {
  std::uint64_t up = 0, gpus = 0, bound = 0, busy = 0, suspended = 0, pending = 0;
  for (const api::Host& host : seen.hosts) {
    up += host.up ? 1U : 0U;
    gpus += host.gpus;
    bound += host.bound_gpus;
  }
  for (const api::Session& session : seen.sessions) {
    busy += session.state == "busy" ? 1U : 0U;
    suspended += session.state == "suspended" ? 1U : 0U;
    if (session.pending) pending += session.pending->bytes;
  }
  std::string text = std::to_string(up) + " of " + std::to_string(seen.hosts.size()) + " hosts up   " +
                     std::to_string(busy) + " of " + std::to_string(seen.sessions.size()) +
                     " sessions busy, " + std::to_string(suspended) + " suspended   ";
  if (gpus > 0) text += std::to_string(bound) + " of " + std::to_string(gpus) + " GPUs in use   ";
  text += std::to_string(seen.queue.size()) + (seen.queue.size() == 1 ? " cell waits" : " cells wait");
  if (pending > 0) text += "   " + bytes_text(pending) + " pending";
  return text + "\n";
}

std::string hosts_table(const Seen& seen, bool coloured) {
  std::vector<std::vector<Cell>> rows;
  for (const api::Host& host : seen.hosts)
    rows.push_back({{host.host},
                    !host.up        ? Cell{"silent", Colour::kRed}
                    : host.draining ? Cell{"draining", Colour::kYellow}
                                    : Cell{"up", Colour::kGreen},
                    {gpus_of(host), host.faulty_gpus > 0 ? Colour::kRed : Colour::kNone},
                    {std::to_string(host.running_cells)},
                    {std::to_string(host.replicas)},
                    {bytes_text(host.resident_bytes)}});
  return render({{"HOST"},
                 {"STATE"},
                 {"GPUS"},
                 {"CELLS", Align::kRight},
                 {"REPLICAS", Align::kRight},
                 {"AGENT", Align::kRight}},
                rows, coloured);
}

std::string queue_table(const Seen& seen, bool coloured) {
  if (seen.queue.empty()) return {};
  std::vector<std::vector<Cell>> rows;
  for (const api::QueuedCell& cell : seen.queue)
    rows.push_back({{std::to_string(cell.place)},
                    {cell.path ? plain(*cell.path) : cell.session},
                    {cell.user.empty() ? "-" : plain(cell.user)},
                    {std::to_string(cell.gpus)},
                    {age_text(cell.waiting_ms / 1000)},
                    {runs_text(cell)}});
  return "\n" + render({{"PLACE", Align::kRight},
                        {"WAITS FOR GPUS"},
                        {"USER"},
                        {"GPUS", Align::kRight},
                        {"SINCE", Align::kRight},
                        {"RUNS"}},
                       rows, coloured);
}

std::string busy_table(const Seen& seen, bool coloured) {
  std::vector<std::vector<Cell>> rows;
  for (const api::Session& session : seen.sessions) {
    if (session.state != "busy" || session.waits) continue;
    rows.push_back({{session.path ? plain(*session.path) : session.id},
                    {session.executor.value.value_or("-")},
                    {std::to_string(session.queued)},
                    {std::to_string(session.execution_count)},
                    {session.pending ? bytes_text(session.pending->bytes) : "-"}});
  }
  if (rows.empty()) return {};
  return "\n" + render({{"RUNS A CELL"},
                        {"ON"},
                        {"QUEUED", Align::kRight},
                        {"CELLS RUN", Align::kRight},
                        {"PENDING", Align::kRight}},
                       rows, coloured);
}

std::string screen(const Seen& seen, bool coloured) {
  return head_of(seen) + "\n" + hosts_table(seen, coloured) + queue_table(seen, coloured) +
         busy_table(seen, coloured);
}

/// So much as the terminal is high, with a word where something is left out.
std::string fitting(const std::string& text) {
  winsize size{};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0;
  const std::size_t lines = known ? size.ws_row : kUsualLines;
  std::size_t end = 0, used = 0;
  while (end < text.size() && used + 1 < lines) {
    end = std::min(text.find('\n', end), text.size() - 1) + 1;
    ++used;
  }
  if (end >= text.size()) return text;
  return text.substr(0, text.rfind('\n', end - 2) + 1) + "…\n";
}

/// At once, also while the gateway is asked and does not answer: the terminal is as it was.
void leave(int /*signal*/) {
  constexpr std::string_view kAsItWas = "\033[?7h\033[?25h\033[?1049l";
  (void)!write(STDOUT_FILENO, kAsItWas.data(), kAsItWas.size());
  _exit(kDone);
}

}  // namespace

std::string runs_text(const api::QueuedCell& cell) {
  if (cell.at_limit) return "when another of its user's cells has ended";
  if (cell.hours_spent_for_ms)
    return "in about " + age_text(*cell.hours_spent_for_ms / 1000) + ", when its user has GPU hours again";
  if (cell.comes_to) return "when its session has moved to " + *cell.comes_to;
  return cell.expected_ms ? "in about " + age_text(*cell.expected_ms / 1000) : "-";
}

int top(const ShowOptions& options) {
  const bool live = isatty(STDOUT_FILENO) == 1;
  const auto first = look(options.gateway);
  if (!first) return complain(first.error());
  if (!live) {
    std::fputs(screen(*first, stdout_wants_colour()).c_str(), stdout);
    return kDone;
  }
  for (const int signal : {SIGINT, SIGTERM, SIGQUIT, SIGHUP}) (void)std::signal(signal, leave);
  (void)std::signal(SIGTSTP, SIG_IGN);
  std::fputs("\033[?1049h\033[?25l\033[?7l", stdout);  // a screen of its own, no cursor, no wrapped lines
  while (true) {
    const auto seen = look(options.gateway);
    const std::string text = seen ? screen(*seen, stdout_wants_colour())
                                  : "the gateway does not answer: " + seen.error().message + "\n";
    std::fputs(("\033[H\033[J" + fitting(text)).c_str(), stdout);
    std::fflush(stdout);
    std::this_thread::sleep_for(kEach);
  }
}

}  // namespace banyan::cli
