#include "pickler.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

namespace banyan {
namespace {

// Items between marks: what the reader's stack has to hold. Large, so that an insertion seldom moves a mark.
constexpr int kBatch = 1 << 20;
constexpr int kSameObjectMax = 100;

// What `object` says about its class where a class says nothing else.
bool inherits_from_object(PyTypeObject* type, const char* name) {
  const auto own = Object::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), name));
  const auto base =
      Object::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyBaseObject_Type), name));
  PyErr_Clear();
  return own.get() == base.get();
}

// An instance's __dict__ is all it has, and object.__reduce_ex__ would say just that.
bool is_plain(PyTypeObject* type) {
  if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0 || type->tp_itemsize != 0) return false;
  auto size = PyBaseObject_Type.tp_basicsize;
  if (type->tp_dictoffset > 0) size += static_cast<Py_ssize_t>(sizeof(PyObject*));
  if (type->tp_weaklistoffset > 0) size += static_cast<Py_ssize_t>(sizeof(PyObject*));
  if (type->tp_basicsize != size) return false;
  return std::ranges::all_of(
      std::to_array({"__reduce_ex__", "__reduce__", "__getstate__", "__getnewargs__", "__getnewargs_ex__"}),
      [&](const char* name) { return inherits_from_object(type, name); });
}

// The items in an order that does not depend on how the set came about, where they have one.
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

[[noreturn]] void raise(PyObject* type, const char* text) {
  PyErr_SetString(type, text);
  throw PythonError{};
}

PyObject* reduce_item(PyObject* reduced, Py_ssize_t at) {
  if (at >= PyTuple_GET_SIZE(reduced)) return nullptr;
  PyObject* item = PyTuple_GET_ITEM(reduced, at);
  return item == Py_None ? nullptr : item;
}

PyObject* pickle_error() {
  static PyObject* const error = [] {
    const auto module = Object::steal(PyImport_ImportModule("pickle"));
    return PyObject_GetAttrString(module.get(), "PicklingError");
  }();
  return error;
}

PyObject* of_copyreg(const char* name) {
  const auto module = Object::steal(PyImport_ImportModule("copyreg"));
  return PyObject_GetAttrString(module.get(), name);
}

// Phases of a reduced object.
enum Phase : Py_ssize_t { kCallee, kArguments, kKeywords, kMake, kItems, kPairs, kState, kSetter, kBuild };

}  // namespace

void Pickler::dump(PyObject* root) {
  root_ = root;
  stream_.put(Op::kProto, std::uint8_t{5});
  save(root);
  while (!frames_.empty()) advance();
  stream_.put(Op::kStop);
}

bool Pickler::save(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  if (type == &PyUnicode_Type) return save_text(object);
  if (type == &PyLong_Type) return save_int(object), true;
  if (type == &PyFloat_Type) return save_float(object), true;
  if (object == Py_None) return stream_.put(Op::kNone), true;
  if (type == &PyBool_Type) return stream_.put(object == Py_True ? Op::kTrue : Op::kFalse), true;
  if (type == &PyBytes_Type) return save_bytes(object);
  if (const auto known = memo_.find(object)) return get(*known), true;

  if (type == &PyTuple_Type) {
    const auto count = PyTuple_GET_SIZE(object);
    if (count == 0) return stream_.put(Op::kEmptyTuple), true;
    if (count > 3) stream_.put(Op::kMark);
    return push({.kind = Kind::kTuple, .object = Object::share(object), .count = count});
  }
  if (type == &PyDict_Type) {
    if (object == hooks_.namespace_dict) return save_namespace(), true;
    stream_.put(Op::kEmptyDict);
    memoize(object, object != root_);
    const auto count = PyDict_GET_SIZE(object);
    if (count == 0) return true;
    return push({.kind = Kind::kDict, .object = Object::share(object), .count = count});
  }
  if (type == &PyList_Type) {
    stream_.put(Op::kEmptyList);
    memoize(object, true);
    if (PyList_GET_SIZE(object) == 0) return true;
    return push({.kind = Kind::kList, .object = Object::share(object)});
  }
  if (type == &PySet_Type) {
    stream_.put(Op::kEmptySet);
    memoize(object, true);
    return push({.kind = Kind::kSet, .object = Object::share(object), .rest = items_of_set(object)});
  }
  if (type == &PyFrozenSet_Type) {
    stream_.put(Op::kMark);
    return push({.kind = Kind::kFrozenSet, .object = Object::share(object), .rest = items_of_set(object)});
  }
  if (type == &PyByteArray_Type) {
    const std::string_view bytes(PyByteArray_AS_STRING(object),
                                 static_cast<std::size_t>(PyByteArray_GET_SIZE(object)));
    if (reinterpret_cast<PyByteArrayObject*>(object)->ob_exports > 0) lent_.push_back(object);
    if (bytes.size() >= kApart) {
      put_apart(type, object);
    } else {
      stream_.put(Op::kByteArray8, std::uint64_t{bytes.size()});
      stream_.put(bytes);
    }
    return memoize(object, true), true;
  }
  if (type == &PyPickleBuffer_Type) return save_buffer(object), true;
  if (type == hooks_.apart) {
    stream_.put(Op::kNextBuffer);
    buffers_.push_back(Object::share(object));
    return true;
  }
  return save_other(object);
}

