#include "runtime/worker/kernel_python.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cctype>
#include <cstdlib>
#include <utility>

namespace banyan::runtime {

namespace {

namespace fs = std::filesystem;
using Level = node::Log::Level;
using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kAgainMin = 500ms;
constexpr std::chrono::milliseconds kAgainMax = 60s;

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text;
}

/// How a kernel's name ends the names of its log files.
std::string tail_of(const std::string& kernel) {
  std::string tail = "-" + kernel;
  std::ranges::replace_if(
      tail, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.'; }, '-');
  return tail;
}

}  // namespace

KernelPython::KernelPython(boost::asio::io_context& loop, boost::asio::thread_pool& pool,
                           const WorkerConfig& config, KernelConfig kernel, ProcessSpec zygote, Keep keep,
                           Handlers handlers)
    : loop_(loop),
      pool_(pool),
      config_(config),
      kernel_(std::move(kernel)),
      base_(std::move(zygote)),
      keep_(keep),
      handlers_(std::move(handlers)),
      report_{.name = kernel_.name, .state = node::KernelState::kChecking, .python = {}, .reason = {}},
      again_(loop),
      idle_(loop),
      backoff_(kAgainMin) {}

KernelPython::~KernelPython() { *life_ = false; }

ProcessSpec KernelPython::spec(const fs::path& python) const {
  ProcessSpec spec = base_;
  spec.command.insert(spec.command.end(),
                      {python.string(), "-m", "banyan.zygote", "--import-ahead", joined(config_.import_ahead),
                       "--import-ahead-bytes", std::to_string(config_.import_ahead_bytes), "--preload",
                       joined(kernel_.preload)});
  if (!kernel_.python_path.empty()) {
    const auto given = spec.env.find("PYTHONPATH");
    const char* const inherited = given != spec.env.end() ? given->second.c_str() : std::getenv("PYTHONPATH");
    spec.env["PYTHONPATH"] =
        kernel_.python_path + (inherited != nullptr ? ":" + std::string(inherited) : std::string());
  }
  const std::string tail = keep_ == Keep::kAlways ? "" : tail_of(kernel_.name);
  spec.log = config_.log_directory / ("zygote" + tail + ".log");
  return spec;
}

void KernelPython::check() {
  if (zygote_) return;
  again_.cancel();
  const std::optional<fs::path> python = find_program(kernel_.python);
  if (!python) return cannot("there is no Python interpreter " + kernel_.python);
  const ProcessSpec zygote = spec(*python);
  if (!views_) {
    ProcessSpec ahead = zygote;
    ahead.log.replace_filename("zygote-views" + ahead.log.filename().string().substr(6));
    ahead.command.emplace_back("--at-leisure");
    views_.emplace(loop_, pool_, std::move(ahead), config_,
                   ViewZygote::Handlers{.says =
                                            [this](const ZygoteSays& said) {
                                              if (!std::holds_alternative<ZygoteReady>(said))
                                                handlers_.says(said);
                                            },
                                        .died =
                                            [this](const Zygote& it, const std::string& reason) {
                                              handlers_.log({Level::kError, reason});
                                              handlers_.died(it, reason);
                                            },
                                        .log = handlers_.log});
  }
  zygote_ =
      std::make_shared<Zygote>(loop_, pool_, zygote,
                               Zygote::Handlers{.says = [this](const ZygoteSays& said) { says(said); },
                                                .died = [this](const std::string& reason) { died(reason); }});
}

Result<std::shared_ptr<Zygote>> KernelPython::zygote(bool ahead) {
  if (report_.state == node::KernelState::kCannot) return fail(ErrorKind::kUnavailable, report_.reason);
  if (ahead && views_)
    if (auto warm = views_->warm()) return warm;
  check();
  if (!zygote_) return fail(ErrorKind::kUnavailable, report_.reason);
  return zygote_;
}

void KernelPython::used(int change) {
  users_ += change;
  rest();
}

void KernelPython::note(const std::vector<std::string>& modules) {
  if (views_) views_->note(modules);
}

void KernelPython::says(const ZygoteSays& said) {
  if (const auto* const it = std::get_if<ZygoteReady>(&said)) return ready(*it);
  handlers_.says(said);
}

void KernelPython::ready(const ZygoteReady& said) {
  if (said.protocol != kWorkerProtocol) {
    const std::string reason = advised(
        "the package banyan of " + kernel_.python + " is of another version (" +
        (said.package.empty() ? "an early one" : said.package) + ", its protocol is " +
        std::to_string(said.protocol) + " and this host agent's is " + std::to_string(kWorkerProtocol) + ")");
    handlers_.died(*zygote_, reason);
    drop_zygote();
    return cannot(reason);
  }
  backoff_ = kAgainMin;
  const std::string whose = kernel_.name.empty() ? "" : " of the kernel \"" + kernel_.name + "\"";
  handlers_.log({Level::kInfo, "the zygote" + whose + " is warm, process " + std::to_string(zygote_->pid()) +
                                   ", Python " + said.python});
  set({.name = kernel_.name, .state = node::KernelState::kRuns, .python = said.python, .reason = {}});
  rest();
}

/// A zygote that had served starts its successor by itself (class Zygote). One that never came up shows that
/// the interpreter cannot run the kernel.
void KernelPython::died(const std::string& reason) {
  const bool served = zygote_->ready();
  const std::string why = served ? reason : advised(reason);
  if (served) handlers_.log({Level::kError, reason});
  handlers_.died(*zygote_, why);
  if (served) return;
  drop_zygote();
  cannot(why);
}

void KernelPython::cannot(const std::string& why) {
  if (why != report_.reason)
    handlers_.log({Level::kError, (kernel_.name.empty() ? "workers" : "the kernel \"" + kernel_.name + "\"") +
                                      " cannot run on this host: " + why});
  again_.expires_after(backoff_);
  backoff_ = std::min(2 * backoff_, kAgainMax);
  again_.async_wait([this, life = life_](boost::system::error_code error) {
    if (*life && !error) check();
  });
  set({.name = kernel_.name, .state = node::KernelState::kCannot, .python = {}, .reason = why});
}

std::string KernelPython::advised(const std::string& reason) const {
  const std::string install =
      "`" + kernel_.python + " -m pip install ./python` in Banyan's source folder installs it";
  if (reason.find("No module named 'banyan'") != std::string::npos)
    return kernel_.python + " has no package banyan; " + install;
  return reason + ". If that is the package banyan of this Python, " + install + " anew";
}

void KernelPython::set(node::KernelReport report) {
  if (report == report_) return;
  report_ = std::move(report);
  handlers_.changed();
}

/// Lets the zygotes end when no worker has used them for a while, because they take memory that others could
/// use. The next session of the kernel then waits for new ones.
void KernelPython::rest() {
  if (keep_ == Keep::kAlways) return;
  idle_.cancel();
  if (users_ > 0) return;
  idle_.expires_after(config_.kernel_idle);
  idle_.async_wait([this, life = life_](boost::system::error_code error) {
    if (!*life || error || users_ > 0 || !zygote_ || !zygote_->ready()) return;
    handlers_.log({Level::kInfo, "no session uses the kernel \"" + kernel_.name + "\": its zygotes end"});
    views_.reset();
    zygote_.reset();
  });
}

/// Drops the zygote once the loop is out of its handlers, in one of which this may be called.
void KernelPython::drop_zygote() {
  dropped_.push_back(std::exchange(zygote_, nullptr));
  boost::asio::post(loop_, [this, life = life_] {
    if (*life) dropped_.clear();
  });
}

}  // namespace banyan::runtime
