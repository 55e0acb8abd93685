#pragma once

#include <Python.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace banyan {

/// What a pickler has written so far, by number. Objects count by identity; strings and bytes by value, so
/// that equal values have equal pickles, whichever objects spell them. Keeps what it knows alive: an address
/// stays the object's. Needs the GIL.
class Memo {
 public:
  struct Entry {
    PyObject* object;  ///< strong; null once dropped
    bool counts;       ///< mutable data: who reaches it shares it
  };

  Memo() : slots_(kSlotsMin) {}
  ~Memo();
  Memo(const Memo&) = delete;
  Memo& operator=(const Memo&) = delete;

  [[nodiscard]] std::optional<std::uint32_t> find(PyObject* object) const;
  /// For exact str and bytes.
  [[nodiscard]] std::optional<std::uint32_t> find_value(PyObject* text) const;
  /// With the next number. Not known yet.
  void add(PyObject* object, bool counts);
  void add_value(PyObject* text);
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(entries_.size()); }

  /// Lets go of what nobody else refers to: objects that a reducer made on the way. No look-up after that.
  std::vector<Entry>& outliving();

 private:
  static constexpr std::size_t kSlotsMin = 256;

  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t entry = 0;  ///< plus 1; 0 when free
    bool by_value = false;
  };

  [[nodiscard]] std::size_t place(std::uint64_t hash) const { return hash & (slots_.size() - 1); }
  void insert(PyObject* object, bool counts, std::uint64_t hash, bool by_value);
  void rehash();

  std::vector<Slot> slots_;
  std::vector<Entry> entries_;
};

}  // namespace banyan
