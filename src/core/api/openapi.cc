#include "core/api/openapi.h"

#include <algorithm>
#include <utility>

namespace banyan::api {

namespace {

using nlohmann::json;

json content_of(const Body& body, Schemas& named) {
  json media = json::object();
  if (body.schema != kNoSchema) media["schema"] = body.schema(named);
  return {{body.media, std::move(media)}};
}

json reply_of(const Reply& reply, Schemas& named) {
  json described = {{"description", reply.description}};
  if (reply.body) described["content"] = content_of(*reply.body, named);
  return described;
}

json parameter_of(const Parameter& parameter, const char* in, Schemas& named) {
  return {{"name", parameter.name},
          {"in", in},
          {"description", parameter.description},
          {"required", parameter.required},
          {"schema", parameter.schema(named)}};
}

json operation_of(const Operation& operation, const std::map<std::string, std::string>& paths, Schema failure,
                  Schemas& named) {
  json described = {{"operationId", operation.id}, {"summary", operation.summary}};
  json parameters = json::array();
  for (const std::string& part : parts_of(operation.path)) {
    const auto known = paths.find(part);
    const std::string what = known == paths.end() ? std::string() : known->second;
    parameters.push_back(parameter_of({.name = part, .description = what, .required = true}, "path", named));
  }
  for (const Parameter& parameter : operation.query)
    parameters.push_back(parameter_of(parameter, "query", named));
  if (!parameters.empty()) described["parameters"] = std::move(parameters);
  if (operation.request) described["requestBody"] = {{"content", content_of(*operation.request, named)}};
  json& responses = described["responses"] = json::object();
  for (const Reply& reply : operation.replies)
    responses[std::to_string(reply.status)] = reply_of(reply, named);
  responses["default"] =
      reply_of({.description = "Why it was not done.", .body = Body{.schema = failure}}, named);
  if (operation.open) described["security"] = json::array();
  return described;
}

}  // namespace

std::vector<std::string> parts_of(std::string_view path) {
  std::vector<std::string> names;
  for (auto open = path.find('{'); open != std::string_view::npos; open = path.find('{', open + 1))
    names.emplace_back(path.substr(open + 1, path.find('}', open) - open - 1));
  return names;
}

json describe(const std::string& title, const std::string& version, const std::vector<Operation>& operations,
              const std::map<std::string, std::string>& paths, Schema failure) {
  Schemas named;
  json all = json::object();
  for (const Operation& operation : operations) {
    std::string method = operation.method;
    std::ranges::transform(method, method.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    all[operation.path][method] = operation_of(operation, paths, failure, named);
  }
  return {{"openapi", "3.1.0"},
          {"info", {{"title", title}, {"version", version}}},
          {"paths", std::move(all)},
          {"components",
           {{"schemas", named},
            {"securitySchemes",
             {{"token",
               {{"type", "apiKey"},
                {"in", "header"},
                {"name", "Authorization"},
                {"description", "token TOKEN, or Bearer TOKEN; ?token=TOKEN does as well"}}}}}}},
          {"security", {{{"token", json::array()}}}}};
}

}  // namespace banyan::api
