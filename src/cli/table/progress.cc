#include "cli/table/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "cli/table/table.h"

namespace banyan::cli {

namespace {
using namespace std::chrono_literals;
constexpr int kWidth = 30;
}  // namespace

ProgressBar::ProgressBar(std::string what, std::uint64_t total)
    : what_(std::move(what)),
      total_(std::max<std::uint64_t>(total, 1)),
      terminal_(isatty(STDERR_FILENO) != 0) {}

ProgressBar::~ProgressBar() {
  if (shown_) std::fputs("\r\x1b[K", stderr);
}

void ProgressBar::advance(std::uint64_t bytes) {
  done_ = std::min(done_ + bytes, total_);
  const auto now = Clock::now();
  if (!terminal_ || now - begun_ < 500ms || now - shown_at_ < 100ms) return;
  shown_at_ = now;
  shown_ = true;
  const double part = static_cast<double>(done_) / static_cast<double>(total_);
  const double left_s =
      std::chrono::duration<double>(now - begun_).count() * (1 - part) / std::max(part, 1e-9);
  const auto full = static_cast<std::size_t>(kWidth * part);
  std::fprintf(stderr, "\r\x1b[K%s [%s%s] %s of %s, %.0f s left", what_.c_str(),
               std::string(full, '#').c_str(), std::string(kWidth - full, '.').c_str(),
               bytes_text(done_).c_str(), bytes_text(total_).c_str(), left_s);
  std::fflush(stderr);
}

}  // namespace banyan::cli
