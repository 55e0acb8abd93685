// The bindings of LocalSession for Python.
#pragma once

#include <pybind11/pybind11.h>

namespace banyan {

/// Adds LocalSession and what it returns to the extension module. _native.pyi says what they do.
void bind_local_session(pybind11::module_& m);

}  // namespace banyan