bool Pickler::save_text(PyObject* text) {
  if (const auto known = memo_.find_value(text)) return get(*known), true;
  const auto utf8 = utf8_of(text);
  const auto bytes = utf8.bytes;
  if (bytes.size() <= std::numeric_limits<std::uint8_t>::max()) {
    stream_.put(Op::kShortUnicode, static_cast<std::uint8_t>(bytes.size()));
  } else if (bytes.size() <= std::numeric_limits<std::uint32_t>::max()) {
    stream_.put(Op::kUnicode, static_cast<std::uint32_t>(bytes.size()));
  } else {
    stream_.put(Op::kUnicode8, std::uint64_t{bytes.size()});
  }
  stream_.put(bytes);
  stream_.put(Op::kMemoize);
  memo_.add_value(text);
  return true;
}

bool Pickler::save_bytes(PyObject* bytes) {
  if (const auto known = memo_.find_value(bytes)) return get(*known), true;
  const std::string_view view(PyBytes_AS_STRING(bytes), static_cast<std::size_t>(PyBytes_GET_SIZE(bytes)));
  if (view.size() >= kApart) {
    put_apart(&PyBytes_Type, bytes);
  } else {
    put_bytes(view);
  }
  stream_.put(Op::kMemoize);
  memo_.add_value(bytes);
  return true;
}

void Pickler::put_bytes(std::string_view bytes) {
  if (bytes.size() <= std::numeric_limits<std::uint8_t>::max()) {
    stream_.put(Op::kShortBytes, static_cast<std::uint8_t>(bytes.size()));
  } else {
    stream_.put(Op::kBytes8, std::uint64_t{bytes.size()});
  }
  stream_.put(bytes);
}

/// type(next buffer): a copy of its own when it is loaded.
void Pickler::put_apart(PyTypeObject* type, PyObject* object) {
  save_global(reinterpret_cast<PyObject*>(type), nullptr);
  stream_.put(Op::kNextBuffer);
  stream_.put(Op::kTuple1);
  stream_.put(Op::kReduce);
  buffers_.push_back(Object::share(object));
}

