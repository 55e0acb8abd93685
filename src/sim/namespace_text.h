// What a model namespace holds, as text: for judges that have to know which of its variables are missing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace banyan::sim {

/// What each variable is, by its name: equal texts are equal values, shared with the same variables.
using Variables = std::map<std::string, std::string>;

/// Reads what Namespace::text() writes.
Variables variables_of(std::string_view text);
/// Writes it.
std::string text_of_variables(const Variables& variables);
/// What a cell has made of `session`, when it ran where the variables were `before` and left `after`: what
/// was missing there is as it was.
Variables after_cell(Variables session, const Variables& before, const Variables& after);
/// The variables that `seen` lacks; nothing where it differs in another way.
std::optional<std::set<std::string>> missing_in(const Variables& seen, const Variables& session);
/// How many bytes a value has, and the name of its chunk.
struct LargeValue {
  std::uint64_t bytes = 0;
  Digest chunk;
};
/// Of a variable, as Variables has it. Nothing for one whose bytes are all in the log.
std::optional<LargeValue> large_value(std::string_view variable);

}  // namespace banyan::sim
