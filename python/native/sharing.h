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

/// What lies in memory in which other objects may lie as well. Frames share memory with other frames until
/// one writes, and know that themselves; columns of arrow are not written to. These (kBlock) link only with
/// other kinds of tenants.
enum class Tenant : int { kArray = 0, kTensor = 1, kBlock = 2, kBytes = 3 };

/// A range of memory, and an object that lies in it.
struct Memory {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::uintptr_t object = 0;
  Tenant tenant = Tenant::kArray;

  friend auto operator<=>(const Memory&, const Memory&) = default;
};

/// What a value owns that another value could own as well.
struct Owned {
  ObjectIds ids;
  std::vector<Memory> memory;
};

/// What one value of a pickling led to.
struct Reach {
  std::size_t entry = 0;  ///< The index of the first entry of the memo that it added.
  /// The index of the first object that it added to those that the memo does not have.
  std::size_t sole = 0;
  /// Indices of entries of earlier values that count; perhaps more than once.
  std::vector<std::size_t> crossed;
};

/// What the values of a pickling own, and a label for each value: equal for those that share objects.
struct Ownership {
  Owned owned;
  std::vector<std::size_t> labels;
};

/// Takes the mutable objects of a finished pickling: those of its memo that count and outlive it, and
/// `sole`. Of `memory`, it takes the ranges of these objects. What then belongs to the memo alone was made
/// by a reducer for the pickle and is no part of the values. Attributes of classes do not count, as all
/// objects of a library's class would be linked; those of `own_classes` (a set of ids) do. At most 65,536
/// values. Throws PythonError.
Ownership owned_objects(Memo& memo, std::span<const std::uintptr_t> sole, std::span<const Reach> reaches,
                        PyObject* own_classes, std::span<const Memory> memory);

/// The mutable objects of picklings that another pickling may meet: not those to which one reference leads,
/// nor classes. Takes 18 to 36 bytes for each.
class Watch {
 public:
  /// Adds those of the pickling with this number; `entries` are the new ones of its memo. Throws PythonError.
  void note(std::uint32_t pickling, std::span<const Memo::Entry> entries, PyObject* own_classes);
  /// The number of the pickling that has the object; of several the one that was noted first.
  [[nodiscard]] std::optional<std::uint32_t> find(PyObject* object) const;

 private:
  /// The place where an object is, or would be, with open addressing. There must be a free place.
  [[nodiscard]] std::size_t place(std::uintptr_t object) const;
  void make_room(std::size_t more);

  std::vector<std::uintptr_t> objects_;  ///< By place; 0 when it is free.
  std::vector<std::uint32_t> owners_;    ///< By place.
  std::size_t count_ = 0;
};

/// Memory in which objects of one value lie together. `bytes` is the bytearray whose memory it is, or 0.
struct SharedMemory {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::uintptr_t bytes = 0;
};

/// In ascending order, without memory in which all tenants are tensors, or all are blocks.
std::vector<SharedMemory> shared_memory(const Owned& owned);

/// Labels of the connected components of `sets`. Two sets are connected when they have an object or memory in
/// common; those after the first `changed` are compared only with the first ones, and not with each other.
/// Equal labels mean the same component.
std::vector<std::size_t> components(std::span<const Owned* const> sets, std::size_t changed);

}  // namespace banyan
