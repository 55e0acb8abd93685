#include "cli/table/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
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
  if (width_ > 0) std::fprintf(stderr, "\r%s\r", std::string(width_, ' ').c_str());
}

void ProgressBar::advance(std::uint64_t bytes) {
  done_ = std::min(done_ + bytes, total_);
  if (!due()) return;
  const double part = static_cast<double>(done_) / static_cast<double>(total_);
  const double took_s = std::chrono::duration<double>(Clock::now() - begun_).count();
  draw(part, what_, " " + bytes_text(done_) + " of " + bytes_text(total_),
       took_s * (1 - part) / std::max(part, 1e-9));
}

void ProgressBar::tell(std::uint64_t percent, const std::string& what, double left_s) {
  if (due())
    draw(static_cast<double>(std::min<std::uint64_t>(percent, 100)) / 100, what_ + ": " + what, "", left_s);
}

bool ProgressBar::due() {
  const auto now = Clock::now();
  if (!terminal_ || now - begun_ < 500ms || now - shown_at_ < 100ms) return false;
  shown_at_ = now;
  return true;
}

void ProgressBar::draw(double part, const std::string& what, const std::string& amount, double left_s) {
  const auto full = static_cast<std::size_t>(kWidth * part);
  std::string line = what + " [" + std::string(full, '#') + std::string(kWidth - full, '.') + "]" + amount;
  if (left_s >= 0) line += ", " + std::to_string(std::llround(left_s)) + " s left";
  const std::size_t width = line.size();
  if (width < width_) line.append(width_ - width, ' ');
  width_ = width;
  std::fprintf(stderr, "\r%s", line.c_str());
  std::fflush(stderr);
}

}  // namespace banyan::cli
