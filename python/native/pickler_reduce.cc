// Pickling of objects whose types say how they are pickled, or that are treated specially here.

#include <algorithm>
#include <array>
#include <utility>

#include "pickler.h"

namespace banyan {
namespace {

constexpr int kSameObjectMax = 100;
// Frames. With fewer of them, nobody looks for constructors whose arguments contain the object.
constexpr std::size_t kDeep = 4096;
constexpr int kAnswerDepth = 4;  // The depth of containers in a reducer's answer that is searched.

// Whether a class has this attribute from its base.
bool inherits(PyTypeObject* type, PyTypeObject& base, const char* name) {
  const auto own = Object::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), name));
  const auto its = Object::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&base), name));
  PyErr_Clear();
  return own.get() == its.get();
}

// Whether object.__reduce_ex__ is used for instances of a type, so that the answer has only what they refer
// to themselves.
bool reduces_as_object(PyTypeObject* type) {
  if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0) return false;
  if (PyType_IsSubtype(type, &PyList_Type) != 0 && !inherits(type, PyList_Type, "__iter__")) return false;
  if (PyType_IsSubtype(type, &PyDict_Type) != 0 && !inherits(type, PyDict_Type, "items")) return false;
  return std::ranges::all_of(
      std::to_array({"__reduce_ex__", "__reduce__", "__getstate__", "__getnewargs__", "__getnewargs_ex__"}),
      [&](const char* name) { return inherits(type, PyBaseObject_Type, name); });
}

// Whether an instance has nothing but its __dict__.
bool has_only_attributes(PyTypeObject* type) {
  if (type->tp_itemsize != 0) return false;
  auto size = PyBaseObject_Type.tp_basicsize;
  if (type->tp_dictoffset > 0) size += static_cast<Py_ssize_t>(sizeof(PyObject*));
  if (type->tp_weaklistoffset > 0) size += static_cast<Py_ssize_t>(sizeof(PyObject*));
  return type->tp_basicsize == size;
}

PyObject* reduce_item(PyObject* reduced, Py_ssize_t at) {
  if (at >= PyTuple_GET_SIZE(reduced)) return nullptr;
  PyObject* item = PyTuple_GET_ITEM(reduced, at);
  return item == Py_None ? nullptr : item;
}

Object of_module(const char* module, const char* name) {
  const auto found = Object::steal(checked(PyImport_ImportModule(module)));
  return Object::steal(checked(PyObject_GetAttrString(found.get(), name)));
}

// A reference that is never released. It is for modules that live as long as the interpreter.
PyObject* constant(const char* module, const char* name) { return of_module(module, name).release(); }

bool is_collection(PyTypeObject* type, const char* name) {
  return of_module("collections", name).get() == reinterpret_cast<PyObject*>(type);
}

// The phases of an object that is pickled by the answer of __reduce_ex__.
enum Phase : Py_ssize_t { kCallee, kArguments, kKeywords, kMake, kItems, kPairs, kState, kSetter, kBuild };

}  // namespace

void Pickler::refuse(const char* why) {
  static PyObject* const error = constant("pickle", "PicklingError");
  raise_error(error, why);
}

const Pickler::Treatment& Pickler::treatment(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  const auto known = treatments_.find(type);
  if (known != treatments_.end()) return known->second;
  const auto answer = Object::steal(checked(PyObject_CallOneArg(hooks_.treat, object)));
  PyObject* reducer = nullptr;
  long sharing = 0;
  int direct = 0;
  if (PyArg_ParseTuple(answer.get(), "Olp", &reducer, &sharing, &direct) == 0) throw PythonError{};
  Treatment how{.sharing = static_cast<Sharing>(sharing), .direct = direct != 0};
  if (reducer != Py_None) {
    how.reducer = Object::share(reducer);
  } else if (reduces_as_object(type)) {
    how.direct = true;
    if (has_only_attributes(type)) how.kind = Kind::kInstance;
  } else if (is_collection(type, "Counter")) {
    how.kind = Kind::kCounter;
  } else if (is_collection(type, "defaultdict")) {
    how.kind = Kind::kDefaultDict;
  } else {
    how.direct = is_collection(type, "deque") || is_collection(type, "OrderedDict");
  }
  return treatments_.emplace(type, std::move(how)).first->second;
}

bool Pickler::counts(const Treatment& how, PyObject* object) {
  if (how.sharing != Sharing::kAsk) return how.sharing == Sharing::kCount;
  const auto answer = Object::steal(checked(PyObject_CallOneArg(hooks_.classify, object)));
  return PyObject_IsTrue(answer.get()) == 1;
}

