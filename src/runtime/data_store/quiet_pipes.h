// Keeps SIGPIPE from the program: libraries that write to sockets raise it when the other side has closed.
#pragma once

#include <signal.h>

namespace banyan::runtime {

/// While one lives, a broken pipe is only an error of the call that met it, in this thread. The program's own
/// handling of SIGPIPE stays as it is.
class QuietPipes {
 public:
  QuietPipes() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~QuietPipes() {
    if (sigismember(&before_, SIGPIPE) == 1) return;
    const timespec no_wait{};
    while (sigtimedwait(&pipe_, nullptr, &no_wait) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  QuietPipes(const QuietPipes&) = delete;
  QuietPipes& operator=(const QuietPipes&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
};

}  // namespace banyan::runtime
