#include "memo.h"

#include <algorithm>
#include <cstring>

namespace banyan {
namespace {

constexpr int kPassesMax = 8;
constexpr std::uint64_t kMultiplier = 0x9e3779b97f4a7c15;

std::uint64_t hash_of_address(const PyObject* object) {
  const auto mixed = reinterpret_cast<std::uintptr_t>(object) * kMultiplier;
  return mixed ^ (mixed >> 32);
}

// Never fails: str and bytes are hashable.
std::uint64_t hash_of_value(PyObject* text) {
  const auto mixed = static_cast<std::uint64_t>(PyObject_Hash(text)) * kMultiplier;
  return mixed ^ (mixed >> 32);
}

bool equal_texts(PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (Py_TYPE(a) != Py_TYPE(b)) return false;
  if (PyUnicode_CheckExact(a)) {
    const auto length = PyUnicode_GET_LENGTH(a);
    const auto kind = PyUnicode_KIND(a);
    return length == PyUnicode_GET_LENGTH(b) && kind == PyUnicode_KIND(b) &&
           std::memcmp(PyUnicode_DATA(a), PyUnicode_DATA(b), static_cast<std::size_t>(length) * kind) == 0;
  }
  const auto size = PyBytes_GET_SIZE(a);
  return size == PyBytes_GET_SIZE(b) &&
         std::memcmp(PyBytes_AS_STRING(a), PyBytes_AS_STRING(b), static_cast<std::size_t>(size)) == 0;
}

bool drop_temporaries(std::vector<Memo::Entry>& entries) {
  bool dropped = false;
  for (auto& entry : entries) {
    if (entry.object != nullptr && Py_REFCNT(entry.object) == 1) {
      Py_CLEAR(entry.object);
      dropped = true;
    }
  }
  return dropped;
}

}  // namespace

Memo::~Memo() {
  for (const auto& entry : entries_) Py_XDECREF(entry.object);
}

std::optional<std::uint32_t> Memo::find(PyObject* object) const {
  const auto hash = hash_of_address(object);
  for (std::size_t at = place(hash);; at = (at + 1) & (slots_.size() - 1)) {
    const Slot& slot = slots_[at];
    if (slot.entry == 0) return std::nullopt;
    if (slot.hash == hash && !slot.by_value && entries_[slot.entry - 1].object == object)
      return slot.entry - 1;
  }
}

std::optional<std::uint32_t> Memo::find_value(PyObject* text) const {
  const auto hash = hash_of_value(text);
  for (std::size_t at = place(hash);; at = (at + 1) & (slots_.size() - 1)) {
    const Slot& slot = slots_[at];
    if (slot.entry == 0) return std::nullopt;
    if (slot.hash == hash && slot.by_value && equal_texts(entries_[slot.entry - 1].object, text))
      return slot.entry - 1;
  }
}

void Memo::add(PyObject* object, bool counts) { insert(object, counts, hash_of_address(object), false); }

void Memo::add_value(PyObject* text) { insert(text, false, hash_of_value(text), true); }

void Memo::insert(PyObject* object, bool counts, std::uint64_t hash, bool by_value) {
  if (3 * (entries_.size() + 1) > 2 * slots_.size()) rehash();
  entries_.push_back({Py_NewRef(object), counts});
  std::size_t at = place(hash);
  while (slots_[at].entry != 0) at = (at + 1) & (slots_.size() - 1);
  slots_[at] = {hash, static_cast<std::uint32_t>(entries_.size()), by_value};
}

void Memo::rehash() {
  std::vector<Slot> before(4 * slots_.size());
  before.swap(slots_);
  for (const Slot& slot : before) {
    if (slot.entry == 0) continue;
    std::size_t at = place(slot.hash);
    while (slots_[at].entry != 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = slot;
  }
}

std::vector<Memo::Entry>& Memo::outliving() {
  // Parents come before and after their children (a tuple follows its items), hence both directions.
  for (int pass = 0; pass < kPassesMax && drop_temporaries(entries_); ++pass)
    std::reverse(entries_.begin(), entries_.end());
  return entries_;
}

}  // namespace banyan
