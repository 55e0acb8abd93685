#pragma once

#include <Python.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
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

  friend auto operator<=>(const Memory&, const Memory&) = default;
};

/// What a value owns, so far as another one could own it too.
struct Owned {
  ObjectIds ids;
  std::vector<Memory> memory;
};

/// What one value of a pickling led to.
struct Reach {
  std::size_t entry = 0;             ///< the first entry of the memo that it added
  std::size_t sole = 0;              ///< the first object that it added to those that the memo does not have
  std::vector<std::size_t> crossed;  ///< entries of the values before that count, perhaps more than once
};

/// What the values of a pickling own, and which hang together: those with equal labels.
struct Ownership {
  Owned owned;
  std::vector<std::size_t> labels;
};

/// Takes the mutable objects of a finished pickling: those of its memo that count and outlive it, and `sole`;
/// of `memory` what they lie in. What then belongs to the memo alone was made by a reducer on the way and is
/// no part of the values. Attributes of classes do not count, or all objects of a library's class would be
/// linked; those of `own_classes` (a set of ids) do. At most 65,536 values. Throws PythonError.
Ownership owned_objects(Memo& memo, std::span<const std::uintptr_t> sole, std::span<const Reach> reaches,
                        PyObject* own_classes, std::span<const Memory> memory);

/// The mutable objects of picklings that others may meet: not those to which one reference leads, nor
/// classes. 18 to 36 bytes for each.
class Watch {
 public:
  /// Adds those of a pickling that has this number, from some entry of its memo on. Throws PythonError.
  void note(std::uint32_t pickling, std::span<const Memo::Entry> entries, PyObject* own_classes);
  /// The number of the pickling that has it; of several the first that was noted.
  [[nodiscard]] std::optional<std::uint32_t> find(PyObject* object) const;

 private:
  /// Where an object is, or would be, with open addressing. There must be a free place.
  [[nodiscard]] std::size_t place(std::uintptr_t object) const;
  void make_room(std::size_t more);

  std::vector<std::uintptr_t> objects_;  ///< 0: free
  std::vector<std::uint32_t> owners_;    ///< of each place
  std::size_t count_ = 0;
};

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
