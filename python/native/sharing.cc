#include "sharing.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "object.h"

namespace banyan {
namespace {

// The attributes that a class itself has. From 3.12 on, static types have others in each interpreter.
Object attributes_of_class(PyObject* type) {
  auto* of = reinterpret_cast<PyTypeObject*>(type);
#if PY_VERSION_HEX >= 0x030c0000
  return Object::steal(checked(PyType_GetDict(of)));
#else
  return Object::share(of->tp_dict);
#endif
}

// Lists, sets and dicts that are attributes of the classes among `entries` or of their bases, except for
// `own_classes`.
std::unordered_set<std::uintptr_t> class_attributes(std::span<const Memo::Entry> entries,
                                                    PyObject* own_classes) {
  std::unordered_set<std::uintptr_t> found;
  for (const auto& entry : entries) {
    PyObject* object = entry.object;
    if (object == nullptr || !PyType_Check(object)) continue;
    PyObject* bases = reinterpret_cast<PyTypeObject*>(object)->tp_mro;
    for (Py_ssize_t i = 0; bases != nullptr && i < PyTuple_GET_SIZE(bases); ++i) {
      PyObject* base = PyTuple_GET_ITEM(bases, i);
      const auto id = Object::steal(checked(PyLong_FromVoidPtr(base)));
      const int own = PySet_Contains(own_classes, id.get());
      if (own < 0) throw PythonError{};
      if (own != 0) continue;
      const auto attributes = attributes_of_class(base);
      PyObject* key = nullptr;
      PyObject* value = nullptr;
      Py_ssize_t position = 0;
      while (PyDict_Next(attributes.get(), &position, &key, &value))
        if (PyList_Check(value) || PyAnySet_Check(value) || PyDict_Check(value))
          found.insert(reinterpret_cast<std::uintptr_t>(value));
    }
  }
  return found;
}

class UnionFind {
 public:
  explicit UnionFind(std::size_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), 0); }

  std::size_t find(std::size_t node) {
    while (parent_[node] != node) node = parent_[node] = parent_[parent_[node]];
    return node;
  }

