#pragma once

#include <Python.h>

#include "object.h"

namespace banyan {

/// The attributes of an instance: its `__dict__`, or, if nobody has asked for that yet, a tuple of names and
/// values in turn, in order; none if it has no attributes. Asking for a `__dict__` would create one for good,
/// which takes memory and slows the instance down. Throws PythonError.
Object attributes_of(PyObject* instance);

}  // namespace banyan
