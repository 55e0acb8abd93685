#include "runtime/worker/view_zygote.h"

#include <sys/stat.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

namespace banyan::runtime {

namespace {

using Level = node::Log::Level;
using Clock = std::chrono::steady_clock;

constexpr int kFailuresMax = 3;

/// Whether the file is the one that was imported.
bool unchanged(const ZygoteImported::File& file) {
  struct stat found{};
  return stat(file.path.c_str(), &found) == 0 &&
         found.st_mtim.tv_sec * std::int64_t{1'000'000'000} + found.st_mtim.tv_nsec == file.mtime_ns;
}

std::string joined_names(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return all;
}

}  // namespace

ViewZygote::ViewZygote(boost::asio::io_context& loop, boost::asio::thread_pool& pool, ProcessSpec spec,
                       const WorkerConfig& config, Handlers handlers)
    : loop_(loop),
      pool_(pool),
      spec_(std::move(spec)),
      config_(config),
      handlers_(std::move(handlers)),
      timer_(loop),
      deadline_(loop),
      modules_(config.import_ahead) {}

ViewZygote::~ViewZygote() { *life_ = false; }

void ViewZygote::note(const std::vector<std::string>& modules) {
  if (modules_.note(modules)) schedule();
}

std::set<std::string> ViewZygote::libraries() const {
  return current_ && current_->ready() ? libraries_ : std::set<std::string>();
}

std::shared_ptr<Zygote> ViewZygote::warm() {
  if (!current_ || !current_->ready()) return nullptr;
  if (std::ranges::all_of(files_, unchanged)) return current_;
  handlers_.log({Level::kInfo, "a library was replaced on the disk: workers do not begin with the old one"});
  drop(current_);
  schedule();
  return nullptr;
}

/// Plans the next zygote for when nothing new was imported for a while, and not soon after the last one:
/// importing takes a processor several seconds.
void ViewZygote::schedule() {
  const auto soonest = prepared_at_ ? *prepared_at_ + config_.import_ahead_again : Clock::time_point{};
  timer_.expires_at(std::max(Clock::now() + config_.import_ahead_after, soonest));
  timer_.async_wait([this, life = life_](boost::system::error_code error) {
    if (*life && !error) prepare();
  });
}

void ViewZygote::prepare() {
  if (next_ || failures_ >= kFailuresMax || modules_.empty()) return;
  prepared_at_ = Clock::now();
  const std::uint64_t number = ++next_number_;
  next_ = std::make_shared<Zygote>(
      loop_, pool_, spec_,
      Zygote::Handlers{.says = [this, number](const ZygoteSays& said) { says(number, said); },
                       .died = [this, number](const std::string& reason) { died(number, reason); }});
  std::erase_if(zygotes_, [](const auto& item) { return item.second.expired(); });
  zygotes_[number] = next_;
  told_ = modules_.take();
  next_->request(import_frame(told_));
  deadline_.expires_after(config_.import_ahead_within);
  deadline_.async_wait([this, life = life_](boost::system::error_code error) {
    if (!*life || error || !next_) return;
    drop(next_);  // the host had no processor to spare: that is no failure of the libraries
    handlers_.log({Level::kInfo, "libraries are not imported ahead: this host has had no time for it"});
    schedule();
  });
}

void ViewZygote::says(std::uint64_t number, const ZygoteSays& said) {
  const auto* const done = std::get_if<ZygoteImported>(&said);
  if (done == nullptr) return handlers_.says(said);
  if (next_ && number == next_number_) imported(*done);
}

void ViewZygote::imported(const ZygoteImported& done) {
  deadline_.cancel();
  if (!done.failed.empty()) {  // a half imported module would stay broken in its workers
    modules_.leave_out(done.failed);
    return fail_next("it cannot import " + done.failed.front() + " ahead");
  }
  if (!done.unfit.empty()) return leave_out(done.unfit);
  drop(current_);
  current_ = std::exchange(next_, nullptr);
  current_number_ = next_number_;
  files_ = done.files;
  libraries_.clear();
  std::erase_if(told_, [&](const std::string& module) { return std::ranges::count(done.left, module) > 0; });
  for (const std::string& module : told_) libraries_.insert(library_of(module));
  failures_ = 0;
  handlers_.log({Level::kInfo, "workers of sessions with variables begin with " +
                                   std::to_string(told_.size()) + " modules that others have imported" +
                                   (done.left.empty() ? std::string()
                                                      : "; for " + std::to_string(done.left.size()) +
                                                            " there is no memory (import_ahead_bytes)")});
  if (modules_.has_more()) schedule();
}

void ViewZygote::died(std::uint64_t number, const std::string& reason) {
  if (next_ && number == next_number_) return fail_next(reason);
  if (const auto zygote = zygotes_[number].lock()) handlers_.died(*zygote, reason);
  if (!current_ || number != current_number_) return;
  drop(current_);
  schedule();
}

/// A zygote that has imported them must not fork: another one takes its place.
void ViewZygote::leave_out(const std::vector<std::string>& unfit) {
  modules_.leave_out_libraries(unfit);
  drop(next_);
  handlers_.log({Level::kInfo,
                 "left to its workers, as it starts threads or draws a random state when it is "
                 "imported: " +
                     joined_names(unfit)});
  schedule();
}

void ViewZygote::fail_next(const std::string& why) {
  drop(next_);
  ++failures_;
  handlers_.log({Level::kWarning, "no zygote for workers of sessions with variables: " + why +
                                      (failures_ < kFailuresMax ? "" : "; that was the last try")});
  schedule();
}

/// Drops a zygote once the loop is out of its handlers, in one of which this may be called. Workers that it
/// has forked keep it alive.
void ViewZygote::drop(std::shared_ptr<Zygote>& zygote) {
  dropped_.push_back(std::exchange(zygote, nullptr));
  boost::asio::post(loop_, [this, life = life_] {
    if (*life) dropped_.clear();
  });
}

}  // namespace banyan::runtime
