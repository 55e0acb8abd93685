// Between Beast's header fields and plain maps. Includes Beast: for the .cc files of this folder only.
#pragma once

#include <boost/beast/http/fields.hpp>

#include "runtime/http/origin.h"

namespace banyan::runtime {

/// The fields as a map. Names are in lower case; the values of a repeated field are joined with a comma,
/// those of cookies with a semicolon.
inline Headers header_map(const boost::beast::http::fields& fields) {
  Headers headers;
  for (const auto& field : fields) {
    std::string name(field.name_string());
    for (char& c : name) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    const auto [place, fresh] = headers.try_emplace(name, field.value());
    if (!fresh) place->second.append(name == "cookie" ? "; " : ", ").append(field.value());
  }
  return headers;
}

}  // namespace banyan::runtime
