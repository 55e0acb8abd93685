#include "runtime/worker/launcher.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>

#include "base/check.h"
#include "runtime/worker/sandbox.h"
#include "runtime/worker/view_zygote.h"

namespace banyan::runtime {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;
using Level = node::Log::Level;

constexpr std::size_t kRuntimePathMax = 90;  // leaves 15 bytes for a worker's number
constexpr std::size_t kPoolThreads = 2;
constexpr int kZmqSocketsMax = 65'535;  // four for each worker

std::string read_text(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

bool lies_in(const fs::path& path, const fs::path& directory) {
  const fs::path relative =
      fs::absolute(path).lexically_normal().lexically_relative(fs::absolute(directory).lexically_normal());
  return !relative.empty() && *relative.begin() != "..";
}

/// Workers write in these directories.
Result<Done> check_hidden(const WorkerConfig& config) {
  for (const fs::path& needed : {config.runtime_directory, config.log_directory, config.default_directory})
    for (const fs::path& hidden : config.hidden)
      if (lies_in(needed, hidden))
        return fail(ErrorKind::kInvalid, "workers need " + needed.string() + ", which lies in " +
                                             hidden.string() +
                                             ", a directory hidden from them; move one of them");
  return Done{};
}

Result<Done> make_directories(const WorkerConfig& config) {
  if (config.runtime_directory.native().size() > kRuntimePathMax)
    return fail(ErrorKind::kInvalid, "the runtime directory " + config.runtime_directory.string() +
                                         " is too long for Unix sockets; choose one of at most " +
                                         std::to_string(kRuntimePathMax) + " bytes");
  std::error_code error;
  fs::remove_all(config.runtime_directory, error);
  for (const fs::path& path : {config.runtime_directory, config.log_directory}) {
    fs::create_directories(path, error);
    if (!error) fs::permissions(path, fs::perms::owner_all, error);
    if (error) return fail(ErrorKind::kIo, "cannot create " + path.string() + ": " + error.message());
  }
  return Done{};
}

/// Stable over the lives of a host agent, so that the next one cleans up.
std::string group_name(const WorkerConfig& config) {
  return "banyan-" + to_hex(digest_of(config.runtime_directory.native())).substr(0, 12);
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text;
}

std::vector<std::string> zygote_command(const WorkerConfig& config, const fs::path& python,
                                        const SandboxChoice& sandbox) {
  std::vector<std::string> command = sandbox.prefix;
  command.insert(command.end(), {python.string(), "-m", "banyan.zygote", "--import-ahead",
                                 joined(config.import_ahead), "--preload", joined(config.preload)});
  return command;
}

}  // namespace

class WorkerLauncher::Impl {
 public:
  Impl(asio::io_context& loop, WorkerConfig config, ProcessSpec zygote, Cgroups cgroups,
       std::function<void(node::HostEvent)> emit, LogSink log)
      : config_(std::move(config)),
        zmq_(1),
        pool_(kPoolThreads),
        cgroups_(std::move(cgroups)),
        zygote_(std::make_shared<Zygote>(
            loop, pool_, zygote,
            Zygote::Handlers{
                .says = [this](const ZygoteSays& says) { std::visit([this](auto& it) { told(it); }, says); },
                .died = [this](const std::string& reason) { zygote_died(*zygote_, reason); }})),
        views_(loop, pool_, of_views(std::move(zygote)), config_,
               {.says =
                    [this](const ZygoteSays& says) {
                      if (!std::holds_alternative<ZygoteReady>(says))
                        std::visit([this](auto& it) { told(it); }, says);
                    },
                .died = [this](const Zygote& it, const std::string& reason) { zygote_died(it, reason); },
                .log = log}),
        shared_{.loop = loop,
                .pool = pool_,
                .zmq = zmq_,
                .config = config_,
                .cgroups = cgroups_,
                .emit = std::move(emit),
                .log = std::move(log),
                .imported = [this](const std::vector<std::string>& modules) { views_.note(modules); },
                .ended = [this](WorkerId worker, std::string reason) { ended(worker, std::move(reason)); }} {
    zmq_.set(zmq::ctxopt::max_sockets, kZmqSocketsMax);
  }
  Impl(const Impl&) = delete;

  void launch(node::LaunchWorker request) {
    const WorkerId id = request.worker;
    std::shared_ptr<Zygote> from = may_begin_ahead(request) ? views_.warm() : nullptr;
    if (!from) from = zygote_;
    const auto [at, added] =
        workers_.emplace(id, std::make_unique<Worker>(shared_, std::move(from), std::move(request)));
    CHECK(added, "a worker's id is used twice");
    if (const Result<Done> started = at->second->start(); !started) at->second->lost(started.error().message);
  }

  void forget(const SessionId& session) const {
    std::error_code ignored;
    fs::remove(config_.log_directory / log_name_of(session), ignored);
  }

  /// Null when it is gone: its WorkerExited is on the way.
  Worker* find(WorkerId id) const {
    const auto it = workers_.find(id);
    return it == workers_.end() ? nullptr : it->second.get();
  }

  [[nodiscard]] int zygote_pid() const { return zygote_->pid(); }

