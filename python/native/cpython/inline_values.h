#pragma once

#include "in_place.h"

namespace banyan::cpython {

/// What follows an instance in CPython 3.13 and 3.14 if its type has inline values: this header, the values,
/// and the positions in the order in which they were set (Include/internal/pycore_dict.h, struct
/// _dictvalues).
struct InlineValues {
  std::uint8_t capacity;
  std::uint8_t size;
  std::uint8_t embedded;
  std::uint8_t valid;
  PyObject* values[1];
};

/// The attributes of an instance, if they lie in it and nobody has asked for its dict, which would lie three
/// words in front of it.
inline InPlace find_inline(PyObject* instance) {
  constexpr auto kFlags = Py_TPFLAGS_MANAGED_DICT | Py_TPFLAGS_INLINE_VALUES;
  PyTypeObject* type = Py_TYPE(instance);
  if ((type->tp_flags & kFlags) != kFlags || *(reinterpret_cast<PyObject**>(instance) - 3) != nullptr)
    return {};
  const auto* found =
      reinterpret_cast<const InlineValues*>(reinterpret_cast<const char*>(instance) + type->tp_basicsize);
  if (found->valid == 0) return {};
  const auto* order = reinterpret_cast<const std::uint8_t*>(&found->values[found->capacity]);
  return {.values = &found->values[0], .order = order, .step = 1, .count = found->size};
}

}  // namespace banyan::cpython
