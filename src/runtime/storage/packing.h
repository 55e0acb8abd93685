// How blocks of chunks lie on the disk: compressed where that is worth it.
#pragma once

#include <string>
#include <string_view>

namespace banyan::runtime {

/// Compressed by zstd, numbers by planes of their bytes, in the form that a sample says is smallest; as they
/// are when less than a twenty-fourth would go.
std::string pack(std::string_view bytes);
/// Appends what was packed; false when that is damaged.
bool unpack(std::string_view packed, std::string& bytes);

}  // namespace banyan::runtime
