#pragma once

#include <Python.h>

#include "object.h"

namespace banyan {

/// What the names of a namespace are bound to, by identity: a dict from each name to the address of its
/// value, as `id` gives it. It runs over all variables after each cell. Needs the GIL.
///
/// `skip` is a set of names that are left out, unless the name's value differs from that in `hidden`: the
/// shell put the hidden value there, and a cell has bound the name anew. Keys that are no texts are left out.
/// Throws PythonError.
Object identities(PyObject* names, PyObject* skip, PyObject* hidden);

}  // namespace banyan
