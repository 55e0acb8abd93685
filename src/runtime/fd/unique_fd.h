// File descriptors that close themselves.
#pragma once

#include <string>
#include <utility>

#include "base/result.h"

namespace banyan::runtime {

/// Owns a file descriptor; -1 for none.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~UniqueFd();

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

/// The error "WHAT: the reason that errno names".
Error system_error(const std::string& what);

}  // namespace banyan::runtime
