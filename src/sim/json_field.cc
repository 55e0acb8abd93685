#include "sim/json_field.h"

#include <charconv>

#include "core/jupyter/json_text.h"

namespace banyan::sim {

namespace {
std::string_view value_of(std::string_view object, std::string_view field) {
  // The members are views into `object`, so the value outlives the vector.
  const auto members = jupyter::members_of(object);
  return members ? jupyter::find_member(*members, field) : std::string_view();
}
}  // namespace

std::string text_of(std::string_view object, std::string_view field) {
  const std::string_view value = value_of(object, field);
  if (value.size() < 2 || value.front() != '"') return {};
  return std::string(value.substr(1, value.size() - 2));
}

std::uint64_t number_of(std::string_view object, std::string_view field) {
  const std::string_view value = value_of(object, field);
  std::uint64_t number = 0;
  std::from_chars(value.data(), value.data() + value.size(), number);
  return number;
}

}  // namespace banyan::sim
