// CPython 3.12: three words in front of the instance lies either its dict or, with the lowest bit set, a
// pointer to the byte in front of its values (Include/internal/pycore_object.h,
// _PyObject_DictOrValuesPointer).
#include "in_place.h"
#include "shared_keys.h"

namespace banyan::cpython {

InPlace find_in_place(PyObject* instance) {
  if ((Py_TYPE(instance)->tp_flags & Py_TPFLAGS_MANAGED_DICT) == 0) return {};
  auto* tagged = *(reinterpret_cast<char**>(instance) - 3);
  if ((reinterpret_cast<std::uintptr_t>(tagged) & 1) == 0) return {};
  auto* const* values = reinterpret_cast<PyObject**>(tagged + 1);
  // In front of the values lie the size of this prefix, the count, and the positions, the last one first.
  const auto* count = reinterpret_cast<const std::uint8_t*>(values) - 2;
  return {.values = values, .order = count - 1, .step = -1, .count = *count};
}

PyObject* key_at(PyTypeObject* type, std::uint8_t position) { return shared_key_at(type, position); }

}  // namespace banyan::cpython
