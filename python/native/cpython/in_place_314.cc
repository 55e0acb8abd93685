// CPython 3.14: the values are part of the instance.
#include "inline_values.h"
#include "shared_keys.h"

namespace banyan::cpython {

InPlace find_in_place(PyObject* instance) { return find_inline(instance); }

PyObject* key_at(PyTypeObject* type, std::uint8_t position) { return shared_key_at(type, position); }

}  // namespace banyan::cpython
