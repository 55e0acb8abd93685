#include "attributes.h"

#include "cpython/in_place.h"

namespace banyan {
namespace {

Object in_place(PyObject* instance) {
  const auto before = cpython::find_in_place(instance);
  if (before.values == nullptr) return {};
  // Making the tuple may collect garbage, and so run any code.
  auto found = Object::steal(checked(PyTuple_New(2 * before.count)));
  const auto now = cpython::find_in_place(instance);
  if (now.values != before.values || now.count != before.count) return {};
  for (Py_ssize_t i = 0; i < now.count; ++i) {
    const auto at = now.order[i * now.step];
    PyTuple_SET_ITEM(found.get(), 2 * i, Py_NewRef(cpython::key_at(Py_TYPE(instance), at)));
    PyTuple_SET_ITEM(found.get(), 2 * i + 1, Py_NewRef(now.values[at]));
  }
  return found;
}

}  // namespace

Object attributes_of(PyObject* instance) {
  if (auto found = in_place(instance)) return found;
  auto attributes = Object::steal(PyObject_GenericGetDict(instance, nullptr));
  if (!attributes) PyErr_Clear();
  return attributes;
}

}  // namespace banyan
