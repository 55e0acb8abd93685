#include "runtime/worker/worker.h"

#include <fcntl.h>
#include <openssl/rand.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <type_traits>

#include "base/check.h"

namespace banyan::runtime {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;
using namespace std::chrono_literals;
using Level = node::Log::Level;

// Exit statuses by which the worker's own code says why it ended (docs/internals/worker.md).
constexpr int kLeaseExpired = 86;
constexpr int kProtocolBroken = 88;
constexpr std::uint64_t kDigestHereMax = 1 << 20;  // digests of 1 MiB take the loop about 0.1 ms
constexpr auto kChannelGrace = 1000ms;  // how long a process may live on after its state channel has closed
constexpr auto kLinger = 200ms;  // a grandchild may hold the state channel open: stop listening after that

std::string random_key() {
  std::array<unsigned char, 32> bytes{};
  CHECK(RAND_bytes(bytes.data(), bytes.size()) == 1, "the system has no random numbers");
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string name_of(WorkerId worker) { return "w" + std::to_string(worker.value); }

}  // namespace

std::string log_name_of(const SessionId& session) {
  std::string name = session.value.substr(0, 64);
  std::ranges::replace_if(
      name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-'; }, '_');
  return name + ".log";
}

Worker::Worker(Shared& shared, std::shared_ptr<Zygote> zygote, node::LaunchWorker request)
    : shared_(shared),
      zygote_(std::move(zygote)),
      request_(std::move(request)),
      key_(random_key()),
      endpoints_{(shared.config.runtime_directory / name_of(request_.worker)).string()},
      deadline_(shared.loop),
      linger_(shared.loop) {}

Worker::~Worker() {
  *life_ = false;
  if (pid_ > 0 && !exit_reason_) killpg(pid_, SIGKILL);
  std::error_code ignored;
  fs::remove(connection_file(), ignored);
  for (int port = 1; port <= kHeartbeatPort; ++port) fs::remove(endpoints_.path(port), ignored);
}

void Worker::log(Level level, const std::string& text) const {
  shared_.log({level, "worker " + std::to_string(request_.worker.value) + " of session " +
                          request_.session.value + ": " + text});
}

fs::path Worker::connection_file() const {
  return shared_.config.runtime_directory / (name_of(request_.worker) + ".json");
}

Result<Done> Worker::write_connection_file() {
  const nlohmann::json text = {{"transport", "ipc"},
                               {"ip", endpoints_.prefix},
                               {"shell_port", Endpoints::port(jupyter::Channel::kShell)},
                               {"iopub_port", Endpoints::port(jupyter::Channel::kIopub)},
                               {"stdin_port", Endpoints::port(jupyter::Channel::kStdin)},
                               {"control_port", Endpoints::port(jupyter::Channel::kControl)},
                               {"hb_port", kHeartbeatPort},
                               {"signature_scheme", "hmac-sha256"},
                               {"key", key_},
                               {"kernel_name", request_.spec.kernel_name}};
  const fs::path path = connection_file();
  const std::string bytes = text.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (file.get() < 0 || write(file.get(), bytes.data(), bytes.size()) != std::ssize(bytes))
    return tl::unexpected(system_error("cannot write the connection file " + path.string()));
  return Done{};
}

fs::path Worker::directory() const {
  const fs::path& wanted = request_.spec.working_directory;
  if (wanted.empty()) return shared_.config.default_directory;
  std::error_code ignored;
  if (fs::is_directory(wanted, ignored)) return wanted;
  log(Level::kWarning, "there is no directory " + wanted.string() + " on this host; it starts in " +
                           shared_.config.default_directory.string());
  return shared_.config.default_directory;
}

Result<Done> Worker::start() {
  Result<std::pair<UniqueFd, UniqueFd>> ends = socket_pair();
  if (!ends) return tl::unexpected(ends.error());
  Result<LeasePage> lease = LeasePage::create();
  if (!lease) return tl::unexpected(lease.error());
  lease_.emplace(std::move(*lease));
  if (Result<Done> written = write_connection_file(); !written) return written;
  if (shared_.config.limits.any()) {
    Result<Cgroup> group = shared_.cgroups.create(name_of(request_.worker), shared_.config.limits);
    if (!group) return tl::unexpected(group.error());
    cgroup_.emplace(std::move(*group));
  }
  channel_ = std::make_unique<StateChannel>(
      shared_.loop, shared_.pool, std::move(ends->first),
      StateChannel::Handlers{.frame = [this](const Frame& frame) { received(frame); },
                             .closed = [this](const Error& error) { channel_closed(error); }});
  Outgoing spawn = spawn_frame({.worker = request_.worker,
                                .session = request_.session,
                                .connection_file = connection_file(),
                                .directory = directory(),
                                .env = request_.spec.env,
                                .log = shared_.config.log_directory / log_name_of(request_.session)});
  spawn.fds.push_back(std::move(ends->second));
  UniqueFd page(fcntl(lease_->fd(), F_DUPFD_CLOEXEC, 0));
  if (page.get() < 0) return tl::unexpected(system_error("cannot share a lease page"));
  spawn.fds.push_back(std::move(page));
  zygote_->request(std::move(spawn));
  const std::chrono::milliseconds limit = shared_.config.ready_timeout;
  kill_after(limit, "killed because it did not serve within " + std::to_string(limit.count()) + " ms");
  return Done{};
}

void Worker::stop(node::Stop how) {
  if (how == node::Stop::kKill) return kill("stopped");
  if (pid_ > 0 && !exit_reason_) killpg(pid_, SIGINT);
}

void Worker::send(const jupyter::Message& message) {
  if (ready_) link_->send(message);
}

void Worker::answer_fence(const node::AnswerFence& answer) {
  if (channel_ != nullptr) channel_->send(answer_frame(answer));
}

void Worker::answer(const node::AnswerWorker& answer) {
  if (channel_ != nullptr) channel_->send(answer_frame(answer));
}

void Worker::apply(const node::ApplyToWorker& view) {
  if (channel_ != nullptr) channel_->send(apply_frame(view));
}

void Worker::ask_reads(const node::AskReads& question) {
  if (channel_ != nullptr) channel_->send(reads_frame(question));
}

void Worker::ask_removals(const node::AskRemovals& question) {
  if (channel_ != nullptr) channel_->send(removes_frame(question));
}

void Worker::repeat(const node::RepeatOnWorker& cell) {
  if (channel_ != nullptr) channel_->send(repeat_frame(cell));
}

void Worker::set_lease(std::optional<Time> deadline) {
  if (lease_) lease_->set(deadline);
}

void Worker::spawned(int pid) {
  pid_ = pid;
  if (cgroup_)
    if (const Result<Done> added = cgroup_->add(pid); !added)
      return kill("killed because its limits cannot be set: " + added.error().message);
  announce();
}

void Worker::exited(ExitStatus status) {
  std::string reason = describe(status);
  if (kill_reason_)
    reason = *kill_reason_;
  else if (status.signal == SIGKILL && cgroup_ && cgroup_->oom_kills() > 0)
    reason = "killed for using too much memory (limit " +
             bytes_text(shared_.config.limits.memory_bytes.value_or(0)) + ")";
  else if (status.signal == 0 && status.code == kLeaseExpired)
    reason += ": lease ended";
  else if (status.signal == 0 && status.code == kProtocolBroken)
    reason += ": a commit could not be applied to it (its log says more)";
  gone(std::move(reason));
}

void Worker::lost(std::string reason) {
  if (pid_ > 0 && !exit_reason_) killpg(pid_, SIGKILL);
  gone(std::move(reason));
}

void Worker::gone(std::string reason) {
  if (exit_reason_) return;
  exit_reason_ = std::move(reason);
  deadline_.cancel();
  if (link_ != nullptr)
    link_->drain([this] {
      link_drained_ = true;
      check_ended();
    });
  else
    link_drained_ = true;
  linger_.expires_after(kLinger);
  linger_.async_wait([this, life = life_](boost::system::error_code error) {
    if (!*life || error) return;
    lingered_ = true;
    check_ended();
  });
  check_ended();
}

/// Emits WorkerExited (through Shared::ended) once everything that the process has said was emitted.
void Worker::check_ended() {
  const bool heard = channel_ == nullptr || channel_->closed() || lingered_;
  if (ended_ || !exit_reason_ || !link_drained_ || !heard || digesting_) return;
  ended_ = true;
  asio::post(shared_.loop, [this, life = life_] {
    if (*life) shared_.ended(request_.worker, *exit_reason_);
  });
}

void Worker::received(const Frame& frame) {
  Result<WorkerSays> says = parse_worker_frame(request_.worker, frame);
  if (!says) return channel_closed(says.error());
  if (const auto modules = imported_in(frame); !modules.empty()) shared_.imported(request_.worker, modules);
  std::visit(
      [this](auto& it) {
        using Type = std::decay_t<decltype(it)>;
        if constexpr (std::is_same_v<Type, Hello>)
          hello(it);
        else if constexpr (requires { add_digests(it); })
          emit_digested(std::move(it));
        else
          shared_.emit(std::move(it));
      },
      *says);
}

void Worker::hello(const Hello& hello) {
  if (link_ != nullptr) return channel_closed({ErrorKind::kCorrupt, "it says hello twice"});
  python_ = hello.python;
  Result<std::unique_ptr<ZmqLink>> link =
      ZmqLink::open(shared_.loop, shared_.zmq, endpoints_, key_,
                    {.ready =
                         [this] {
                           linked_ = true;
                           announce();
                         },
                     .message =
                         [this](jupyter::Message message) {
                           shared_.emit(node::FromWorker{request_.worker, std::move(message)});
                         },
                     .problem = [this](const Error& error) { link_problem(error); }});
  if (!link) return kill("killed because the host agent " + link.error().message);
  link_ = std::move(*link);
}

/// Emits WorkerReady once the sockets work and the process id is known. The two come in any order, because
/// the zygote says the process id on another socket than the worker's own.
void Worker::announce() {
  if (ready_ || !linked_ || pid_ == 0 || exit_reason_) return;
  ready_ = true;
  deadline_.cancel();
  log(Level::kInfo, "serves, process " + std::to_string(pid_) + ", Python " + python_);
  shared_.emit(node::WorkerReady{request_.worker, static_cast<std::uint64_t>(pid_)});
}

/// Adds the digests, on the pool where that takes long. Meanwhile nothing more is read from the state
/// channel: what the worker says stays in order, and the worker waits when it says too much.
template <class Said>
void Worker::emit_digested(Said said) {
  if (bytes_of(said) <= kDigestHereMax) {
    add_digests(said);
    return shared_.emit(std::move(said));
  }
  digesting_ = true;
  channel_->pause();
  auto done = [this, life = life_](Said digested) {
    if (!*life) return;
    digesting_ = false;
    shared_.emit(std::move(digested));
    channel_->resume();
    check_ended();
  };
  asio::post(shared_.pool, [&loop = shared_.loop, said = std::move(said), done = std::move(done)]() mutable {
    add_digests(said);
    asio::post(loop, [said = std::move(said), done = std::move(done)]() mutable { done(std::move(said)); });
  });
}

void Worker::channel_closed(const Error& error) {
  if (error.kind == ErrorKind::kUnavailable) {
    check_ended();
    if (!exit_reason_) kill_after(kChannelGrace, "killed because it closed its state channel");
  } else {
    kill("killed because its state channel fails: " + error.message);
  }
}

void Worker::link_problem(const Error& error) {
  if (error.kind == ErrorKind::kTooLarge) return kill("killed because " + error.message);
  if (!std::exchange(complained_, true))
    log(Level::kWarning, "a message of it was dropped: " + error.message);
}

void Worker::kill(std::string reason) {
  if (exit_reason_ || kill_reason_) return;
  kill_reason_ = std::move(reason);
  zygote_->request(kill_frame(request_.worker));
}

void Worker::kill_after(std::chrono::milliseconds delay, std::string reason) {
  deadline_.expires_after(delay);
  deadline_.async_wait([this, reason = std::move(reason), life = life_](boost::system::error_code error) {
    if (*life && !error) kill(reason);
  });
}

}  // namespace banyan::runtime
