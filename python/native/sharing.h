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

/// What lies in memory that other objects may lie in too. Frames share memory with others until they write,
/// and know so themselves, and arrow's columns are not written: these (kBlock) link only with what is none.
enum class Tenant : int { kArray = 0, kTensor = 1, kBlock = 2, kBytes = 3 };

/// Some memory, and an object that lies in it.
struct Memory {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::uintptr_t object = 0;
  Tenant tenant = Tenant::kArray;
};

/// What a value owns, so far as another one could own it too.
struct Owned {
  ObjectIds ids;
  std::vector<Memory> memory;
};

/// Takes the mutable objects of a finished pickling: those of its memo that count and outlive it; of `memory`
/// what they lie in. What then belongs to the memo alone was made by a reducer on the way and is no part of
/// the value. Attributes of classes do not count, or all objects of a library's class would be linked;
/// those of `own_classes` (a set of ids) do. Throws PythonError.
Owned owned_objects(Memo& memo, PyObject* own_classes, std::span<const Memory> memory);

/// Memory that objects of one value lie in together. `bytes` is the bytearray whose memory it is, or 0.
struct SharedMemory {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::uintptr_t bytes = 0;
};

/// Ascending; not where all are tensors or blocks.
std::vector<SharedMemory> shared_memory(const Owned& owned);

/// Labels of the connected components of `sets`, two sets being connected when they have an object or memory
/// in common; `sets` after the first `changed` are only compared with those, not among themselves. Equal
/// label, same component.
std::vector<std::size_t> components(std::span<const Owned* const> sets, std::size_t changed);

}  // namespace banyan
