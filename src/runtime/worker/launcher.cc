#include "runtime/worker/launcher.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>

#include "base/check.h"
#include "runtime/worker/kernel_python.h"
#include "runtime/worker/process_tree.h"
#include "runtime/worker/sandbox.h"

namespace banyan::runtime {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;
using Level = node::Log::Level;

constexpr std::size_t kRuntimePathMax = 90;  // bytes; leaves 15 for a worker's number
constexpr std::size_t kPoolThreads = 2;
constexpr int kZmqSocketsMax = 65'535;  // each worker takes four

bool lies_in(const fs::path& path, const fs::path& directory) {
  const fs::path relative =
      fs::absolute(path).lexically_normal().lexically_relative(fs::absolute(directory).lexically_normal());
  return !relative.empty() && *relative.begin() != "..";
}

/// Refuses a configuration that hides a directory in which workers write.
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

/// The name of this host agent's group of workers. It is the same in the next life, which cleans up by it.
std::string group_name(const WorkerConfig& config) {
  return "banyan-" + to_hex(digest_of(config.runtime_directory.native())).substr(0, 12);
}

}  // namespace

class WorkerLauncher::Impl {
 public:
  /// `zygote` is the command up to the interpreter.
  Impl(asio::io_context& loop, WorkerConfig config, const ProcessSpec& zygote, Cgroups cgroups,
       std::function<void(node::HostEvent)> emit, LogSink log)
      : config_(std::move(config)),
        zmq_(1),
        pool_(kPoolThreads),
        cgroups_(std::move(cgroups)),
        shared_{.loop = loop,
                .pool = pool_,
                .zmq = zmq_,
                .config = config_,
                .cgroups = cgroups_,
                .emit = std::move(emit),
                .log = std::move(log),
                .imported = [this](WorkerId worker,
                                   const std::vector<std::string>& modules) { imported(worker, modules); },
                .ended = [this](WorkerId worker, std::string reason) { ended(worker, std::move(reason)); }} {
    zmq_.set(zmq::ctxopt::max_sockets, kZmqSocketsMax);
    for (const KernelConfig& kernel : config_.kernels) {
      const auto keep = kernels_.empty() ? KernelPython::Keep::kAlways : KernelPython::Keep::kWhileUsed;
      kernels_.push_back(std::make_unique<KernelPython>(
          loop, pool_, config_, kernel, zygote, keep,
          KernelPython::Handlers{
              .says = [this](const ZygoteSays& says) { std::visit([this](auto& it) { told(it); }, says); },
              .died = [this](const Zygote& it, const std::string& reason) { zygote_died(it, reason); },
              .changed = [this] { kernels_changed(); },
              .log = shared_.log}));
    }
    check_next();
  }
  Impl(const Impl&) = delete;
  ~Impl() { *life_ = false; }

  void launch(node::LaunchWorker request) {
    const WorkerId id = request.worker;
    KernelPython* const kernel = kernel_named(request.spec.kernel_name);
    if (kernel == nullptr)
      return cannot_launch(
          id, "this host's configuration does not name the kernel \"" + request.spec.kernel_name + "\"");
    auto zygote = kernel->zygote(may_begin_ahead(request, kernel->ahead()));
    if (!zygote) return cannot_launch(id, "Python does not start it: " + zygote.error().message);
    const auto [at, added] = workers_.emplace(
        id, Running{*kernel, std::make_unique<Worker>(shared_, std::move(*zygote), std::move(request))});
    CHECK(added, "a worker's id is used twice");
    kernel->used(+1);
    Worker& worker = *at->second.worker;
    if (const Result<Done> started = worker.start(); !started) worker.lost(started.error().message);
  }

  void forget(const SessionId& session) const {
    std::error_code ignored;
    fs::remove(config_.log_directory / log_name_of(session), ignored);
  }

  /// The worker; null when it is gone and its WorkerExited is on the way.
  Worker* find(WorkerId id) const {
    const auto it = workers_.find(id);
    return it == workers_.end() ? nullptr : it->second.worker.get();
  }

  [[nodiscard]] std::vector<node::KernelReport> kernels() const {
    std::vector<node::KernelReport> reports;
    for (const auto& kernel : kernels_) reports.push_back(kernel->report());
    return reports;
  }

  [[nodiscard]] std::map<WorkerId, std::set<int>> processes() const {
    std::map<WorkerId, int> own;
    std::set<int> roots;
    for (const auto& [id, running] : workers_)
      if (const int pid = running.worker->pid(); pid > 0) roots.insert(own[id] = pid);
    if (roots.empty()) return {};
    const std::map<int, std::set<int>> started = with_descendants(roots);
    std::map<WorkerId, std::set<int>> all;
    for (const auto& [id, pid] : own) all[id] = started.at(pid);
    return all;
  }

  [[nodiscard]] int zygote_pid() const { return kernels_.front()->pid(); }

 private:
  struct Running {
    KernelPython& kernel;
    std::unique_ptr<Worker> worker;
  };