  void join(std::size_t a, std::size_t b) {
    a = find(a);
    b = find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<std::size_t> parent_;
};

struct Tenancy {
  Memory memory;
  std::size_t set = 0;
};

// Memory of arrays and tensors: the union of ranges that overlap, with all that lies there.
struct Region {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::vector<Tenancy> tenants;
};

std::vector<Region> regions_of(std::vector<Tenancy> tenancies) {
  std::ranges::sort(tenancies, {}, [](const Tenancy& each) { return each.memory.begin; });
  std::vector<Region> regions;
  for (const auto& each : tenancies) {
    if (each.memory.tenant == Tenant::kBlock) continue;
    if (regions.empty() || regions.back().end <= each.memory.begin)
      regions.push_back({.begin = each.memory.begin, .end = each.memory.end, .tenants = {}});
    regions.back().end = std::max(regions.back().end, each.memory.end);
    regions.back().tenants.push_back(each);
  }
  for (const auto& each : tenancies) {
    if (each.memory.tenant != Tenant::kBlock) continue;
    const auto at = std::ranges::upper_bound(regions, each.memory.begin, {},
                                             [](const Region& region) { return region.end; });
    if (at != regions.end() && at->begin < each.memory.end) at->tenants.push_back(each);
  }
  return regions;
}

// Whether part of `memory` lies in one of the ranges, which are ascending and do not overlap.
bool lies_in(const std::vector<std::pair<std::uintptr_t, std::uintptr_t>>& ranges, const Memory& memory) {
  const auto at =
      std::ranges::upper_bound(ranges, memory.begin, {}, [](const auto& range) { return range.second; });
  return at != ranges.end() && at->first < memory.end;
}

// Joins the sets that have a tenant in the same memory, if one of the first `changed` sets has one there.
void join_tenants(std::vector<Tenancy> tenancies, std::size_t changed, UnionFind& labels) {
  for (const auto& region : regions_of(std::move(tenancies))) {
    const auto first =
        std::ranges::find_if(region.tenants, [&](const Tenancy& each) { return each.set < changed; });
    if (first == region.tenants.end()) continue;
    for (const auto& each : region.tenants) labels.join(first->set, each.set);
  }
}

void join_by_memory(std::span<const Owned* const> sets, std::size_t changed, UnionFind& labels) {
  std::vector<Tenancy> tenancies;
  for (std::size_t i = 0; i < changed; ++i)
    for (const auto& memory : sets[i]->memory) tenancies.push_back({.memory = memory, .set = i});
  std::ranges::sort(tenancies, {}, [](const Tenancy& each) { return each.memory.begin; });
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> ranges;
  for (const auto& [memory, set] : tenancies) {
    if (ranges.empty() || ranges.back().second <= memory.begin) ranges.emplace_back(memory.begin, memory.end);
    ranges.back().second = std::max(ranges.back().second, memory.end);
  }
  for (std::size_t i = changed; i < sets.size(); ++i)
    for (const auto& memory : sets[i]->memory)
      if (lies_in(ranges, memory)) tenancies.push_back({.memory = memory, .set = i});
  join_tenants(std::move(tenancies), changed, labels);
}

// Whether two ascending sequences have an element in common.
bool intersect(const ObjectIds& one, const ObjectIds& other) {
  const auto& few = one.size() < other.size() ? one : other;
  const auto& many = one.size() < other.size() ? other : one;
  auto from = many.begin();
  for (const auto id : few) {
    // Try the next elements first, because two sequences of similar length alternate.
    for (std::ptrdiff_t step = 1; from != many.end() && *from < id; step *= 2) {
      const auto limit = many.end() - from > step ? from + step : many.end();
      from = std::lower_bound(from, limit, id);
    }
    if (from == many.end()) return false;
    if (*from == id) return true;
  }
  return false;
}

// An address, with the number of the set that has it in the bits that addresses leave free.
constexpr int kAddressBits = 48;
constexpr std::uintptr_t kAddress = (std::uintptr_t{1} << kAddressBits) - 1;

std::uintptr_t of_set(std::uintptr_t id, std::size_t set) { return id | std::uintptr_t{set} << kAddressBits; }

// Sorts by address, digit by digit from the lowest on. Leading and trailing bits in which all
// agree are skipped.
void sort_by_address(std::vector<std::uintptr_t>& ids) {
  constexpr std::size_t kFew = 512;
  constexpr int kDigit = 11;
  constexpr std::uintptr_t kMask = (std::uintptr_t{1} << kDigit) - 1;
  if (ids.size() < kFew) {
    std::ranges::sort(ids, {}, [](auto id) { return id & kAddress; });
    return;
  }
  std::uintptr_t differing = 0;
  for (const auto id : ids) differing |= (id ^ ids.front()) & kAddress;
  std::vector<std::uintptr_t> sorted(ids.size());
  for (int shift = std::countr_zero(differing); shift < kAddressBits && differing >> shift != 0;
       shift += kDigit) {
    std::array<std::size_t, kMask + 1> starts{};
    for (const auto id : ids) ++starts[(id & kAddress) >> shift & kMask];
    std::exclusive_scan(starts.begin(), starts.end(), starts.begin(), std::size_t{0});
    for (const auto id : ids) sorted[starts[(id & kAddress) >> shift & kMask]++] = id;
    ids.swap(sorted);
  }
}

// Joins the sets that have an address in common. `ids` are addresses with their sets, sorted.
void join_equal(const std::vector<std::uintptr_t>& ids, UnionFind& labels) {
  for (std::size_t i = 1; i < ids.size(); ++i)
    if ((ids[i] & kAddress) == (ids[i - 1] & kAddress))
      labels.join(ids[i] >> kAddressBits, ids[i - 1] >> kAddressBits);
}

void join_by_objects(std::span<const Owned* const> sets, std::size_t changed, UnionFind& labels) {
  for (std::size_t i = changed; i < sets.size(); ++i)
    for (std::size_t j = 0; j < changed; ++j)
      if (labels.find(i) != labels.find(j) && intersect(sets[i]->ids, sets[j]->ids)) labels.join(j, i);
  if (changed < 2) return;
  std::vector<std::uintptr_t> ids;
  for (std::size_t i = 0; i < changed; ++i)
    for (const auto id : sets[i]->ids) ids.push_back(of_set(id, i));
  sort_by_address(ids);
  join_equal(ids, labels);
}

std::vector<std::size_t> labels_of(UnionFind& found, std::size_t count) {
  std::vector<std::size_t> labels(count);
  for (std::size_t i = 0; i < count; ++i) labels[i] = found.find(i);
  return labels;
}

}  // namespace