void Pickler::save_int(PyObject* number) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
  if (overflow == 0) {
    if (value >= 0 && value <= 0xff) return stream_.put(Op::kInt1, static_cast<std::uint8_t>(value));
    if (value >= 0 && value <= 0xffff) return stream_.put(Op::kInt2, static_cast<std::uint16_t>(value));
    if (value == static_cast<std::int32_t>(value))
      return stream_.put(Op::kInt4, static_cast<std::int32_t>(value));
    const auto bits = 65 - std::countl_zero(static_cast<std::uint64_t>(value < 0 ? ~value : value));
    const auto size = static_cast<std::size_t>(bits + 7) / 8;
    stream_.put(Op::kLong1, static_cast<std::uint8_t>(size));
    return stream_.put(std::string_view(reinterpret_cast<const char*>(&value), size));
  }
  const auto size = _PyLong_NumBits(number) / 8 + 1;
  std::vector<unsigned char> bytes(size);
  if (_PyLong_AsByteArray(reinterpret_cast<PyLongObject*>(number), bytes.data(), size, 1, 1) != 0)
    throw PythonError{};
  if (size <= 0xff) {
    stream_.put(Op::kLong1, static_cast<std::uint8_t>(size));
  } else {
    stream_.put(Op::kLong4, static_cast<std::int32_t>(size));
  }
  stream_.put(std::string_view(reinterpret_cast<const char*>(bytes.data()), size));
}

void Pickler::save_float(PyObject* number) {
  const auto bits = std::bit_cast<std::uint64_t>(PyFloat_AS_DOUBLE(number));
  stream_.put(Op::kFloat, __builtin_bswap64(bits));
}

void Pickler::save_buffer(PyObject* buffer) {
  const Py_buffer* view = PyPickleBuffer_GetBuffer(buffer);
  if (view == nullptr) throw PythonError{};
  if (PyBuffer_IsContiguous(view, 'A') == 0) raise(pickle_error(), "a buffer is not contiguous");
  const std::string_view bytes(static_cast<const char*>(view->buf), static_cast<std::size_t>(view->len));
  if (bytes.size() >= kApart) {
    stream_.put(Op::kNextBuffer);
    if (view->readonly != 0) stream_.put(Op::kReadonlyBuffer);
    buffers_.push_back(Object::share(buffer));
  } else if (view->readonly != 0) {
    put_bytes(bytes);
  } else {
    stream_.put(Op::kByteArray8, std::uint64_t{bytes.size()});
    stream_.put(bytes);
  }
}

void Pickler::save_global(PyObject* object, PyObject* name) {
  if (const auto known = memo_.find(object)) return get(*known);
  const auto found = Object::steal(checked(
      PyObject_CallFunctionObjArgs(hooks_.locate, object, name == nullptr ? Py_None : name, nullptr)));
  if (!PyTuple_CheckExact(found.get()) || PyTuple_GET_SIZE(found.get()) != 2)
    raise(PyExc_TypeError, "locate answers (module, name)");
  save_text(PyTuple_GET_ITEM(found.get(), 0));
  save_text(PyTuple_GET_ITEM(found.get(), 1));
  stream_.put(Op::kStackGlobal);
  memoize(object, false);
}

void Pickler::save_namespace() {
  save_global(hooks_.live_namespace, nullptr);
  stream_.put(Op::kEmptyTuple);
  stream_.put(Op::kReduce);
  memoize(hooks_.namespace_dict, false);
}

bool Pickler::save_other(PyObject* object) {
  const auto keep = Object::share(object);  // Python code runs below: it may drop the container's reference
  const Treatment& how = treatment(object);
  if (how.plain) return push({.kind = Kind::kInstance, .object = Object::share(object)});
  Object reduced;
  if (how.reducer) {
    reduced = Object::steal(checked(PyObject_CallOneArg(how.reducer.get(), object)));
    if (reduced.get() == Py_NotImplemented) reduced = {};
  }
  if (!reduced) {
    reduced = Object::steal(checked(PyObject_CallMethod(object, "__reduce_ex__", "i", 5)));
  }
  if (PyUnicode_Check(reduced.get())) return save_global(object, reduced.get()), true;
  if (!PyTuple_Check(reduced.get())) raise(pickle_error(), "__reduce__ must return a string or tuple");
  const auto size = PyTuple_GET_SIZE(reduced.get());
  if (size < 2 || size > 6 || PyCallable_Check(PyTuple_GET_ITEM(reduced.get(), 0)) == 0 ||
      !PyTuple_Check(PyTuple_GET_ITEM(reduced.get(), 1)))
    raise(pickle_error(), "__reduce__ must return (callable, arguments, ...)");
  guard_cycle(object);
  return push({.kind = Kind::kReduce, .object = Object::share(object), .rest = std::move(reduced)});
}

