// Where CPython 3.11 keeps attributes is not public: Objects/dictobject.c,
// make_dict_from_instance_attributes. NOLINTNEXTLINE(bugprone-reserved-identifier): the name is CPython's
#define Py_BUILD_CORE 1
#include "attributes.h"

#if PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030c0000
extern "C" {
#include <internal/pycore_dict.h>
#include <internal/pycore_object.h>
}
#endif

#include <cstdint>

namespace banyan {
namespace {

#if PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030c0000

// How many attributes an instance has that lie in place; positions among the keys lie in front of it, the
// last one first, in the order in which they were set. Null when they lie in a dict.
const std::uint8_t* count_in_place(PyObject* instance) {
  if ((Py_TYPE(instance)->tp_flags & Py_TPFLAGS_MANAGED_DICT) == 0) return nullptr;
  const PyDictValues* values = *_PyObject_ValuesPointer(instance);
  return values == nullptr ? nullptr : reinterpret_cast<const std::uint8_t*>(values) - 2;
}

Object in_place(PyObject* instance) {
  const auto* order = count_in_place(instance);
  if (order == nullptr) return {};
  const Py_ssize_t count = *order;
  auto found = Object::steal(checked(PyTuple_New(2 * count)));  // which may collect garbage, and run anything
  if (count_in_place(instance) != order || *order != count) return {};
  const PyDictValues* values = *_PyObject_ValuesPointer(instance);
  PyDictKeysObject* keys = reinterpret_cast<PyHeapTypeObject*>(Py_TYPE(instance))->ht_cached_keys;
  const PyDictUnicodeEntry* entries = DK_UNICODE_ENTRIES(keys);
  for (Py_ssize_t i = 0; i < count; ++i) {
    const auto at = *(order - 1 - i);
    PyTuple_SET_ITEM(found.get(), 2 * i, Py_NewRef(entries[at].me_key));
    PyTuple_SET_ITEM(found.get(), 2 * i + 1, Py_NewRef(values->values[at]));
  }
  return found;
}

#else

Object in_place(PyObject* /*instance*/) { return {}; }

#endif

}  // namespace

Object attributes_of(PyObject* instance) {
  if (auto found = in_place(instance)) return found;
  auto attributes = Object::steal(PyObject_GenericGetDict(instance, nullptr));
  if (!attributes) PyErr_Clear();
  return attributes;
}

}  // namespace banyan
