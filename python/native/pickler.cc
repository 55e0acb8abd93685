#include "pickler.h"

#include <array>
#include <utility>

#include "attributes.h"

namespace banyan {
namespace {

// Items between two marks, which the reader has to hold on its stack. It is large, so that inserting an item
// seldom moves a mark.
constexpr int kBatch = 1 << 20;

// How many items ahead one is fetched into the cache, because the items of a large value are spread
// over the memory.
constexpr Py_ssize_t kFar = 8;

// Fetches items of a list into the cache before their turn.
void fetch_ahead(PyObject* list, Py_ssize_t at) {
  constexpr Py_ssize_t kNear = 4;
  if (at + kFar >= PyList_GET_SIZE(list)) return;
  __builtin_prefetch(PyList_GET_ITEM(list, at + kFar));
  PyObject* near = PyList_GET_ITEM(list, at + kNear);
  if (PyTuple_CheckExact(near) && PyTuple_GET_SIZE(near) != 0)
    __builtin_prefetch(PyTuple_GET_ITEM(near, PyTuple_GET_SIZE(near) - 1));
}

// The same for a dict. The position that PyDict_Next takes is an index of entries.
void fetch_ahead(PyObject* dict, Py_ssize_t at, Py_ssize_t count) {
  constexpr Py_ssize_t kLarge = 4096;
  if (count < kLarge) return;
  Py_ssize_t ahead = at + kFar;
  PyObject* key = nullptr;
  PyObject* value = nullptr;
  if (PyDict_Next(dict, &ahead, &key, &value) == 0) return;
  __builtin_prefetch(key);
  __builtin_prefetch(value);
}

// The items of a set, if possible in an order that does not depend on how the set was filled.
Object items_of_set(PyObject* set) {
  auto items = Object::steal(checked(PySequence_List(set)));
  const auto count = PyList_GET_SIZE(items.get());
  if (count < 2) return items;
  PyTypeObject* type = Py_TYPE(PyList_GET_ITEM(items.get(), 0));
  if (type != &PyUnicode_Type && type != &PyLong_Type && type != &PyBytes_Type) return items;
  for (Py_ssize_t i = 1; i < count; ++i)
    if (Py_TYPE(PyList_GET_ITEM(items.get(), i)) != type) return items;
  if (PyList_Sort(items.get()) != 0) throw PythonError{};
  return items;
}

}  // namespace

void Pickler::whole(PyObject* value) {
  stream_.put(Op::kProto, std::uint8_t{5});
  run(value);
  stream_.put(Op::kStop);
}

void Pickler::begin() {
  if (stream_.size() != 0) return;
  stream_.put(Op::kProto, std::uint8_t{5});
  stream_.put(Op::kEmptyDict);
  stream_.put(Op::kMemoize);
  memo_.pass();
  stream_.put(Op::kMark);
}

void Pickler::add(PyObject* name, PyObject* value, const Watch* watch) {
  begin();
  save_text(name);
  watch_ = watch;
  run(value);
  watch_ = nullptr;
}

void Pickler::end() {
  begin();
  stream_.put(Op::kSetItems);
  stream_.put(Op::kStop);
}

void Pickler::run(PyObject* root) {
  reaches_.push_back({.entry = memo_.entries().size(), .sole = sole_.size()});
  save(root);
  while (!frames_.empty()) advance();
}

bool Pickler::save(PyObject* object, Way way) {
  PyTypeObject* type = Py_TYPE(object);
  if (type == &PyUnicode_Type) return save_text(object);
  if (type == &PyLong_Type) return save_int(object), true;
  if (type == &PyFloat_Type) return save_float(object), true;
  if (object == Py_None) return stream_.put(Op::kNone), true;
  if (type == &PyBool_Type) return stream_.put(object == Py_True ? Op::kTrue : Op::kFalse), true;
  if (type == &PyBytes_Type) return save_bytes(object);
  const bool sole = is_sole(object, way.references);
  if (!sole) {
    if (const auto* known = memo_.find(object)) return get(*known), true;
    if (watch_ != nullptr)
      if (const auto other = watch_->find(object)) throw Met{*other};
  }

  Frame frame{.object = Object::share(object), .sole = sole, .made = sole && way.made};
  if (!sole && hooks_.live_objects->contains(object)) {
    frame.rest = Object::steal(checked(PyObject_CallOneArg(hooks_.live, object)));
    if (frame.rest.get() != Py_NotImplemented) return save_reduced(std::move(frame), false);
    frame.rest = {};
  }
  if (type == &PyTuple_Type) {
    frame.kind = Kind::kTuple;
    frame.count = PyTuple_GET_SIZE(object);
    if (frame.count == 0) return stream_.put(Op::kEmptyTuple), true;
    if (frame.count > 3) stream_.put(Op::kMark);
    return push(std::move(frame));
  }
  if (type == &PyDict_Type) {
    if (object == hooks_.namespace_dict) return save_namespace(), true;
    stream_.put(Op::kEmptyDict);
    memoize(frame, true);
    return fill_dict(std::move(frame));
  }
  if (type == &PyList_Type) {
    frame.kind = Kind::kList;
    stream_.put(Op::kEmptyList);
    memoize(frame, true);
    return PyList_GET_SIZE(object) == 0 || push(std::move(frame));
  }
  if (type == &PySet_Type || type == &PyFrozenSet_Type) return save_set(std::move(frame));
  if (type == &PyByteArray_Type) return save_bytearray(object), true;
  if (type == &PyPickleBuffer_Type) return save_buffer(object), true;
  if (type == hooks_.apart) {
    stream_.put(Op::kNextBuffer);
    buffers_.push_back(Object::share(object));
    return true;
  }
  return save_other(std::move(frame));
}

bool Pickler::save_set(Frame frame) {
  PyObject* object = frame.object.get();
  if (PySet_GET_SIZE(object) >= kLargeSet) {
    const Treatment& how = treatment(object);
    if (how.reducer) {
      frame.rest = Object::steal(checked(PyObject_CallOneArg(how.reducer.get(), object)));
      if (frame.rest.get() != Py_NotImplemented) return save_reduced(std::move(frame), how.direct);
    }
  }
  frame.rest = items_of_set(object);
  if (Py_TYPE(object) == &PySet_Type) {
    frame.kind = Kind::kSet;
    stream_.put(Op::kEmptySet);
    memoize(frame, true);
  } else {
    frame.kind = Kind::kFrozenSet;
    stream_.put(Op::kMark);
  }
  return push(std::move(frame));
}

bool Pickler::fill_dict(Frame frame) {
  frame.kind = Kind::kDict;
  frame.at = 0;
  frame.count = PyDict_GET_SIZE(frame.object.get());
  return frame.count == 0 || push(std::move(frame));
}

// A weak reference may lead to an object as well.
bool Pickler::is_sole(PyObject* object, Py_ssize_t references) const {
  if (remember_all_ || Py_REFCNT(object) != references) return false;
  return Py_TYPE(object)->tp_weaklistoffset == 0 || *PyObject_GET_WEAKREFS_LISTPTR(object) == nullptr;
}

void Pickler::memoize(PyObject* object, bool counts) {
  stream_.put(Op::kMemoize);
  memo_.add(object, counts);
}

void Pickler::memoize(const Frame& frame, bool counts) {
  if (!frame.sole) return memoize(frame.object.get(), counts);
  stream_.put(Op::kMemoize);
  memo_.pass();
  if (counts && !frame.made) sole_.push_back(reinterpret_cast<std::uintptr_t>(frame.object.get()));
}

bool Pickler::memoize_made(const Frame& frame, bool counts) {
  if (const auto* known = met_meanwhile(frame)) {
    stream_.put(Op::kPop);
    get(*known);
    return false;
  }
  memoize(frame, counts);
  return true;
}

// The object was written meanwhile. Whatever refers to it by a single reference was then written twice, and
// as another object the second time.
const Memo::Entry* Pickler::met_meanwhile(const Frame& frame) const {
  const auto* known = frame.sole ? nullptr : memo_.find(frame.object.get());
  if (known != nullptr && !remember_all_) throw Forgotten{};
  return known;
}

void Pickler::get(const Memo::Entry& known) {
  const auto at = static_cast<std::size_t>(&known - memo_.entries().data());
  if (known.counts && at < reaches_.back().entry) reaches_.back().crossed.push_back(at);
  get(known.number);
}

void Pickler::get(std::uint32_t number) {
  if (number <= 0xff) {
    stream_.put(Op::kGet1, static_cast<std::uint8_t>(number));
  } else {
    stream_.put(Op::kGet4, number);
  }
}

bool Pickler::push(Frame frame) {
  frames_.push_back(std::move(frame));
  return false;
}

void Pickler::advance() {
  Frame& frame = frames_.back();
  switch (frame.kind) {
    case Kind::kList:
      return advance_list(frame);
    case Kind::kDict:
      return advance_dict(frame);
    case Kind::kTuple:
    case Kind::kPair:
      return advance_tuple(frame);
    case Kind::kSet:
    case Kind::kFrozenSet:
      return advance_set(frame);
    case Kind::kInstance:
      return advance_instance(frame);
    case Kind::kCounter:
      return advance_counter(frame);
    case Kind::kDefaultDict:
      return advance_default_dict(frame);
    case Kind::kReduce:
      return advance_reduce(frame);
  }
}

// In the functions below, a frame must not be touched after a save() that returned false: other frames lie on
// top of it then, and it may have been moved.

void Pickler::begin_item(Frame& frame, Op end) {
  if (frame.open == kBatch) end_batch(frame, end);
  if (frame.open++ == 0) stream_.put(Op::kMark);
}

void Pickler::end_batch(Frame& frame, Op end) {
  if (frame.open != 0) stream_.put(end);
  frame.open = 0;
}

void Pickler::advance_list(Frame& frame) {
  PyObject* list = frame.object.get();
  while (frame.at < PyList_GET_SIZE(list)) {
    fetch_ahead(list, frame.at);
    begin_item(frame, Op::kAppends);
    if (!save(PyList_GET_ITEM(list, frame.at++), {.references = 1, .made = frame.made})) return;
  }
  end_batch(frame, Op::kAppends);
  frames_.pop_back();
}

void Pickler::advance_dict(Frame& frame) {
  PyObject* dict = frame.object.get();
  for (;;) {
    if (frame.pending) {
      const Object value = std::move(frame.pending);
      if (!save(value.get(), {.references = 2, .made = frame.made})) return;
    }
    if (PyDict_GET_SIZE(dict) != frame.count)
      raise_error(PyExc_RuntimeError, "a dict changed while it was pickled");
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    fetch_ahead(dict, frame.at, frame.count);
    if (PyDict_Next(dict, &frame.at, &key, &value) == 0) break;
    begin_item(frame, Op::kSetItems);
    frame.pending = Object::share(value);
    if (!save(key, {.references = 1, .made = frame.made})) return;
  }
  end_batch(frame, Op::kSetItems);
  frames_.pop_back();
}

void Pickler::advance_tuple(Frame& frame) {
  PyObject* tuple = frame.object.get();
  while (frame.at < PyTuple_GET_SIZE(tuple)) {
    if (frame.at + kFar < PyTuple_GET_SIZE(tuple))
      __builtin_prefetch(PyTuple_GET_ITEM(tuple, frame.at + kFar));
    if (!save(PyTuple_GET_ITEM(tuple, frame.at++), {.references = 1, .made = frame.made})) return;
  }
  if (frame.kind == Kind::kPair) return frames_.pop_back();
  const auto* known = frame.argument ? nullptr : met_meanwhile(frame);
  if (known != nullptr) {  // The tuple contains itself, by way of a list.
    if (frame.count > 3) {
      stream_.put(Op::kPopMark);
    } else {
      for (Py_ssize_t i = 0; i < frame.count; ++i) stream_.put(Op::kPop);
    }
    get(*known);
  } else {
    static constexpr std::array kSmall{Op::kEmptyTuple, Op::kTuple1, Op::kTuple2, Op::kTuple3};
    stream_.put(frame.count > 3 ? Op::kTuple : kSmall[static_cast<std::size_t>(frame.count)]);
    if (!frame.argument) memoize(frame, false);
  }
  frames_.pop_back();
}

void Pickler::advance_set(Frame& frame) {
  PyObject* items = frame.rest.get();
  const bool frozen = frame.kind == Kind::kFrozenSet;
  while (frame.at < PyList_GET_SIZE(items)) {
    fetch_ahead(items, frame.at);
    if (!frozen) begin_item(frame, Op::kAddItems);
    if (!save(PyList_GET_ITEM(items, frame.at++), {.references = 2, .made = frame.made})) return;
  }
  if (!frozen) {
    end_batch(frame, Op::kAddItems);
  } else if (const auto* known = met_meanwhile(frame)) {
    stream_.put(Op::kPopMark);
    get(*known);
  } else {
    stream_.put(Op::kFrozenSet);
    memoize(frame, false);
  }
  frames_.pop_back();
}

void Pickler::advance_instance(Frame& frame) {
  PyObject* object = frame.object.get();
  if (frame.at == 0) {
    frame.at = 1;
    if (!save(reinterpret_cast<PyObject*>(Py_TYPE(object)))) return;
  }
  if (frame.at == 1) {
    stream_.put(Op::kEmptyTuple);
    stream_.put(Op::kNewObject);
    if (!memoize_made(frame, counts(treatment(object), object)))  // The class may refer to the instance.
      return frames_.pop_back();
    frame.rest = attributes_of(object);
    PyObject* attributes = frame.rest.get();
    if (attributes == nullptr || PyObject_Size(attributes) == 0) return frames_.pop_back();
    frame.at = 2;
    if (PyDict_Check(attributes)) {
      if (!save(attributes, {.references = 2, .made = frame.made})) return;
    } else {  // Nobody has asked for a __dict__.
      stream_.put(Op::kEmptyDict);
      stream_.put(Op::kMemoize);
      memo_.pass();
      frame.count = PyTuple_GET_SIZE(attributes);
    }
  }
  while (frame.at - 2 < frame.count) {
    begin_item(frame, Op::kSetItems);
    if (!save(PyTuple_GET_ITEM(frame.rest.get(), frame.at++ - 2), {.references = 2, .made = frame.made}))
      return;
  }
  end_batch(frame, Op::kSetItems);
  stream_.put(Op::kBuild);
  frames_.pop_back();
}

}  // namespace banyan
