#include "audit.h"

#include <Python.h>

#include <memory>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace banyan {

struct AuditListener::Hook {
  std::vector<std::string> events;
  std::unordered_set<std::string_view> wanted;
  pybind11::function heard;
  bool on = false;  // Guarded by the GIL.

  static int call(const char* event, PyObject* arguments, void* self) {
    const auto* hook = static_cast<const Hook*>(self);
    if (!hook->on || !hook->wanted.contains(event)) return 0;
    PyObject* result = PyObject_CallFunction(hook->heard.ptr(), "sO", event, arguments);
    // What is no Exception is an interrupt.
    const bool ends = result == nullptr && PyErr_ExceptionMatches(PyExc_Exception) == 0;
    if (result == nullptr && !ends) PyErr_Clear();
    Py_XDECREF(result);
    return ends ? -1 : 0;
  }
};

AuditListener::AuditListener(const std::vector<std::string>& events, pybind11::function heard) {
  auto hook = std::make_unique<Hook>(Hook{.events = events, .wanted = {}, .heard = std::move(heard)});
  hook->wanted.insert(hook->events.begin(), hook->events.end());
  if (PySys_AddAuditHook(&Hook::call, hook.get()) != 0) throw pybind11::error_already_set();
  hook_ = hook.release();
}

void AuditListener::listen(bool on) { hook_->on = on; }

}  // namespace banyan
