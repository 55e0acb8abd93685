// JSON of the API's types, both ways, and their JSON Schemas. A type lists its fields once, in `fields`; all
// three follow from that list. Source of the schemas: OpenAPI 3.1, whose schemas are JSON Schema 2020-12.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace banyan::api {

/// A field that is null when there is nothing to tell, where an optional one is left out.
template <class T>
struct Nullable {
  std::optional<T> value = {};
};

/// A type that lists its fields: `fields(self, visit)` calls `visit(name, member, description)` for each, and
/// `kName` names its schema.
template <class T>
concept Object = requires { T::kName; };

/// Schemas by the names under which others refer to them.
using Schemas = std::map<std::string, nlohmann::json>;

/// What becomes of a field that is missing and not optional.
enum class Missing : std::uint8_t {
  kWrong,    ///< the value is not what it is to be: for requests
  kDefault,  ///< the field stays as it is: for answers, perhaps of an older version
};

/// A JSON value that is read.
struct Reading {
  const nlohmann::json& value;
  std::string at;  ///< names the value for a person: "replicas[1].host"; empty for the whole
  Missing missing = Missing::kWrong;

  /// A part of it.
  [[nodiscard]] Reading of(const nlohmann::json& part, const std::string& name) const {
    return {part, at.empty() ? name : at + "." + name, missing};
  }
  /// It is not that.
  [[nodiscard]] tl::unexpected<Error> is_not(std::string_view what) const {
    const std::string name = at.empty() ? std::string("The body") : "'" + at + "'";
    return fail(ErrorKind::kInvalid, name + " must be " + std::string(what) + ".");
  }
};

/// How a type is as JSON: `write` makes a value of it, `read` takes it from one, and `schema` describes it.
/// This is for numbers, texts and truth values; other kinds of types follow.
template <class T>
struct Json {
  static nlohmann::json write(const T& value) { return value; }

  static Result<Done> read(const Reading& from, T& into) {
    if (!fits(from.value)) return from.is_not(kWhat);
    into = from.value.get<T>();
    return Done{};
  }

  static nlohmann::json schema(Schemas& /*named*/) {
    if constexpr (std::same_as<T, std::string>) return {{"type", "string"}};
    if constexpr (std::same_as<T, bool>) return {{"type", "boolean"}};
    if constexpr (std::unsigned_integral<T>) return {{"type", "integer"}, {"minimum", 0}};
    if constexpr (std::signed_integral<T>) return {{"type", "integer"}};
    return {{"type", "number"}};
  }

 private:
  static constexpr std::string_view kWhat = std::same_as<T, std::string> ? "a text"
                                            : std::same_as<T, bool>      ? "true or false"
                                            : std::unsigned_integral<T>
                                                ? "a number from 0 on, without a fraction"
                                            : std::integral<T> ? "a number without a fraction"
                                                               : "a number";

  static bool fits(const nlohmann::json& value) {
    if constexpr (std::same_as<T, std::string>) return value.is_string();
    if constexpr (std::same_as<T, bool>) return value.is_boolean();
    if constexpr (std::unsigned_integral<T>) return value.is_number_unsigned();
    if constexpr (std::integral<T>) return value.is_number_integer();
    return value.is_number();
  }
};

/// JSON itself: whatever there is. For answers only: to copy what a client has nested deeply overflows the
/// stack.
template <>
struct Json<nlohmann::json> {
  static nlohmann::json write(const nlohmann::json& value) { return value; }
  static Result<Done> read(const Reading& from, nlohmann::json& into) {
    into = from.value;
    return Done{};
  }
  static nlohmann::json schema(Schemas& /*named*/) { return nlohmann::json::object(); }
};

/// A JSON object of which only who asks for it knows what is in it. For answers only, like JSON itself.
struct AnyObject {
  nlohmann::json value = nlohmann::json::object();
};

template <>
struct Json<AnyObject> {
  static nlohmann::json write(const AnyObject& object) { return object.value; }
  static nlohmann::json schema(Schemas& /*named*/) { return {{"type", "object"}}; }
};

/// A field that is always true: that it is there tells one type from others.
struct True {};

template <>
struct Json<True> {
  static nlohmann::json write(const True& /*value*/) { return true; }
  static nlohmann::json schema(Schemas& /*named*/) { return {{"const", true}}; }
};

/// A type whose values are words, all of which `kWords` lists.
template <class T>
concept Word = requires(const T& word) {
  T::kWords;
  { word.value } -> std::convertible_to<std::string>;
};

template <Word T>
struct Json<T> {
  static nlohmann::json write(const T& word) { return word.value; }
  static nlohmann::json schema(Schemas& /*named*/) { return {{"type", "string"}, {"enum", T::kWords}}; }
};

/// A body that is to be JSON and at which nobody looks. It is not copied: how deep it is nested is up to who
/// sent it.
struct Anything {};

template <>
struct Json<Anything> {
  static nlohmann::json write(const Anything& /*value*/) { return nlohmann::json::object(); }
  static Result<Done> read(const Reading& /*from*/, Anything& /*into*/) { return Done{}; }
  static nlohmann::json schema(Schemas& /*named*/) { return nlohmann::json::object(); }
};

template <class T>
struct Json<Nullable<T>> {
  static nlohmann::json write(const Nullable<T>& value) {
    return value.value ? Json<T>::write(*value.value) : nlohmann::json();
  }
  static Result<Done> read(const Reading& from, Nullable<T>& into) {
    if (from.value.is_null()) return Done{};
    return Json<T>::read(from, into.value.emplace());
  }
  static nlohmann::json schema(Schemas& named) {
    return {{"anyOf", {Json<T>::schema(named), {{"type", "null"}}}}};
  }
};

