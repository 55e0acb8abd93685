#include "memo.h"

#include <cstring>
#include <ranges>

namespace banyan {
namespace {

constexpr int kPassesMax = 8;
constexpr std::uint64_t kMultiplier = 0x9e3779b97f4a7c15;

std::uint32_t mixed(std::uint64_t number) { return static_cast<std::uint32_t>((number * kMultiplier) >> 32); }

std::uint32_t hash_of_address(const PyObject* object) {
  return mixed(reinterpret_cast<std::uintptr_t>(object));
}

// Never fails: str and bytes are hashable.
std::uint32_t hash_of_value(PyObject* text) {
  Py_hash_t hash = PyUnicode_CheckExact(text) ? reinterpret_cast<PyASCIIObject*>(text)->hash : -1;
  if (hash == -1) hash = PyObject_Hash(text);
  return mixed(static_cast<std::uint64_t>(hash));
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
  const auto hash = hash_of_address(object);
  for (std::size_t at = place(hash);; at = next(at)) {
    const Slot& slot = slots_[at];
    if (slot.entry == 0) return nullptr;
    if (slot.hash != hash) continue;
    const Entry& entry = entries_[slot.entry - 1];
    if (!entry.by_value && entry.object == object) return &entry;
  }
}

std::size_t Memo::seek_value(PyObject* text, std::uint32_t hash) const {
  std::size_t at = place(hash);
  for (; slots_[at].entry != 0; at = next(at)) {
    if (slots_[at].hash != hash) continue;
    const Entry& entry = entries_[slots_[at].entry - 1];
    if (entry.by_value && equal_texts(entry.object, text)) break;
  }
  return at;
}

std::optional<std::uint32_t> Memo::find_value(PyObject* text) const {
  const auto entry = slots_[seek_value(text, hash_of_value(text))].entry;
  return entry == 0 ? std::nullopt : std::optional(entries_[entry - 1].number);
}

std::optional<std::uint32_t> Memo::find_or_add_value(PyObject* text) {
  make_room();
  const auto hash = hash_of_value(text);
  const auto at = seek_value(text, hash);
  if (slots_[at].entry != 0) return entries_[slots_[at].entry - 1].number;
  insert({.object = text, .number = next_++, .counts = false, .by_value = true}, hash, at);
  return std::nullopt;
}

void Memo::add_value(PyObject* text) { find_or_add_value(text); }

void Memo::add(PyObject* object, bool counts) {
  make_room();
  const auto hash = hash_of_address(object);
  std::size_t at = place(hash);
  while (slots_[at].entry != 0) at = next(at);
  insert({.object = object, .number = next_++, .counts = counts, .by_value = false}, hash, at);
}

void Memo::insert(Entry entry, std::uint32_t hash, std::size_t at) {
  Py_INCREF(entry.object);
  entries_.push_back(entry);
  slots_[at] = {.hash = hash, .entry = static_cast<std::uint32_t>(entries_.size())};
}

void Memo::make_room() {
  if (3 * (entries_.size() + 1) <= 2 * slots_.size()) return;
  std::vector<Slot> before(2 * slots_.size());
  before.swap(slots_);
  for (const Slot& slot : before) {
    if (slot.entry == 0) continue;
    std::size_t at = place(slot.hash);
    while (slots_[at].entry != 0) at = next(at);
    slots_[at] = slot;
  }
}

void Memo::drop_temporaries() {
  // Parents come before and after their children (a tuple follows its items), hence both directions.
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
