#include "sharing.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "object.h"

namespace banyan {
namespace {

// Lists, sets and dicts that are attributes of the classes among `objects` or of their bases.
std::unordered_set<std::uintptr_t> class_attributes(const std::vector<Memo::Entry>& entries,
                                                    PyObject* own_classes) {
  std::unordered_set<std::uintptr_t> found;
  for (const auto& [object, counts] : entries) {
    if (object == nullptr || !PyType_Check(object)) continue;
    PyObject* bases = reinterpret_cast<PyTypeObject*>(object)->tp_mro;
    for (Py_ssize_t i = 0; bases != nullptr && i < PyTuple_GET_SIZE(bases); ++i) {
      PyObject* base = PyTuple_GET_ITEM(bases, i);
      const auto id = Object::steal(checked(PyLong_FromVoidPtr(base)));
      const int own = PySet_Contains(own_classes, id.get());
      if (own < 0) throw PythonError{};
      if (own != 0) continue;
      PyObject* key = nullptr;
      PyObject* value = nullptr;
      Py_ssize_t position = 0;
      while (PyDict_Next(reinterpret_cast<PyTypeObject*>(base)->tp_dict, &position, &key, &value))
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

// Memory that arrays and tensors lie in, each range with those that overlap, and who lies there.
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

// Whether some of `memory` lies in one of the ranges, which are ascending and apart.
bool lies_in(const std::vector<std::pair<std::uintptr_t, std::uintptr_t>>& ranges, const Memory& memory) {
  const auto at =
      std::ranges::upper_bound(ranges, memory.begin, {}, [](const auto& range) { return range.second; });
  return at != ranges.end() && at->first < memory.end;
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
  for (const auto& region : regions_of(std::move(tenancies))) {
    const auto first =
        std::ranges::find_if(region.tenants, [&](const Tenancy& each) { return each.set < changed; });
    if (first == region.tenants.end()) continue;
    for (const auto& each : region.tenants) labels.join(first->set, each.set);
  }
}

void join_by_objects(std::span<const Owned* const> sets, std::size_t changed, UnionFind& labels) {
  std::vector<std::pair<std::uintptr_t, std::size_t>> owners;
  for (std::size_t i = 0; i < changed; ++i)
    for (const auto id : sets[i]->ids) owners.emplace_back(id, i);
  std::sort(owners.begin(), owners.end());
  for (std::size_t i = 1; i < owners.size(); ++i)
    if (owners[i].first == owners[i - 1].first) labels.join(owners[i].second, owners[i - 1].second);
  for (std::size_t i = changed; i < sets.size(); ++i) {
    const auto& ids = sets[i]->ids;
    if (ids.size() < owners.size()) {
      for (const auto id : ids) {
        const auto at = std::lower_bound(owners.begin(), owners.end(), std::pair{id, std::size_t{0}});
        if (at != owners.end() && at->first == id) labels.join(at->second, i);
      }
    } else {
      for (const auto& [id, owner] : owners)
        if (std::binary_search(ids.begin(), ids.end(), id)) labels.join(owner, i);
    }
  }
}

}  // namespace

Owned owned_objects(Memo& memo, PyObject* own_classes, std::span<const Memory> memory) {
  const auto& entries = memo.outliving();
  const auto attributes = class_attributes(entries, own_classes);
  Owned owned;
  for (const auto& entry : entries) {
    const auto id = reinterpret_cast<std::uintptr_t>(entry.object);
    if (entry.object != nullptr && entry.counts && !attributes.contains(id)) owned.ids.push_back(id);
  }
  std::sort(owned.ids.begin(), owned.ids.end());
  std::ranges::copy_if(memory, std::back_inserter(owned.memory), [&](const Memory& each) {
    return std::ranges::binary_search(owned.ids, each.object);
  });
  return owned;
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
  std::vector<std::size_t> result(sets.size());
  for (std::size_t i = 0; i < sets.size(); ++i) result[i] = labels.find(i);
  return result;
}

}  // namespace banyan
