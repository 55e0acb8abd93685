#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <vector>

namespace banyan {

/// Calls `heard(event, arguments)` for the interpreter's audit events (PEP 578) that are in `events`, from
/// whichever thread, while `on`. An event that is not wanted costs no call into Python: even a call of `id`
/// raises one. What `heard` raises is dropped, except for interrupts. An audit hook stays as long as the
/// process, and so does what this one refers to.
class AuditListener {
 public:
  /// Throws pybind11's error_already_set when the interpreter refuses the hook.
  AuditListener(const std::vector<std::string>& events, pybind11::function heard);

  void listen(bool on);

 private:
  struct Hook;
  Hook* hook_;
};

}  // namespace banyan
