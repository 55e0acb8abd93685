#include "sharing.h"

#include <algorithm>
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

}  // namespace

ObjectIds owned_objects(Memo& memo, PyObject* own_classes) {
  const auto& entries = memo.outliving();
  const auto attributes = class_attributes(entries, own_classes);
  ObjectIds ids;
  for (const auto& entry : entries) {
    const auto id = reinterpret_cast<std::uintptr_t>(entry.object);
    if (entry.object != nullptr && entry.counts && !attributes.contains(id)) ids.push_back(id);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

std::vector<std::size_t> components(std::span<const ObjectIds* const> sets, std::size_t changed) {
  std::vector<std::pair<std::uintptr_t, std::size_t>> owners;
  for (std::size_t i = 0; i < changed; ++i)
    for (const auto id : *sets[i]) owners.emplace_back(id, i);
  std::sort(owners.begin(), owners.end());
  UnionFind labels(sets.size());
  for (std::size_t i = 1; i < owners.size(); ++i)
    if (owners[i].first == owners[i - 1].first) labels.join(owners[i].second, owners[i - 1].second);
  for (std::size_t i = changed; i < sets.size(); ++i) {
    const auto& ids = *sets[i];
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
  std::vector<std::size_t> result(sets.size());
  for (std::size_t i = 0; i < sets.size(); ++i) result[i] = labels.find(i);
  return result;
}

}  // namespace banyan