  void told(const ZygoteReady&) {}
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
    for (const auto& [id, running] : workers_)
      if (&running.worker->zygote() == &zygote) running.worker->lost(reason);
  }

  KernelPython* kernel_named(const std::string& name) const {
    const auto found = std::ranges::find_if(kernels_, [&](const auto& kernel) {
      return kernel->report().name.empty() || kernel->report().name == name;
    });
    return found == kernels_.end() ? nullptr : found->get();
  }

  /// Tries one kernel after the other, because a host that starts has more to do than to start Pythons.
  void check_next() {
    const auto unknown = std::ranges::find_if(
        kernels_, [](const auto& kernel) { return kernel->report().state == node::KernelState::kChecking; });
    if (unknown != kernels_.end()) (*unknown)->check();
  }

  void kernels_changed() {
    asio::post(shared_.loop, [this, life = life_] {
      if (!*life) return;
      check_next();
      shared_.emit(node::HostKernels{kernels()});
    });
  }

  void cannot_launch(WorkerId worker, const std::string& reason) {
    asio::post(shared_.loop, [this, life = life_, worker, reason] {
      if (*life) shared_.emit(node::WorkerExited{worker, reason});
    });
  }

  void imported(WorkerId worker, const std::vector<std::string>& modules) {
    if (const auto it = workers_.find(worker); it != workers_.end()) it->second.kernel.note(modules);
  }

  /// Whether a worker may begin with libraries that its zygote has imported: where its environment or its
  /// directory could make another library, or other settings of it, these must be imported by the worker
  /// itself.
  bool may_begin_ahead(const node::LaunchWorker& request, const std::set<std::string>& libraries) const {
    const auto is_ahead = [&](const std::string& name) { return libraries.contains(name); };
    if (std::ranges::none_of(request.libraries, is_ahead)) return false;
    // Jupyter's variables and the platform's own, which every worker has, mean nothing to a library.
    const auto means_nothing = [](const auto& item) {
      return item.first.starts_with("KERNEL_") || item.first.starts_with("BANYAN_");
    };
    if (!std::ranges::all_of(request.spec.env, means_nothing)) return false;
    const fs::path wanted = request.spec.working_directory;
    const fs::path directory = wanted.empty() ? config_.default_directory : wanted;
    std::error_code ignored;
    return !fs::exists(directory / "matplotlibrc", ignored) &&
           std::ranges::none_of(libraries, [&](const std::string& name) {
             return fs::exists(directory / name, ignored) || fs::exists(directory / (name + ".py"), ignored);
           });
  }

  void ended(WorkerId id, std::string reason) {
    KernelPython& kernel = workers_.at(id).kernel;
    workers_.erase(id);
    kernel.used(-1);
    shared_.emit(node::WorkerExited{id, std::move(reason)});
  }

  WorkerConfig config_;
  zmq::context_t zmq_;
  asio::thread_pool pool_;
  Cgroups cgroups_;
  Shared shared_;
  std::vector<std::unique_ptr<KernelPython>> kernels_;
  std::map<WorkerId, Running> workers_;
  std::shared_ptr<bool> life_ = std::make_shared<bool>(true);
};

Result<std::unique_ptr<WorkerLauncher>> WorkerLauncher::create(asio::io_context& loop, WorkerConfig config,
                                                               std::function<void(node::HostEvent)> emit,
                                                               LogSink log) {
  const auto is_there = [](const KernelConfig& kernel) { return find_program(kernel.python).has_value(); };
  if (std::ranges::none_of(config.kernels, is_there))
    return fail(ErrorKind::kNotFound,
                "there is no Python interpreter " + config.kernels.front().python + " for workers");
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
  const ProcessSpec zygote{
      .command = sandbox->prefix, .env = config.env, .inherited_fd = -1, .log = config.log_directory};
  return std::unique_ptr<WorkerLauncher>(new WorkerLauncher(std::make_unique<Impl>(
      loop, std::move(config), zygote, std::move(cgroups), std::move(emit), std::move(log))));
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

void WorkerLauncher::ask_removals(node::AskRemovals question) {
  if (Worker* worker = impl_->find(question.worker)) worker->ask_removals(question);
}

void WorkerLauncher::ask_reads(node::AskReads question) {
  if (Worker* worker = impl_->find(question.worker)) worker->ask_reads(question);
}

void WorkerLauncher::repeat(node::RepeatOnWorker cell) {
  if (Worker* worker = impl_->find(cell.worker)) worker->repeat(cell);
}

void WorkerLauncher::forget(const SessionId& session) { impl_->forget(session); }

void WorkerLauncher::set_lease(WorkerId id, std::optional<Time> deadline) {
  if (Worker* worker = impl_->find(id)) worker->set_lease(deadline);
}

std::vector<node::KernelReport> WorkerLauncher::kernels() const { return impl_->kernels(); }

std::map<WorkerId, std::set<int>> WorkerLauncher::processes() const { return impl_->processes(); }

int WorkerLauncher::zygote_pid() const { return impl_->zygote_pid(); }

}  // namespace banyan::runtime
