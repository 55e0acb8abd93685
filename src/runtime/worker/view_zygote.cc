#include "runtime/worker/view_zygote.h"

#include <utility>

namespace banyan::runtime {

namespace {
constexpr std::size_t kKnownMax = 2000;
constexpr int kDeathsMax = 1;  // a library that ends the process may do so again
}  // namespace

ViewZygote::ViewZygote(boost::asio::io_context& loop, boost::asio::thread_pool& pool, ProcessSpec spec,
                       std::chrono::milliseconds after, Zygote::Handlers handlers)
    : loop_(loop),
      pool_(pool),
      spec_(std::move(spec)),
      after_(after),
      handlers_(std::move(handlers)),
      timer_(loop) {}

ViewZygote::~ViewZygote() { *life_ = false; }

void ViewZygote::note(const std::vector<std::string>& modules) {
  for (const std::string& module : modules)
    if (known_.size() < kKnownMax && known_.insert(module).second) pending_.push_back(module);
  if (pending_.empty()) return;
  timer_.expires_after(after_);
  timer_.async_wait([this, life = life_](boost::system::error_code error) {
    if (*life && !error) import_pending();
  });
}

Zygote* ViewZygote::warm() {
  const bool serves = zygote_ && zygote_->ready() && importing_ == 0 && deaths_ <= kDeathsMax;
  return serves ? &*zygote_ : nullptr;
}

void ViewZygote::import_pending() {
  if (deaths_ > kDeathsMax) return;
  if (!zygote_)
    zygote_.emplace(loop_, pool_, spec_,
                    Zygote::Handlers{.says =
                                         [this](const ZygoteSays& says) {
                                           if (std::holds_alternative<ZygoteImported>(says)) --importing_;
                                           handlers_.says(says);
                                         },
                                     .died = [this](const std::string& reason) { died(reason); }});
  ++importing_;
  zygote_->request(import_frame(pending_));
  told_.insert(told_.end(), pending_.begin(), pending_.end());
  pending_.clear();
}

void ViewZygote::died(const std::string& reason) {
  handlers_.died(reason);
  ++deaths_;
  importing_ = 0;
  pending_.insert(pending_.begin(), told_.begin(), told_.end());
  told_.clear();
  import_pending();
}

}  // namespace banyan::runtime
