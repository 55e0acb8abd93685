// What an API offers, and its description for programs. Source: OpenAPI Specification 3.1.0.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/json.h"

namespace banyan::api {

/// Makes the schema of a type (Json).
using Schema = nlohmann::json (*)(Schemas& named);

/// Bytes that are no JSON, or none at all.
inline constexpr Schema kNoSchema = nullptr;
inline constexpr std::string_view kJson = "application/json";
inline constexpr std::string_view kBytes = "application/octet-stream";

/// A part of the path, `{name}`, or a field of the query.
struct Parameter {
  std::string name;
  std::string description;
  Schema schema = Json<std::string>::schema;
  bool required = false;
};

/// A body, of a request or an answer.
struct Body {
  std::string media{kJson};
  Schema schema = kNoSchema;
};

/// An answer.
struct Reply {
  int status = 200;
  std::string description;
  std::optional<Body> body = {};
};

/// One thing that can be done.
struct Operation {
  std::string method;
  std::string path;  ///< "/api/kernels/{kernel}"
  std::string id;    ///< one word, unlike all others
  std::string summary;
  std::vector<Parameter> query = {};
  std::optional<Body> request = {};
  std::vector<Reply> replies = {};  ///< those of success, and errors that need a word of their own
  bool open = false;                ///< it needs no token
};

/// An answer in JSON.
template <class T>
Reply json_reply(int status, std::string description) {
  return {status, std::move(description), Body{std::string(kJson), Json<T>::schema}};
}
/// A request in JSON.
template <class T>
Body json_body() {
  return {std::string(kJson), Json<T>::schema};
}

/// The description of an API: an OpenAPI document. `paths` says what each part of a path is, by its name. All
/// operations but the open ones need the token, and answer errors as `failure` says.
nlohmann::json describe(const std::string& title, const std::string& version,
                        const std::vector<Operation>& operations,
                        const std::map<std::string, std::string>& paths, Schema failure);

/// The names of the parts `{name}` of a path, in order.
std::vector<std::string> parts_of(std::string_view path);

}  // namespace banyan::api
