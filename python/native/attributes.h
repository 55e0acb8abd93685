#pragma once

#include <Python.h>

#include "object.h"

namespace banyan {

/// The attributes of an instance: its `__dict__`, or, where nobody has asked for that yet, a tuple of names
/// and values in turn, in order; none where it has none. To ask for a `__dict__` makes one for good, of the
/// size of a small object, and slows the instance down. Throws PythonError.
Object attributes_of(PyObject* instance);

}  // namespace banyan
