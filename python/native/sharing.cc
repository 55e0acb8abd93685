#include "sharing.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>
#include <utility>

namespace banyan {
namespace {

constexpr int kPassesMax = 8;

std::vector<PyObject*> take_objects(PyObject* memo) {
  std::vector<PyObject*> objects;
  objects.reserve(static_cast<std::size_t>(PyDict_Size(memo)));
  PyObject* key = nullptr;
  PyObject* entry = nullptr;
  Py_ssize_t position = 0;
  while (PyDict_Next(memo, &position, &key, &entry)) objects.push_back(Py_NewRef(PyTuple_GET_ITEM(entry, 1)));
  PyDict_Clear(memo);
  return objects;
}

bool drop_temporaries(std::vector<PyObject*>& objects) {
  bool dropped = false;
  for (auto& object : objects) {
    if (object != nullptr && Py_REFCNT(object) == 1) {
      Py_CLEAR(object);
      dropped = true;
    }
  }
  return dropped;
}

// The number that `classify` answers, or -1 with the error set.
long ask(PyObject* classify, PyObject* object) {
  PyObject* answer = PyObject_CallOneArg(classify, object);
  if (answer == nullptr) return -1;
  const long number = PyLong_AsLong(answer);
  Py_DECREF(answer);
  return number;
}

long sharing_of_type(PyObject* object, PyObject* policy, PyObject* classify) {
  auto* type = reinterpret_cast<PyObject*>(Py_TYPE(object));
  if (PyObject* known = PyDict_GetItemWithError(policy, type); known != nullptr) return PyLong_AsLong(known);
  if (PyErr_Occurred() != nullptr) return -1;
  const long sharing = ask(classify, object);
  if (sharing < 0) return -1;
  PyObject* number = PyLong_FromLong(sharing);
  const int stored = number == nullptr ? -1 : PyDict_SetItem(policy, type, number);
  Py_XDECREF(number);
  return stored < 0 ? -1 : sharing;
}

// Lists, sets and dicts that are attributes of the classes among `objects` or of their bases.
std::unordered_set<std::uintptr_t> class_attributes(const std::vector<PyObject*>& objects,
                                                    PyObject* own_classes) {
  std::unordered_set<std::uintptr_t> found;
  for (PyObject* object : objects) {
    if (object == nullptr || !PyType_Check(object)) continue;
    PyObject* bases = reinterpret_cast<PyTypeObject*>(object)->tp_mro;
    for (Py_ssize_t i = 0; bases != nullptr && i < PyTuple_GET_SIZE(bases); ++i) {
      PyObject* base = PyTuple_GET_ITEM(bases, i);
      PyObject* id = PyLong_FromVoidPtr(base);
      const int own = id == nullptr ? -1 : PySet_Contains(own_classes, id);
      Py_XDECREF(id);
      if (own < 0) return found;
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

ObjectIds owned_objects(PyObject* memo, PyObject* policy, PyObject* classify, PyObject* own_classes) {
  auto objects = take_objects(memo);
  // Parents come before and after their children in a memo (a tuple follows its items), hence both
  // directions.
  for (int pass = 0; pass < kPassesMax && drop_temporaries(objects); ++pass)
    std::reverse(objects.begin(), objects.end());
  const auto attributes = class_attributes(objects, own_classes);
  ObjectIds ids;
  bool failed = PyErr_Occurred() != nullptr;
  for (PyObject* object : objects) {
    if (object == nullptr || failed) continue;
    if (attributes.contains(reinterpret_cast<std::uintptr_t>(object))) continue;
    long sharing = sharing_of_type(object, policy, classify);
    if (sharing == static_cast<long>(Sharing::kAsk)) sharing = ask(classify, object);
    failed = sharing < 0;
    if (sharing > 0) ids.push_back(reinterpret_cast<std::uintptr_t>(object));
  }
  for (PyObject* object : objects) Py_XDECREF(object);
  if (failed) return {};
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
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