/// An object that its own constructor's arguments need, without a list or an attribute in between.
void Pickler::guard_cycle(PyObject* object) {
  if (++making_[object] > kSameObjectMax)
    raise(PyExc_RecursionError, "its constructor's arguments contain it");
}

bool Pickler::push(Frame frame) {
  frames_.push_back(std::move(frame));
  return false;
}

void Pickler::get(std::uint32_t index) {
  if (index <= 0xff) {
    stream_.put(Op::kGet1, static_cast<std::uint8_t>(index));
  } else {
    stream_.put(Op::kGet4, index);
  }
}

void Pickler::memoize(PyObject* object, bool counts) {
  stream_.put(Op::kMemoize);
  memo_.add(object, counts);
}

const Pickler::Treatment& Pickler::treatment(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  const auto known = treatments_.find(type);
  if (known != treatments_.end()) return known->second;
  const auto answer = Object::steal(checked(PyObject_CallOneArg(hooks_.treat, object)));
  PyObject* reducer = nullptr;
  long sharing = 0;
  if (PyArg_ParseTuple(answer.get(), "Ol", &reducer, &sharing) == 0) throw PythonError{};
  Treatment how{.reducer = {}, .sharing = static_cast<Sharing>(sharing), .plain = false};
  if (reducer != Py_None) {
    how.reducer = Object::share(reducer);
  } else {
    how.plain = is_plain(type);
  }
  return treatments_.emplace(type, std::move(how)).first->second;
}

bool Pickler::counts(const Treatment& how, PyObject* object) {
  if (how.sharing != Sharing::kAsk) return how.sharing == Sharing::kCount;
  const auto answer = Object::steal(checked(PyObject_CallOneArg(hooks_.classify, object)));
  return PyObject_IsTrue(answer.get()) == 1;
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
    case Kind::kReduce:
      return advance_reduce(frame);
  }
}

// In what follows a frame is not to be touched after a save() that returned false: others lie on it by then,
// perhaps elsewhere in memory.

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
    begin_item(frame, Op::kAppends);
    if (!save(PyList_GET_ITEM(list, frame.at++))) return;
  }
  end_batch(frame, Op::kAppends);
  frames_.pop_back();
}

void Pickler::advance_dict(Frame& frame) {
  PyObject* dict = frame.object.get();
  for (;;) {
    if (frame.pending) {
      const Object value = std::move(frame.pending);
      if (!save(value.get())) return;
    }
    if (PyDict_GET_SIZE(dict) != frame.count)
      raise(PyExc_RuntimeError, "a dict changed while it was pickled");
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    if (PyDict_Next(dict, &frame.at, &key, &value) == 0) break;
    begin_item(frame, Op::kSetItems);
    frame.pending = Object::share(value);
    if (!save(key)) return;
  }
  end_batch(frame, Op::kSetItems);
  frames_.pop_back();
}

void Pickler::advance_tuple(Frame& frame) {
  PyObject* tuple = frame.object.get();
  while (frame.at < PyTuple_GET_SIZE(tuple))
    if (!save(PyTuple_GET_ITEM(tuple, frame.at++))) return;
  if (frame.kind == Kind::kPair) return frames_.pop_back();
  const auto known = frame.argument ? std::nullopt : memo_.find(tuple);
  if (known) {  // it contains itself, by way of a list
    if (frame.count > 3) {
      stream_.put(Op::kPopMark);
    } else {
      for (Py_ssize_t i = 0; i < frame.count; ++i) stream_.put(Op::kPop);
    }
    get(*known);
  } else {
    static constexpr std::array kSmall{Op::kEmptyTuple, Op::kTuple1, Op::kTuple2, Op::kTuple3};
    stream_.put(frame.count > 3 ? Op::kTuple : kSmall[static_cast<std::size_t>(frame.count)]);
    if (!frame.argument) memoize(tuple, false);
  }
  frames_.pop_back();
}