bool Pickler::save_other(Frame frame) {
  PyObject* object = frame.object.get();  // Python code called below may remove it from its container.
  const Treatment& how = treatment(object);
  frame.kind = how.kind;
  if (how.kind != Kind::kReduce) return push(std::move(frame));
  if (how.reducer) {
    frame.rest = Object::steal(checked(PyObject_CallOneArg(how.reducer.get(), object)));
    if (frame.rest.get() == Py_NotImplemented) frame.rest = {};
  }
  if (!frame.rest) frame.rest = Object::steal(checked(PyObject_CallMethod(object, "__reduce_ex__", "i", 5)));
  return save_reduced(std::move(frame), how.direct);
}

// Saves an object whose frame has the answer of its reducer or of __reduce_ex__. `direct` is that of
// its Treatment.
bool Pickler::save_reduced(Frame frame, bool direct) {
  PyObject* object = frame.object.get();
  PyObject* reduced = frame.rest.get();
  if (PyUnicode_Check(reduced)) return save_global(object, reduced), true;
  if (!PyTuple_Check(reduced)) refuse("__reduce__ must return a string or tuple");
  const auto size = PyTuple_GET_SIZE(reduced);
  if (size < 2 || size > 6 || PyCallable_Check(PyTuple_GET_ITEM(reduced, 0)) == 0 ||
      !PyTuple_Check(PyTuple_GET_ITEM(reduced, 1)))
    refuse("__reduce__ must return (callable, arguments, ...)");
  if (!remember_all_ && !direct && !remembered(reduced, kAnswerDepth)) throw Forgotten{};
  guard_cycle(object);
  frame.sole = frame.made = false;  // Python code has seen it, and may have kept references to it.
  return push(std::move(frame));
}

// Whether each container that the object leads to is remembered, or was made for the answer and is
// no one else's.
bool Pickler::remembered(PyObject* object, int depth) {
  PyTypeObject* type = Py_TYPE(object);
  if (type == &PyUnicode_Type || type == &PyLong_Type || type == &PyFloat_Type || object == Py_None ||
      type == &PyBool_Type || type == &PyBytes_Type || type == &PyByteArray_Type ||
      type == &PyPickleBuffer_Type || type == hooks_.apart)
    return true;
  if (type == &PyTuple_Type && PyTuple_GET_SIZE(object) == 0) return true;
  const bool fresh = depth > 0 && Py_REFCNT(object) == 1;
  if (type == &PyTuple_Type || type == &PyList_Type) {
    PyObject** items = PySequence_Fast_ITEMS(object);
    return fresh && std::all_of(items, items + Py_SIZE(object),
                                [&](PyObject* item) { return remembered(item, depth - 1); });
  }
  if (type == &PyDict_Type) {
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    Py_ssize_t at = 0;
    while (fresh && PyDict_Next(object, &at, &key, &value) != 0)
      if (!remembered(key, depth - 1) || !remembered(value, depth - 1)) return false;
    return fresh;
  }
  if (type == &PySet_Type || type == &PyFrozenSet_Type || PyIter_Check(object) != 0) return false;
  const Treatment& how = treatment(object);
  return how.kind == Kind::kReduce && !(how.direct && Py_REFCNT(object) == 1);
}

// Raises an error for an object that the arguments of its own constructor contain, without a list or an
// attribute in between.
void Pickler::guard_cycle(PyObject* object) {
  if (frames_.size() > kDeep && ++making_[object] > kSameObjectMax)
    raise_error(PyExc_RecursionError, "its constructor's arguments contain it");
}

// Counter(dict), where the dict has the counter's items.
void Pickler::advance_counter(Frame& frame) {
  PyObject* object = frame.object.get();
  if (frame.at == 0) {
    frame.at = 1;
    save_global(reinterpret_cast<PyObject*>(Py_TYPE(object)), nullptr);
    stream_.put(Op::kEmptyDict);
    stream_.put(Op::kMemoize);
    memo_.pass();
    if (!fill_dict({.object = Object::share(object), .made = frame.made})) return;
  }
  stream_.put(Op::kTuple1);
  stream_.put(Op::kReduce);
  memoize_made(frame, true);
  frames_.pop_back();
}

// defaultdict(default_factory), and then the items.
void Pickler::advance_default_dict(Frame& frame) {
  static PyObject* const name = PyUnicode_InternFromString("default_factory");
  PyObject* object = frame.object.get();
  if (frame.at == 0) {
    save_global(reinterpret_cast<PyObject*>(Py_TYPE(object)), nullptr);
    frame.rest = Object::steal(checked(PyObject_GetAttr(object, name)));
    frame.at = frame.rest.get() == Py_None ? 2 : 1;
    if (frame.at == 1 && !save(frame.rest.get())) return;
  }
  stream_.put(frame.at == 1 ? Op::kTuple1 : Op::kEmptyTuple);
  stream_.put(Op::kReduce);
  if (!memoize_made(frame, true)) return frames_.pop_back();
  frame.at = 0;
  frame.count = PyDict_GET_SIZE(object);
  frame.kind = Kind::kDict;
}

