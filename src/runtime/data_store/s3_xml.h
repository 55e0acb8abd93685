// The few things that are read from S3's XML.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace banyan::runtime {

/// The contents of each element `name` of `xml`, in order and unchanged. S3's answers have no element within
/// another one of the same name, no CDATA and no comments.
std::vector<std::string_view> xml_elements(std::string_view xml, std::string_view name);
/// The text of the first element `name`, with entities resolved; nothing when there is none.
std::optional<std::string> xml_text(std::string_view xml, std::string_view name);

}  // namespace banyan::runtime
