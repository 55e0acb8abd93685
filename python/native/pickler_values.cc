// Pickling of what is written in one go: texts, numbers, buffers, and what goes by its name.

#include <array>
#include <bit>
#include <limits>
#include <string_view>

#include "pickler.h"

namespace banyan {
namespace {

constexpr Py_ssize_t kTextApart = 1 << 16;  // In characters.

// number.to_bytes(size, "little", signed=True). The C API has no public function for it in all versions.
PyObject* int_to_bytes(PyObject* number, Py_ssize_t size) {
  static PyObject* const method = PyUnicode_InternFromString("to_bytes");
  static PyObject* const order = PyUnicode_InternFromString("little");
  static PyObject* const keywords = Py_BuildValue("(s)", "signed");
  const auto count = Object::steal(checked(PyLong_FromSsize_t(size)));
  const std::array<PyObject*, 4> arguments{number, count.get(), order, Py_True};
  return PyObject_VectorcallMethod(method, arguments.data(), 3, keywords);
}

}  // namespace

bool Pickler::save_text(PyObject* text) {
  if (PyUnicode_GET_LENGTH(text) >= kTextApart) return save_long_text(text), true;
  const auto kind = static_cast<int>(PyUnicode_KIND(text));
  const std::string_view characters(static_cast<const char*>(PyUnicode_DATA(text)),
                                    static_cast<std::size_t>(PyUnicode_GET_LENGTH(text) * kind));
  if (const auto known = texts_.find_or_add(characters, kind, memo_.next_number())) return get(*known), true;
  const auto utf8 = utf8_of(text);
  const auto bytes = utf8.bytes;
  if (bytes.size() <= std::numeric_limits<std::uint8_t>::max()) {
    stream_.put(Op::kShortUnicode, static_cast<std::uint8_t>(bytes.size()));
  } else {
    stream_.put(Op::kUnicode, static_cast<std::uint32_t>(bytes.size()));
  }
  stream_.put(bytes);
  stream_.put(Op::kMemoize);
  memo_.pass();
  return true;
}

// Writes text_over(next buffer).
void Pickler::save_long_text(PyObject* text) {
  if (const auto* known = memo_.find(text)) return get(*known);
  auto bytes = PyUnicode_IS_COMPACT_ASCII(text)
                   ? Object::steal(checked(PyObject_CallOneArg(hooks_.ascii, text)))
                   : utf8_of(text).made;
  put_apart(hooks_.text_over, std::move(bytes));
  memoize(text, false);
}

bool Pickler::save_bytes(PyObject* bytes) {
  const std::string_view view(PyBytes_AS_STRING(bytes), static_cast<std::size_t>(PyBytes_GET_SIZE(bytes)));
  if (view.size() >= kApart) {
    if (const auto* known = memo_.find(bytes)) return get(*known), true;
    put_apart(reinterpret_cast<PyObject*>(&PyBytes_Type), Object::share(bytes));
    return memoize(bytes, false), true;
  }
  if (const auto known = texts_.find_or_add(view, 0, memo_.next_number())) return get(*known), true;
  put_bytes(view);
  stream_.put(Op::kMemoize);
  memo_.pass();
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

// Writes callee(next buffer), which makes a copy of its own when it is loaded.
void Pickler::put_apart(PyObject* callee, Object buffer) {
  save_global(callee, nullptr);
  stream_.put(Op::kNextBuffer);
  stream_.put(Op::kTuple1);
  stream_.put(Op::kReduce);
  buffers_.push_back(std::move(buffer));
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
  const auto bits = Object::steal(checked(PyObject_CallMethod(number, "bit_length", nullptr)));
  const auto size = PyLong_AsSsize_t(bits.get()) / 8 + 1;
  const auto bytes = Object::steal(checked(int_to_bytes(number, size)));
  if (size <= 0xff) {
    stream_.put(Op::kLong1, static_cast<std::uint8_t>(size));
  } else {
    stream_.put(Op::kLong4, static_cast<std::int32_t>(size));
  }
  stream_.put(std::string_view(PyBytes_AS_STRING(bytes.get()), static_cast<std::size_t>(size)));
}

void Pickler::save_float(PyObject* number) {
  const auto bits = std::bit_cast<std::uint64_t>(PyFloat_AS_DOUBLE(number));
  stream_.put(Op::kFloat, __builtin_bswap64(bits));
}

void Pickler::save_bytearray(PyObject* object) {
  const std::string_view bytes(PyByteArray_AS_STRING(object),
                               static_cast<std::size_t>(PyByteArray_GET_SIZE(object)));
  if (reinterpret_cast<PyByteArrayObject*>(object)->ob_exports > 0) lent_.push_back(object);
  if (bytes.size() >= kApart) {
    put_apart(reinterpret_cast<PyObject*>(&PyByteArray_Type), Object::share(object));
  } else {
    stream_.put(Op::kByteArray8, std::uint64_t{bytes.size()});
    stream_.put(bytes);
  }
  memoize(object, true);
}

void Pickler::save_buffer(PyObject* buffer) {
  const Py_buffer* view = PyPickleBuffer_GetBuffer(buffer);
  if (view == nullptr) throw PythonError{};
  if (PyBuffer_IsContiguous(view, 'A') == 0) refuse("a buffer is not contiguous");
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
  if (const auto* known = memo_.find(object)) return get(*known);
  const auto found = Object::steal(checked(
      PyObject_CallFunctionObjArgs(hooks_.locate, object, name == nullptr ? Py_None : name, nullptr)));
  if (!PyTuple_CheckExact(found.get()) || PyTuple_GET_SIZE(found.get()) != 2)
    raise_error(PyExc_TypeError, "locate answers (module, name)");
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

}  // namespace banyan
