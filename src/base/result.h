// What can fail returns Result<T>: a value, or an Error that a person can act on.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace banyan {

/// What the caller can do about a failure. HTTP adapters map it to a status, main() to an exit code.
enum class ErrorKind {
  kInvalid,      ///< the input is wrong; the same call fails again
  kDenied,       ///< the caller is not authenticated, or may not do this
  kNotFound,     ///< there is no such thing
  kConflict,     ///< the state has moved on; read it again
  kTooLarge,     ///< the input is over a documented limit
  kUnavailable,  ///< try again later
  kCorrupt,      ///< bytes that fail their checksum or do not parse
  kIo,           ///< the operating system refused
};

/// Why something failed.
struct Error {
  ErrorKind kind = ErrorKind::kInvalid;
  std::string message;  ///< what went wrong and what to do, one sentence without a trailing newline

  friend bool operator==(const Error&, const Error&) = default;
};

/// A value or an Error. Discarding one is a compile error.
template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
  using Base = tl::expected<T, Error>;

 public:
  // NOLINTBEGIN(google-explicit-constructor): `return value;` and `return fail(…);`
  Result(T value) : Base(std::move(value)) {}
  Result(tl::unexpected<Error> error) : Base(tl::unexpect, std::move(error.value())) {}
  // NOLINTEND(google-explicit-constructor)
};

/// Makes an error: `return fail(ErrorKind::kNotFound, "no kernel 42; list them with GET /api/kernels");`
[[nodiscard]] inline tl::unexpected<Error> fail(ErrorKind kind, std::string message) {
  return tl::unexpected<Error>(Error{kind, std::move(message)});
}

/// Success that has no value to return.
struct Done {
  friend bool operator==(const Done&, const Done&) = default;
};

}  // namespace banyan