void Pickler::advance_reduce(Frame& frame) {
  if (frame.at < kItems && !reduce_make(frame)) return;
  if (frame.at == kItems && !reduce_items(frame)) return;
  if (frame.at == kPairs && !reduce_pairs(frame)) return;
  if (!reduce_state(frame)) return;
  frames_.pop_back();
}

// Writes the call that makes the object. The arguments of NEWOBJ are (class, *arguments), those of NEWOBJ_EX
// (class, arguments, keywords).
bool Pickler::reduce_make(Frame& frame) {
  static PyObject* const new_object = constant("copyreg", "__newobj__");
  static PyObject* const new_object_ex = constant("copyreg", "__newobj_ex__");
  PyObject* object = frame.object.get();
  PyObject* callee = PyTuple_GET_ITEM(frame.rest.get(), 0);
  PyObject* arguments = PyTuple_GET_ITEM(frame.rest.get(), 1);
  const auto count = PyTuple_GET_SIZE(arguments);
  const bool is_new = callee == new_object && count > 0;
  const bool is_new_ex = callee == new_object_ex && count == 3;
  if (frame.at == kCallee) {
    frame.at = kArguments;
    if (!save(is_new || is_new_ex ? PyTuple_GET_ITEM(arguments, 0) : callee)) return false;
  }
  if (frame.at == kArguments) {
    frame.at = is_new_ex ? kKeywords : kMake;
    if (is_new_ex) {
      if (!save(PyTuple_GET_ITEM(arguments, 1), {.references = 1, .made = true})) return false;
    } else {
      const Py_ssize_t first = is_new ? 1 : 0;
      const bool made = is_sole(arguments, 1);
      if (count - first > 3) stream_.put(Op::kMark);
      return push({.kind = Kind::kTuple,
                   .object = Object::share(arguments),
                   .at = first,
                   .count = count - first,
                   .argument = true,
                   .made = made});
    }
  }
  if (frame.at == kKeywords) {
    frame.at = kMake;
    if (!save(PyTuple_GET_ITEM(arguments, 2), {.references = 1, .made = true})) return false;
  }
  stream_.put(is_new ? Op::kNewObject : is_new_ex ? Op::kNewObjectEx : Op::kReduce);
  frame.at = kItems;
  memoize_made(frame, counts(treatment(object), object));
  return true;
}

bool Pickler::reduce_items(Frame& frame) {
  PyObject* items = reduce_item(frame.rest.get(), 3);
  if (items != nullptr) {
    if (!frame.pending) frame.pending = Object::steal(checked(PyObject_GetIter(items)));
    while (const auto item = Object::steal(PyIter_Next(frame.pending.get()))) {
      begin_item(frame, Op::kAppends);
      if (!save(item.get(), {.references = 1, .made = true})) return false;
    }
    if (PyErr_Occurred() != nullptr) throw PythonError{};
    end_batch(frame, Op::kAppends);
    frame.pending = {};
  }
  frame.at = kPairs;
  return true;
}

bool Pickler::reduce_pairs(Frame& frame) {
  PyObject* items = reduce_item(frame.rest.get(), 4);
  if (items != nullptr) {
    if (!frame.pending) frame.pending = Object::steal(checked(PyObject_GetIter(items)));
    while (const auto item = Object::steal(PyIter_Next(frame.pending.get()))) {
      if (!PyTuple_Check(item.get()) || PyTuple_GET_SIZE(item.get()) != 2)
        refuse("dict items iterator must return 2-tuples");
      begin_item(frame, Op::kSetItems);
      // Key and value are saved like the items of a tuple that is not made: they are two more items on the
      // reader's stack.
      if (!push({.kind = Kind::kPair, .object = Object::share(item.get()), .count = 2, .made = true}))
        return false;
    }
    if (PyErr_Occurred() != nullptr) throw PythonError{};
    end_batch(frame, Op::kSetItems);
    frame.pending = {};
  }
  frame.at = kState;
  return true;
}

bool Pickler::reduce_state(Frame& frame) {
  PyObject* state = reduce_item(frame.rest.get(), 2);
  PyObject* setter = reduce_item(frame.rest.get(), 5);
  if (state == nullptr) return true;
  if (frame.at == kState) {
    frame.at = kSetter;
    if (setter != nullptr && !save(setter)) return false;
  }
  if (frame.at == kSetter) {
    frame.at = kBuild;
    if (setter != nullptr) save(frame.object.get());  // The memo has it by now, so this writes a reference.
    if (!save(state, {.references = 1, .made = true})) return false;
  }
  if (setter == nullptr) {
    stream_.put(Op::kBuild);
  } else {
    stream_.put(Op::kTuple2);
    stream_.put(Op::kReduce);
    stream_.put(Op::kPop);
  }
  return true;
}

}  // namespace banyan