 private:
  void told(const ZygoteReady&) {
    shared_.log({Level::kInfo, "the zygote is warm, process " + std::to_string(zygote_->pid())});
  }
  void told(const ZygoteImported&) {}
  void told(const Spawned& it) {
    if (Worker* worker = find(it.worker)) worker->spawned(it.pid);
  }
  void told(const Exited& it) {
    if (Worker* worker = find(it.worker)) worker->exited(it.status);
  }
  void told(const SpawnFailed& it) {
    if (Worker* worker = find(it.worker)) worker->lost("Python cannot fork it: " + it.reason);
  }

  void zygote_died(const Zygote& zygote, const std::string& reason) {
    shared_.log({Level::kError, reason});
    for (const auto& [id, worker] : workers_)
      if (&worker->zygote() == &zygote) worker->lost(reason);
  }

  /// Whether its libraries come to it as they would come to any worker of this host: not by its environment
  /// or its directory.
  bool may_begin_ahead(const node::LaunchWorker& request) const {
    const auto& libraries = config_.import_ahead;
    const auto is_ahead = [&](const std::string& name) { return std::ranges::count(libraries, name) > 0; };
    if (std::ranges::none_of(request.libraries, is_ahead)) return false;
    const auto& env = request.spec.env;
    if (!std::ranges::all_of(env, [](const auto& item) { return item.first.starts_with("KERNEL_"); }))
      return false;
    const fs::path wanted = request.spec.working_directory;
    const fs::path directory = wanted.empty() ? config_.default_directory : wanted;
    std::error_code ignored;
    return !fs::exists(directory / "matplotlibrc", ignored) &&
           std::ranges::none_of(libraries, [&](const std::string& name) {
             return fs::exists(directory / name, ignored) || fs::exists(directory / (name + ".py"), ignored);
           });
  }

  void ended(WorkerId id, std::string reason) {
    workers_.erase(id);
    shared_.emit(node::WorkerExited{id, std::move(reason)});
  }

  static ProcessSpec of_views(ProcessSpec zygote) {
    zygote.log.replace_filename("zygote-views.log");
    zygote.command.emplace_back("--at-leisure");
    return zygote;
  }

  WorkerConfig config_;
  zmq::context_t zmq_;
  asio::thread_pool pool_;
  Cgroups cgroups_;
  std::shared_ptr<Zygote> zygote_;
  ViewZygote views_;
  Shared shared_;
  std::map<WorkerId, std::unique_ptr<Worker>> workers_;
};

Result<std::unique_ptr<WorkerLauncher>> WorkerLauncher::create(asio::io_context& loop, WorkerConfig config,
                                                               std::function<void(node::HostEvent)> emit,
                                                               LogSink log) {
  const std::optional<fs::path> python = find_program(config.python);
  if (!python)
    return fail(ErrorKind::kNotFound, "there is no Python interpreter " + config.python + " for workers");
  if (const Result<Done> checked = check_hidden(config); !checked) return tl::unexpected(checked.error());
  if (const Result<Done> made = make_directories(config); !made) return tl::unexpected(made.error());
  const Result<SandboxChoice> sandbox = choose_sandbox(config);
  if (!sandbox) return tl::unexpected(sandbox.error());
  log({Level::kInfo, sandbox->note});
  Cgroups cgroups =
      Cgroups::probe(find_hierarchies(read_text("/proc/self/mountinfo"), read_text("/proc/self/cgroup")),
                     group_name(config), config.limits);
  if (!cgroups.shortcomings().empty())
    log({Level::kWarning, "workers run without some of their limits: " + cgroups.shortcomings()});
  ProcessSpec zygote{.command = zygote_command(config, *python, *sandbox),
                     .env = config.env,
                     .inherited_fd = -1,
                     .log = config.log_directory / "zygote.log"};
  return std::unique_ptr<WorkerLauncher>(new WorkerLauncher(std::make_unique<Impl>(
      loop, std::move(config), std::move(zygote), std::move(cgroups), std::move(emit), std::move(log))));
}

WorkerLauncher::WorkerLauncher(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WorkerLauncher::~WorkerLauncher() = default;

void WorkerLauncher::launch(node::LaunchWorker request) { impl_->launch(std::move(request)); }

void WorkerLauncher::stop(WorkerId id, node::Stop how) {
  if (Worker* worker = impl_->find(id)) worker->stop(how);
}

void WorkerLauncher::send(WorkerId id, jupyter::Message message) {
  if (Worker* worker = impl_->find(id)) worker->send(message);
}

void WorkerLauncher::answer_fence(node::AnswerFence answer) {
  if (Worker* worker = impl_->find(answer.worker)) worker->answer_fence(answer);
}

void WorkerLauncher::answer(node::AnswerWorker answer) {
  if (Worker* worker = impl_->find(answer.worker)) worker->answer(answer);
}

void WorkerLauncher::apply(node::ApplyToWorker view) {
  if (Worker* worker = impl_->find(view.worker)) worker->apply(view);
}

void WorkerLauncher::repeat(node::RepeatOnWorker cell) {
  if (Worker* worker = impl_->find(cell.worker)) worker->repeat(cell);
}

void WorkerLauncher::forget(const SessionId& session) { impl_->forget(session); }

void WorkerLauncher::set_lease(WorkerId id, std::optional<Time> deadline) {
  if (Worker* worker = impl_->find(id)) worker->set_lease(deadline);
}

int WorkerLauncher::zygote_pid() const { return impl_->zygote_pid(); }

}  // namespace banyan::runtime
