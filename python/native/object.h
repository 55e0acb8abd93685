#pragma once

#include <Python.h>

#include <cstddef>
#include <string_view>
#include <utility>

namespace banyan {

/// A strong reference, or none. Needs the GIL.
class Object {
 public:
  Object() = default;
  /// Takes over a reference that the caller owns.
  static Object steal(PyObject* object) { return Object(object); }
  /// Takes a new reference.
  static Object share(PyObject* object) { return Object(Py_XNewRef(object)); }
  Object(Object&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Object& operator=(Object&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  ~Object() { Py_XDECREF(object_); }

  [[nodiscard]] PyObject* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  [[nodiscard]] PyObject* release() { return std::exchange(object_, nullptr); }

 private:
  explicit Object(PyObject* object) : object_(object) {}

  PyObject* object_ = nullptr;
};

/// Thrown when a call into Python has failed; the interpreter's error indicator says how.
struct PythonError {};

/// Throws PythonError for an exception of `type` with this text.
[[noreturn]] inline void raise_error(PyObject* type, const char* text) {
  PyErr_SetString(type, text);
  throw PythonError{};
}

/// Returns what a call of the C API returned. Throws PythonError for null.
inline PyObject* checked(PyObject* object) {
  if (object == nullptr) throw PythonError{};
  return object;
}

/// A str in UTF-8, with surrogates passed. The view is valid as long as this object and the str live.
struct Utf8 {
  Object made;  ///< None if the str itself has the bytes.
  std::string_view bytes;
};

/// Throws PythonError.
inline Utf8 utf8_of(PyObject* text) {
  if (PyUnicode_IS_COMPACT_ASCII(text)) {
    return {.made = {},
            .bytes = {static_cast<const char*>(PyUnicode_DATA(text)),
                      static_cast<std::size_t>(PyUnicode_GET_LENGTH(text))}};
  }
  auto made = Object::steal(checked(PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass")));
  const std::string_view bytes(PyBytes_AS_STRING(made.get()),
                               static_cast<std::size_t>(PyBytes_GET_SIZE(made.get())));
  return {.made = std::move(made), .bytes = bytes};
}

}  // namespace banyan