void Pickler::advance_set(Frame& frame) {
  PyObject* items = frame.rest.get();
  const bool frozen = frame.kind == Kind::kFrozenSet;
  while (frame.at < PyList_GET_SIZE(items)) {
    if (!frozen) begin_item(frame, Op::kAddItems);
    if (!save(PyList_GET_ITEM(items, frame.at++))) return;
  }
  if (!frozen) {
    end_batch(frame, Op::kAddItems);
  } else if (const auto known = memo_.find(frame.object.get())) {
    stream_.put(Op::kPopMark);
    get(*known);
  } else {
    stream_.put(Op::kFrozenSet);
    memoize(frame.object.get(), false);
  }
  frames_.pop_back();
}

void Pickler::advance_instance(Frame& frame) {
  PyObject* object = frame.object.get();
  auto* type = reinterpret_cast<PyObject*>(Py_TYPE(object));
  switch (frame.at++) {
    case 0:
      if (!save(type)) return;
      [[fallthrough]];
    case 1: {
      frame.at = 2;
      if (const auto known = memo_.find(object)) {  // its class refers to it
        stream_.put(Op::kPop);
        get(*known);
        break;
      }
      stream_.put(Op::kEmptyTuple);
      stream_.put(Op::kNewObject);
      memoize(object, counts(treatment(object), object));
      const auto attributes = Object::steal(PyObject_GenericGetDict(object, nullptr));
      if (!attributes) PyErr_Clear();
      if (!attributes || PyDict_GET_SIZE(attributes.get()) == 0) break;
      if (!save(attributes.get())) return;
      [[fallthrough]];
    }
    default:
      stream_.put(Op::kBuild);
  }
  frames_.pop_back();
}

void Pickler::advance_reduce(Frame& frame) {
  if (frame.at < kItems && !reduce_make(frame)) return;
  if (frame.at == kItems && !reduce_items(frame)) return;
  if (frame.at == kPairs && !reduce_pairs(frame)) return;
  if (!reduce_state(frame)) return;
  frames_.pop_back();
}

// The call that makes the object. NEWOBJ's arguments are (class, *arguments), NEWOBJ_EX's (class, arguments,
// keywords).
bool Pickler::reduce_make(Frame& frame) {
  static PyObject* const new_object = of_copyreg("__newobj__");
  static PyObject* const new_object_ex = of_copyreg("__newobj_ex__");
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
      if (!save(PyTuple_GET_ITEM(arguments, 1))) return false;
    } else {
      const Py_ssize_t first = is_new ? 1 : 0;
      if (count - first > 3) stream_.put(Op::kMark);
      return push({.kind = Kind::kTuple,
                   .object = Object::share(arguments),
                   .at = first,
                   .count = count - first,
                   .argument = true});
    }
  }
  if (frame.at == kKeywords) {
    frame.at = kMake;
    if (!save(PyTuple_GET_ITEM(arguments, 2))) return false;
  }
  stream_.put(is_new ? Op::kNewObject : is_new_ex ? Op::kNewObjectEx : Op::kReduce);
  frame.at = kItems;
  if (const auto known = memo_.find(object)) {  // made on the way, by its own arguments
    stream_.put(Op::kPop);
    get(*known);
  } else {
    memoize(object, counts(treatment(object), object));
  }
  return true;
}

bool Pickler::reduce_items(Frame& frame) {
  PyObject* items = reduce_item(frame.rest.get(), 3);
  if (items != nullptr) {
    if (!frame.pending) frame.pending = Object::steal(checked(PyObject_GetIter(items)));
    while (const auto item = Object::steal(PyIter_Next(frame.pending.get()))) {
      begin_item(frame, Op::kAppends);
      if (!save(item.get())) return false;
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
        raise(pickle_error(), "dict items iterator must return 2-tuples");
      begin_item(frame, Op::kSetItems);
      // Key and value as the items of a tuple that is not made: two more on the reader's stack.
      if (!push({.kind = Kind::kPair, .object = Object::share(item.get()), .count = 2})) return false;
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
    if (setter != nullptr) save(frame.object.get());  // known by now
    if (!save(state)) return false;
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
