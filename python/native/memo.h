#pragma once

#include <Python.h>

#include <cstdint>
#include <span>
#include <vector>

namespace banyan {

/// Of an object's address. Tables of a power of two take its lowest bits.
inline std::uint32_t hash_of(std::uintptr_t object) {
  constexpr std::uint64_t kMultiplier = 0x9e3779b97f4a7c15;
  return static_cast<std::uint32_t>((object * kMultiplier) >> 32);
}

/// The objects that a pickler has written so far, by identity, with their numbers. Keeps them alive: an
/// address stays the object's. Needs the GIL.
class Memo {
 public:
  struct Entry {
    PyObject* object;  ///< strong; null once dropped
    std::uint32_t number;
    bool counts;  ///< mutable data: who reaches it shares it
  };

  Memo() : slots_(kSlotsMin) {}
  ~Memo();
  Memo(const Memo&) = delete;
  Memo& operator=(const Memo&) = delete;

  /// Null when it is not known. The entry stays where it is until the next is added.
  [[nodiscard]] const Entry* find(PyObject* object) const;
  /// With the next number. Not known yet.
  void add(PyObject* object, bool counts);
  /// Gives the next number to something that nobody will look for here.
  void pass() { ++next_; }
  /// The number that the next has.
  [[nodiscard]] std::uint32_t next_number() const { return next_; }

  /// In the order in which they were added.
  [[nodiscard]] std::span<const Entry> entries() const { return entries_; }
  /// Lets go of what nobody else refers to: objects that a reducer made on the way. No look-up after that.
  void drop_temporaries();

 private:
  static constexpr std::size_t kSlotsMin = 256;

  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t entry = 0;  ///< plus 1; 0 when free
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
