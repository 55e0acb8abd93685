#include "bindings.h"

namespace banyan {
namespace {

bool is_left_out(PyObject* name, PyObject* value, PyObject* skip, PyObject* hidden) {
  const int skipped = PySet_Contains(skip, name);
  if (skipped < 0) throw PythonError{};
  if (skipped == 0) return false;
  PyObject* shells = PyDict_GetItemWithError(hidden, name);
  if (shells == nullptr && PyErr_Occurred() != nullptr) throw PythonError{};
  return shells == nullptr || shells == value;
}

}  // namespace

Object identities(PyObject* names, PyObject* skip, PyObject* hidden) {
  // A key may be of a class of the user whose comparison binds names during the iteration.
  const auto now = Object::steal(checked(PyDict_Copy(names)));
  auto found = Object::steal(checked(PyDict_New()));
  Py_ssize_t at = 0;
  PyObject* name = nullptr;
  PyObject* value = nullptr;
  while (PyDict_Next(now.get(), &at, &name, &value) != 0) {
    if (!PyUnicode_Check(name) || is_left_out(name, value, skip, hidden)) continue;
    const auto address = Object::steal(checked(PyLong_FromVoidPtr(value)));
    if (PyDict_SetItem(found.get(), name, address.get()) != 0) throw PythonError{};
  }
  return found;
}

}  // namespace banyan
