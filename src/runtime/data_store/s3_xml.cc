#include "runtime/data_store/s3_xml.h"

#include <charconv>
#include <utility>

namespace banyan::runtime {
namespace {

/// The character for which an entity such as "amp" or "#x26" stands. Keys and codes have printable ASCII
/// only, so nothing else is resolved.
std::optional<char> resolved(std::string_view entity) {
  static constexpr std::pair<std::string_view, char> kNamed[] = {
      {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
  for (const auto& [name, letter] : kNamed)
    if (entity == name) return letter;
  if (!entity.starts_with('#')) return std::nullopt;
  entity.remove_prefix(1);
  const int base = entity.starts_with('x') ? 16 : 10;
  if (base == 16) entity.remove_prefix(1);
  int number = 0;
  const auto parsed = std::from_chars(entity.data(), entity.data() + entity.size(), number, base);
  if (parsed.ec != std::errc() || parsed.ptr != entity.data() + entity.size()) return std::nullopt;
  if (number < 0x20 || number > 0x7e) return std::nullopt;
  return static_cast<char>(number);
}

}  // namespace

std::vector<std::string_view> xml_elements(std::string_view xml, std::string_view name) {
  const std::string open = "<" + std::string(name);
  const std::string close = "</" + std::string(name) + ">";
  std::vector<std::string_view> found;
  for (std::size_t at = 0; (at = xml.find(open, at)) != std::string_view::npos;) {
    at += open.size();
    const std::size_t end_of_tag = xml.find('>', at);
    if (end_of_tag == std::string_view::npos) break;
    const bool same_name = xml[at] == '>' || xml[at] == ' ' || xml[at] == '/';
    if (!same_name || xml[end_of_tag - 1] == '/') continue;
    const std::size_t end = xml.find(close, end_of_tag);
    if (end == std::string_view::npos) break;
    found.push_back(xml.substr(end_of_tag + 1, end - end_of_tag - 1));
    at = end + close.size();
  }
  return found;
}

std::optional<std::string> xml_text(std::string_view xml, std::string_view name) {
  const auto elements = xml_elements(xml, name);
  if (elements.empty()) return std::nullopt;
  std::string text;
  std::string_view rest = elements.front();
  while (!rest.empty()) {
    const std::size_t end = rest.starts_with('&') ? rest.find(';') : std::string_view::npos;
    const auto letter = end == std::string_view::npos ? std::nullopt : resolved(rest.substr(1, end - 1));
    text += letter.value_or(rest.front());
    rest.remove_prefix(letter ? end + 1 : 1);
  }
  return text;
}

}  // namespace banyan::runtime
