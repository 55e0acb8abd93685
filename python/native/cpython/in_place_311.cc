// CPython 3.11: a pointer to the values lies four words in front of the instance (Objects/dictobject.c,
// make_dict_from_instance_attributes).
#include "in_place.h"
#include "shared_keys.h"

namespace banyan::cpython {

InPlace find_in_place(PyObject* instance) {
  if ((Py_TYPE(instance)->tp_flags & Py_TPFLAGS_MANAGED_DICT) == 0) return {};
  auto* const* values = *(reinterpret_cast<PyObject***>(instance) - 4);
  if (values == nullptr) return {};
  // In front of the values lie the size of this prefix, the count, and the positions, the last one first.
  const auto* count = reinterpret_cast<const std::uint8_t*>(values) - 2;
  return {.values = values, .order = count - 1, .step = -1, .count = *count};
}

PyObject* key_at(PyTypeObject* type, std::uint8_t position) { return shared_key_at(type, position); }

}  // namespace banyan::cpython
