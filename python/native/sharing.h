#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "memo.h"

namespace banyan {

/// The addresses of the mutable objects that a value owns, sorted, each once.
using ObjectIds = std::vector<std::uintptr_t>;

/// Takes the mutable objects of a finished pickling: those of its memo that count and outlive it. What then
/// belongs to the memo alone was made by a reducer on the way and is no part of the value. Attributes of
/// classes do not count: all objects of the class share them, and they travel with it. `own_classes` (a set
/// of ids) are those whose attributes do. Throws PythonError.
ObjectIds owned_objects(Memo& memo, PyObject* own_classes);

/// Labels of the connected components of `sets`, two sets being connected when they have an object in common;
/// `sets` after the first `changed` are only compared with those, not among themselves. Equal label, same
/// component.
std::vector<std::size_t> components(std::span<const ObjectIds* const> sets, std::size_t changed);

}  // namespace banyan
