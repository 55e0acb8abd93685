#pragma once

#include <Python.h>

#include <cstdint>
#include <span>
#include <vector>

namespace banyan {

/// A hash of an object's address. Tables whose size is a power of two take its lowest bits.
inline std::uint32_t hash_of(std::uintptr_t object) {
  constexpr std::uint64_t kMultiplier = 0x9e3779b97f4a7c15;
  return static_cast<std::uint32_t>((object * kMultiplier) >> 32);
}

/// The objects that a pickler has written so far, by identity, with their numbers. It keeps them alive, so
/// that no other object gets one of their addresses. Needs the GIL.
class Memo {
 public:
  struct Entry {
    PyObject* object;  ///< Strong; null once it is dropped.
    std::uint32_t number;
    bool counts;  ///< Whether it is mutable data, so that values which reach it share it.
  };

  Memo() : slots_(kSlotsMin) {}
  ~Memo();
  Memo(const Memo&) = delete;
  Memo& operator=(const Memo&) = delete;

  /// Null when the object is not known. The entry stays where it is until the next one is added.
  [[nodiscard]] const Entry* find(PyObject* object) const;
  /// Adds an object, which must be new, with the next number.
  void add(PyObject* object, bool counts);
  /// Uses up the next number for something that nobody will look for here.
  void pass() { ++next_; }
  /// The number that the next object gets.
  [[nodiscard]] std::uint32_t next_number() const { return next_; }

  /// In the order in which they were added.
  [[nodiscard]] std::span<const Entry> entries() const { return entries_; }
  /// Releases objects that nobody else refers to: reducers have made these for the pickle. Nothing may be
  /// looked up after that.
  void drop_temporaries();

 private:
  static constexpr std::size_t kSlotsMin = 256;

  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t entry = 0;  ///< The index of the entry plus 1; 0 when the slot is free.
  };

  [[nodiscard]] std::size_t place(std::uint32_t hash) const { return hash & (slots_.size() - 1); }
  [[nodiscard]] std::size_t next(std::size_t at) const { return (at + 1) & (slots_.size() - 1); }
  void put(Slot slot);
  void make_room();

  std::vector<Slot> slots_;
  std::vector<Entry> entries_;
  std::uint32_t next_ = 0;
};

}  // namespace banyan
