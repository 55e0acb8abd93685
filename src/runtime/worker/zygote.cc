#include "runtime/worker/zygote.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <fstream>

namespace banyan::runtime {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kBackoffMin = 100ms;
constexpr std::chrono::milliseconds kBackoffMax = 5s;
constexpr std::streamoff kTailBytes = 2048;

std::string last_line(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::ate);
  const std::streamoff size = in.tellg();
  in.seekg(std::max<std::streamoff>(0, size - kTailBytes));
  std::string last;
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) last = line;
  return last;
}

}  // namespace

Zygote::Zygote(asio::io_context& loop, asio::thread_pool& pool, ProcessSpec spec, Handlers handlers)
    : loop_(loop), pool_(pool), spec_(std::move(spec)), handlers_(std::move(handlers)), timer_(loop) {
  start();
}

Zygote::~Zygote() { *life_ = false; }

void Zygote::start() {
  ready_ = false;
  complaint_.clear();
  Result<std::pair<UniqueFd, UniqueFd>> ends = socket_pair();
  if (!ends) return died(ends.error().message);
  ProcessSpec spec = spec_;
  spec.inherited_fd = ends->second.get();
  spec.command.insert(spec.command.end(), {"--control-fd", std::to_string(spec.inherited_fd)});
  Result<std::unique_ptr<Process>> process =
      Process::start(loop_, spec, [this](ExitStatus status) { process_ended(status); });
  if (!process) return died(process.error().message);
  process_ = std::move(*process);
  channel_ = std::make_unique<StateChannel>(
      loop_, pool_, std::move(ends->first),
      StateChannel::Handlers{.frame = [this](const Frame& frame) { received(frame); },
                             .closed = [this](const Error& error) { channel_closed(error); }});
  for (Outgoing& frame : std::exchange(waiting_, {})) channel_->send(std::move(frame));
}

void Zygote::request(Outgoing frame) {
  if (channel_ != nullptr)
    channel_->send(std::move(frame));
  else
    waiting_.push_back(std::move(frame));
}

void Zygote::received(const Frame& frame) {
  const Result<ZygoteSays> says = parse_zygote_frame(frame);
  if (!says) return channel_closed(says.error());
  if (std::holds_alternative<ZygoteReady>(*says)) {
    ready_ = true;
    backoff_ = 0ms;
  }
  handlers_.says(*says);
}

void Zygote::channel_closed(const Error& error) {
  if (error.kind != ErrorKind::kUnavailable) complaint_ = error.message;
  if (process_ != nullptr) process_->kill();
}

void Zygote::process_ended(ExitStatus status) {
  std::string reason = "the zygote that forks workers " + describe(status);
  if (!complaint_.empty()) reason += " after it broke the protocol: " + complaint_;
  if (!ready_ && complaint_.empty()) {
    reason = "Python does not start: " + spec_.command.front() + " " + describe(status);
    if (const std::string line = last_line(spec_.log); !line.empty()) reason += ": " + line;
    reason += " (more in " + spec_.log.string() + ")";
  }
  died(reason);
}

void Zygote::died(const std::string& reason) {
  // This is called from handlers of the channel and of the process, so neither may be destroyed here.
  asio::post(loop_, [this, reason, life = life_] {
    if (!*life) return;
    channel_.reset();
    process_.reset();
    waiting_.clear();
    timer_.expires_after(backoff_);
    backoff_ = std::clamp(2 * backoff_, kBackoffMin, kBackoffMax);
    timer_.async_wait([this, life](boost::system::error_code error) {
      if (*life && !error) start();
    });
    handlers_.died(reason);
  });
}

}  // namespace banyan::runtime
