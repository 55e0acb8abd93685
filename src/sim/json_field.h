// Reads single fields of JSON texts, as clients and workers of the simulator need them.
#pragma once

#include <string>
#include <string_view>

namespace banyan::sim {

/// The text of a string field of a JSON object, escapes left as they are; empty when it is not there.
std::string text_of(std::string_view object, std::string_view field);
/// A whole number; 0 when it is not there.
std::uint64_t number_of(std::string_view object, std::string_view field);

}  // namespace banyan::sim
