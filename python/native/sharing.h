#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace banyan {

/// The addresses of the mutable objects that a value owns, sorted, each once.
using ObjectIds = std::vector<std::uintptr_t>;

/// How objects of one type take part in sharing.
enum class Sharing : long {
  kIgnore = 0,  ///< immutable, or pickled by reference: never a link
  kCount = 1,
  kAsk = 2,  ///< ask for each object
};

/// Takes over the objects of a pickler's memo (`{id: (index, object)}`, emptied) and returns those that are
/// mutable and outlive the pickling. The pickler's own memo must be cleared before: an object that then
/// belongs to the memo alone was made by a __reduce__ on the way and is no part of the value. `policy` maps a
/// type to a Sharing value; `classify(object)` is asked for types it lacks (the answer is stored) and for
/// each object of a kAsk type (non-zero counts). Attributes of classes do not count: all objects of the class
/// share them, and they travel with it. `own_classes` (a set of ids) are those whose attributes do. On a
/// Python error returns with the error set; the result is then empty.
ObjectIds owned_objects(PyObject* memo, PyObject* policy, PyObject* classify, PyObject* own_classes);

/// Labels of the connected components of `sets`, two sets being connected when they have an object in common;
/// `sets` after the first `changed` are only compared with those, not among themselves. Equal label, same
/// component.
std::vector<std::size_t> components(std::span<const ObjectIds* const> sets, std::size_t changed);

}  // namespace banyan
