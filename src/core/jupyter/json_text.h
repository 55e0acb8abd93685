// JSON as text: checked and cut into pieces without building values, so that a part of a message is carried
// on byte for byte.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace banyan::jupyter {

/// A member of an object. Both views point into the text that was cut.
struct JsonMember {
  std::string_view name;   ///< between the quotes; escapes are left as they are
  std::string_view value;  ///< the value's text, without surrounding white space

  friend bool operator==(const JsonMember&, const JsonMember&) = default;
};

/// Cuts one JSON object (RFC 8259, in UTF-8) into its members, in order and with duplicates. The whole text
/// is checked, also within the values. NaN, Infinity and -Infinity pass: Python's json module writes them.
/// Values nest at most 512 deep. kInvalid says what is wrong and at which byte. Linear in the text.
Result<std::vector<JsonMember>> members_of(std::string_view text);

/// Whether `text` is one object, by the rules of members_of().
Result<Done> check_object(std::string_view text);

/// Whether `text` is well-formed UTF-8. Fast for ASCII: eight bytes at once.
bool is_utf8(std::string_view text);

/// `text` with each byte that breaks UTF-8 replaced by U+FFFD. Kernels write such bytes: Python keeps lone
/// surrogates in its strings and jupyter_client sends them as raw bytes.
std::string repair_utf8(std::string_view text);

/// The value of the last member called `name`; empty when there is none.
std::string_view find_member(const std::vector<JsonMember>& members, std::string_view name);

}  // namespace banyan::jupyter
