#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>

namespace banyan::cpython {

/// The names of attributes that instances of a class have in common, as CPython 3.11 to 3.14 lay them out in
/// builds with a GIL (Include/internal/pycore_dict.h, whose own declarations do not compile as C++ with every
/// compiler). The entries, each with a text and a value, follow the table of indices.
struct SharedKeys {
  Py_ssize_t references;
  std::uint8_t log2_size;
  std::uint8_t log2_index_bytes;
  std::uint8_t kind;
  std::uint32_t version;
  Py_ssize_t usable;
  Py_ssize_t entries;
};

struct SharedKeysEntry {
  PyObject* key;
  PyObject* value;
};

/// The name at a position; borrowed.
inline PyObject* shared_key_at(PyTypeObject* type, std::uint8_t position) {
  const auto* raw =
      reinterpret_cast<const std::byte*>(reinterpret_cast<PyHeapTypeObject*>(type)->ht_cached_keys);
  const auto* keys = reinterpret_cast<const SharedKeys*>(raw);
  const auto* indices = raw + sizeof(SharedKeys);
  const auto size = std::size_t{1} << keys->log2_index_bytes;
  return reinterpret_cast<const SharedKeysEntry*>(indices + size)[position].key;
}

}  // namespace banyan::cpython
