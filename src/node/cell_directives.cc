#include "node/cell_directives.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "node/gateway_messages.h"

namespace banyan::node {

namespace {

using nlohmann::json;

std::string_view stripped(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
  return text.substr(0, text.find_last_not_of(kBlank) + 1);
}

/// At most four digits, as the worker reads it.
std::optional<std::uint64_t> number_in(std::string_view text) {
  if (text.size() > 4) return std::nullopt;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// What follows `word` in `text`; nothing when that begins otherwise.
std::optional<std::string_view> after(std::string_view text, std::string_view word) {
  if (!text.starts_with(word)) return std::nullopt;
  return text.substr(word.size());
}

/// Reads one line. False when it is the first line of the code.
bool read_line(std::string_view line, CellDirectives& said) {
  if (line.empty()) return true;
  if (line == "%%durable") {
    said.durable = true;
  } else if (line == "%%cpu") {
    said.gpus = 0;
  } else if (const auto count = after(line, "%%gpus ")) {
    const auto gpus = number_in(stripped(*count));
    if (!gpus) return false;
    said.gpus = gpus;
  } else {
    return false;
  }
  return true;
}

void read_code(std::string_view code, CellDirectives& said) {
  while (!code.empty()) {
    const std::size_t end = std::min(code.find('\n'), code.size());
    if (!read_line(stripped(code.substr(0, end)), said)) return;
    code.remove_prefix(std::min(end + 1, code.size()));
  }
}

void read_tag(std::string_view tag, CellDirectives& said) {
  if (tag == "durable") said.durable = true;
  if (tag == "cpu") said.gpus = 0;
  if (const auto count = after(tag, "gpus="))
    if (const auto gpus = number_in(*count)) said.gpus = gpus;
}

void read_metadata(const json& metadata, CellDirectives& said) {
  if (!metadata.is_object()) return;
  if (const auto tags = metadata.find("tags"); tags != metadata.end() && tags->is_array())
    for (const json& tag : *tags)
      if (tag.is_string()) read_tag(tag.get_ref<const std::string&>(), said);
  const auto own = metadata.find("banyan");
  if (own == metadata.end() || !own->is_object()) return;
  if (const auto gpus = own->find("gpus"); gpus != own->end() && gpus->is_number_unsigned())
    said.gpus = gpus->get<std::uint64_t>();
}

}  // namespace

CellDirectives directives_of(const jupyter::Message& request) {
  CellDirectives said;
  read_metadata(json::parse(request.metadata, nullptr, false), said);
  read_code(text_field(request.content.view(), "code"), said);
  return said;
}

}  // namespace banyan::node
