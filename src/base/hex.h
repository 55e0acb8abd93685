// Bytes as text of hex digits.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace banyan {

/// Lower-case digits, two for each byte.
std::string hex_text(std::string_view bytes);
/// The bytes that hex_text() wrote; nothing when the text is something else.
std::optional<std::string> bytes_of_hex(std::string_view text);

}  // namespace banyan
