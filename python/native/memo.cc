#include "memo.h"

#include <ranges>

namespace banyan {
namespace {

constexpr int kPassesMax = 8;

std::uint32_t hash_of(const PyObject* object) {
  return banyan::hash_of(reinterpret_cast<std::uintptr_t>(object));
}

bool drop(Memo::Entry& entry) {
  if (entry.object == nullptr || Py_REFCNT(entry.object) != 1) return false;
  Py_CLEAR(entry.object);
  return true;
}

}  // namespace

Memo::~Memo() {
  for (const auto& entry : entries_) Py_XDECREF(entry.object);
}

const Memo::Entry* Memo::find(PyObject* object) const {
  const auto hash = hash_of(object);
  for (std::size_t at = place(hash);; at = next(at)) {
    const Slot& slot = slots_[at];
    if (slot.entry == 0) return nullptr;
    if (slot.hash == hash && entries_[slot.entry - 1].object == object) return &entries_[slot.entry - 1];
  }
}

void Memo::add(PyObject* object, bool counts) {
  make_room();
  entries_.push_back({.object = Py_NewRef(object), .number = next_++, .counts = counts});
  put({.hash = hash_of(object), .entry = static_cast<std::uint32_t>(entries_.size())});
}

void Memo::put(Slot slot) {
  std::size_t at = place(slot.hash);
  while (slots_[at].entry != 0) at = next(at);
  slots_[at] = slot;
}

void Memo::make_room() {
  if (3 * (entries_.size() + 1) <= 2 * slots_.size()) return;
  std::vector<Slot> before(2 * slots_.size());
  before.swap(slots_);
  for (const Slot& slot : before)
    if (slot.entry != 0) put(slot);
}

void Memo::drop_temporaries() {
  // Containers come before or after what they hold (a tuple comes after its items), so passes go in
  // both directions.
  for (int pass = 0; pass < kPassesMax; ++pass) {
    bool dropped = false;
    if (pass % 2 == 0) {
      for (Entry& entry : entries_) dropped |= drop(entry);
    } else {
      for (Entry& entry : std::views::reverse(entries_)) dropped |= drop(entry);
    }
    if (!dropped) return;
  }
}

}  // namespace banyan