template <class T>
struct Json<std::vector<T>> {
  static nlohmann::json write(const std::vector<T>& list) {
    nlohmann::json all = nlohmann::json::array();
    for (const T& one : list) all.push_back(Json<T>::write(one));
    return all;
  }
  static Result<Done> read(const Reading& from, std::vector<T>& into) {
    if (!from.value.is_array()) return from.is_not("a list");
    for (const nlohmann::json& one : from.value) {
      const std::string at = from.at + "[" + std::to_string(into.size()) + "]";
      if (auto done = Json<T>::read({one, at, from.missing}, into.emplace_back()); !done) return done;
    }
    return Done{};
  }
  static nlohmann::json schema(Schemas& named) {
    return {{"type", "array"}, {"items", Json<T>::schema(named)}};
  }
};

/// One of several types. There is no `read`: what is read here has one type.
template <class... Types>
struct Json<std::variant<Types...>> {
  static nlohmann::json write(const std::variant<Types...>& value) {
    return std::visit([]<class T>(const T& one) { return Json<T>::write(one); }, value);
  }
  static nlohmann::json schema(Schemas& named) { return {{"anyOf", {Json<Types>::schema(named)...}}}; }
};

template <class T>
struct Json<std::map<std::string, T>> {
  static nlohmann::json write(const std::map<std::string, T>& map) {
    nlohmann::json all = nlohmann::json::object();
    for (const auto& [key, value] : map) all[key] = Json<T>::write(value);
    return all;
  }
  static Result<Done> read(const Reading& from, std::map<std::string, T>& into) {
    if (!from.value.is_object()) return from.is_not("a JSON object");
    for (const auto& [key, one] : from.value.items())
      if (auto done = Json<T>::read(from.of(one, key), into[key]); !done) return done;
    return Done{};
  }
  static nlohmann::json schema(Schemas& named) {
    return {{"type", "object"}, {"additionalProperties", Json<T>::schema(named)}};
  }
};

template <Object T>
struct Json<T> {
  static nlohmann::json write(const T& object) {
    nlohmann::json all = nlohmann::json::object();
    T::fields(object, [&]<class F>(const char* name, const F& field, std::string_view) {
      if constexpr (kOptional<F>) {
        if (field) all[name] = Json<typename F::value_type>::write(*field);
      } else {
        all[name] = Json<F>::write(field);
      }
    });
    return all;
  }

  static Result<Done> read(const Reading& from, T& into) {
    if (!from.value.is_object()) return from.is_not("a JSON object");
    Result<Done> done = Done{};
    T::fields(into, [&]<class F>(const char* name, F& field, std::string_view) {
      if (done) done = read_field(from, name, field);
    });
    return done;
  }

  static nlohmann::json schema(Schemas& named) {
    const std::string name(T::kName);
    if (!named.contains(name)) {
      named[name] = {};  // a type may contain itself
      named[name] = describe(named);
    }
    return {{"$ref", "#/components/schemas/" + name}};
  }

 private:
  template <class F>
  static constexpr bool kOptional = requires(const F& field) { field.has_value(); };

  template <class F>
  static Result<Done> read_field(const Reading& from, const char* name, F& field) {
    static const nlohmann::json kNothing;
    const auto found = from.value.find(name);
    const bool there = found != from.value.end();
    if constexpr (kOptional<F>) {
      if (!there || found->is_null()) return Done{};
      return Json<typename F::value_type>::read(from.of(*found, name), field.emplace());
    } else {
      if (!there && from.missing == Missing::kDefault) return Done{};
      return Json<F>::read(from.of(there ? *found : kNothing, name), field);
    }
  }

  static nlohmann::json describe(Schemas& named) {
    nlohmann::json properties = nlohmann::json::object(), required = nlohmann::json::array();
    T example{};
    T::fields(example, [&]<class F>(const char* name, F&, std::string_view description) {
      if constexpr (kOptional<F>) {
        properties[name] = Json<typename F::value_type>::schema(named);
      } else {
        properties[name] = Json<F>::schema(named);
        required.push_back(name);
      }
      if (!description.empty()) properties[name]["description"] = description;
    });
    return {{"type", "object"}, {"properties", std::move(properties)}, {"required", std::move(required)}};
  }
};

/// The value as JSON.
template <class T>
nlohmann::json to_json(const T& value) {
  return Json<T>::write(value);
}

/// The text of an answer. Bytes that are no UTF-8 are replaced.
template <class T>
std::string to_text(const T& value) {
  return to_json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// What an answer says; kInvalid says which field is to be what. Fields that the type does not have are
/// passed over, and those that are missing stay at their defaults, so that either side may be newer.
template <class T>
Result<T> from_json(const nlohmann::json& answer) {
  T into;
  if (auto done = Json<T>::read({answer, "", Missing::kDefault}, into); !done)
    return tl::unexpected(done.error());
  return into;
}

/// What the text of a request says; kInvalid says which field is to be what. Fields that the type does not
/// have are passed over.
template <class T>
Result<T> from_text(std::string_view request) {
  const nlohmann::json value = nlohmann::json::parse(request, nullptr, false);
  if (value.is_discarded()) return fail(ErrorKind::kInvalid, "The body is not valid JSON.");
  T into;
  if (auto done = Json<T>::read({value, "", Missing::kWrong}, into); !done)
    return tl::unexpected(done.error());
  return into;
}

}  // namespace banyan::api