Ownership owned_objects(Memo& memo, std::span<const std::uintptr_t> sole, std::span<const Reach> reaches,
                        PyObject* own_classes, std::span<const Memory> memory) {
  memo.drop_temporaries();
  const auto entries = memo.entries();
  const auto attributes = class_attributes(entries, own_classes);
  std::vector<std::uintptr_t> ids;
  ids.reserve(sole.size() + entries.size());
  for (std::size_t i = 0; i < reaches.size(); ++i) {
    const auto add = [&](std::uintptr_t id) {
      if (id != 0 && !attributes.contains(id)) ids.push_back(of_set(id, i));
    };
    const Reach& from = reaches[i];
    const Reach to = i + 1 < reaches.size()
                         ? reaches[i + 1]
                         : Reach{.entry = entries.size(), .sole = sole.size(), .crossed = {}};
    for (std::size_t at = from.sole; at < to.sole; ++at) add(sole[at]);
    for (std::size_t at = from.entry; at < to.entry; ++at)
      if (entries[at].counts) add(reinterpret_cast<std::uintptr_t>(entries[at].object));
    for (const auto at : from.crossed) add(reinterpret_cast<std::uintptr_t>(entries[at].object));
  }
  sort_by_address(ids);
  UnionFind found(reaches.size());
  join_equal(ids, found);

  Ownership result;
  std::vector<Tenancy> tenancies;
  for (const auto& each : memory) {
    const auto owners = std::ranges::equal_range(ids, each.object, {}, [](auto id) { return id & kAddress; });
    if (!owners.empty()) result.owned.memory.push_back(each);
    for (const auto id : owners) tenancies.push_back({.memory = each, .set = id >> kAddressBits});
  }
  join_tenants(std::move(tenancies), reaches.size(), found);
  result.labels = labels_of(found, reaches.size());
  for (auto& id : ids) id &= kAddress;
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  ids.shrink_to_fit();  // They are kept for long.
  result.owned.ids = std::move(ids);
  return result;
}

// Attributes of classes that were met in an earlier call may be noted here. A value that meets one of them is
// pickled together with its owner, and separated from it afterwards.
void Watch::note(std::uint32_t pickling, std::span<const Memo::Entry> entries, PyObject* own_classes) {
  const auto attributes = class_attributes(entries, own_classes);
  const auto meets_others = [&](const Memo::Entry& entry) {
    return entry.counts && PyType_Check(entry.object) == 0 &&
           !attributes.contains(reinterpret_cast<std::uintptr_t>(entry.object));
  };
  make_room(static_cast<std::size_t>(std::ranges::count_if(entries, meets_others)));
  for (const auto& entry : entries) {
    if (!meets_others(entry)) continue;
    const auto id = reinterpret_cast<std::uintptr_t>(entry.object);
    const auto at = place(id);
    if (objects_[at] == id) continue;
    objects_[at] = id;
    owners_[at] = pickling;
    ++count_;
  }
}

std::optional<std::uint32_t> Watch::find(PyObject* object) const {
  if (count_ == 0) return std::nullopt;
  const auto at = place(reinterpret_cast<std::uintptr_t>(object));
  return objects_[at] == 0 ? std::nullopt : std::optional(owners_[at]);
}

std::size_t Watch::place(std::uintptr_t object) const {
  const std::size_t mask = objects_.size() - 1;
  std::size_t at = hash_of(object) & mask;
  while (objects_[at] != 0 && objects_[at] != object) at = (at + 1) & mask;
  return at;
}

void Watch::make_room(std::size_t more) {
  const std::size_t needed = std::bit_ceil((count_ + more) * 3 / 2 + 1);
  if (needed <= objects_.size()) return;
  const auto objects = std::exchange(objects_, std::vector<std::uintptr_t>(needed));
  const auto owners = std::exchange(owners_, std::vector<std::uint32_t>(needed));
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (objects[i] == 0) continue;
    const auto at = place(objects[i]);
    objects_[at] = objects[i];
    owners_[at] = owners[i];
  }
}

std::vector<SharedMemory> shared_memory(const Owned& owned) {
  std::vector<Tenancy> tenancies;
  for (const auto& memory : owned.memory) tenancies.push_back({.memory = memory});
  std::vector<SharedMemory> found;
  for (const auto& region : regions_of(std::move(tenancies))) {
    const auto& tenants = region.tenants;
    const auto is = [](Tenant tenant) {
      return [tenant](const Tenancy& each) { return each.memory.tenant == tenant; };
    };
    if (tenants.size() < 2 || std::ranges::all_of(tenants, is(Tenant::kTensor))) continue;
    const auto bytes = std::ranges::find_if(tenants, is(Tenant::kBytes));
    found.push_back({.begin = region.begin,
                     .end = region.end,
                     .bytes = bytes == tenants.end() ? 0 : bytes->memory.object});
  }
  return found;
}

std::vector<std::size_t> components(std::span<const Owned* const> sets, std::size_t changed) {
  UnionFind labels(sets.size());
  join_by_objects(sets, changed, labels);
  join_by_memory(sets, changed, labels);
  return labels_of(labels, sets.size());
}

}  // namespace banyan
