#include "sim/namespace_text.h"

#include <cstdlib>

#include "sim/model_python.h"

namespace banyan::sim {

Variables variables_of(std::string_view text) {
  Variables variables;
  while (!text.empty()) {
    const std::size_t end = text.find(' ');
    const std::string_view one = text.substr(0, end);
    const std::size_t equals = one.find('=');
    if (equals != std::string_view::npos) variables.emplace(one.substr(0, equals), one.substr(equals + 1));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return variables;
}

std::string text_of_variables(const Variables& variables) {
  std::string text;
  for (const auto& [name, value] : variables) text += name + "=" + value + " ";
  return text;
}

Variables after_cell(Variables session, const Variables& before, const Variables& after) {
  for (const auto& [name, value] : before)
    if (!after.contains(name)) session.erase(name);
  for (const auto& [name, value] : after) {
    const auto was = before.find(name);
    if (was == before.end() || was->second != value) session[name] = value;
  }
  return session;
}

std::optional<std::set<std::string>> missing_in(const Variables& seen, const Variables& session) {
  std::set<std::string> missing;
  for (const auto& [name, value] : session) {
    const auto found = seen.find(name);
    if (found == seen.end()) {
      missing.insert(name);
    } else if (found->second != value) {
      return std::nullopt;
    }
  }
  return seen.size() + missing.size() == session.size() ? std::optional(std::move(missing)) : std::nullopt;
}

std::optional<LargeValue> large_value(std::string_view variable) {
  const std::string text(variable);  // "NUMBER+BYTES@NAME"
  char* end = nullptr;
  const std::uint64_t number = std::strtoull(text.c_str(), &end, 10);
  if (*end != '+') return std::nullopt;
  const std::uint64_t bytes = std::strtoull(end + 1, nullptr, 10);
  if (bytes <= kLargeBlock) return std::nullopt;
  return LargeValue{.bytes = bytes, .chunk = digest_of(buffer_of(number, bytes))};
}

}  // namespace banyan::sim
