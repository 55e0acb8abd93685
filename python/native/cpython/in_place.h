#pragma once

#include <Python.h>

#include <cstdint>

namespace banyan::cpython {

/// Where an instance keeps its attributes while it has no `__dict__`. No public API of CPython tells that, so
/// each version has a file of its own (`in_place_311.cc` and so on), which CMake chooses; `in_place_none.cc`
/// is for all others.
struct InPlace {
  PyObject* const* values = nullptr;    ///< By position among the keys of the class; borrowed.
  const std::uint8_t* order = nullptr;  ///< Positions, in the order in which they were set.
  Py_ssize_t step = 1;                  ///< From one position in `order` to the next: 1 or -1.
  Py_ssize_t count = 0;                 ///< How many attributes there are.
};

/// No values if the attributes lie in a dict, or if nobody knows where they lie. attributes_of then asks for
/// the `__dict__`, which is correct and slower.
InPlace find_in_place(PyObject* instance);

/// The name of the attribute at a position among the keys of the class; borrowed. The attributes must
/// lie in place.
PyObject* key_at(PyTypeObject* type, std::uint8_t position);

}  // namespace banyan::cpython
