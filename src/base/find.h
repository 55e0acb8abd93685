// What a map has under a key.
#pragma once

namespace banyan {

/// The value under the key; nullptr when there is none. Unlike an iterator it cannot be mistaken for one.
template <class Map>
auto* find_in(Map& map, const typename Map::key_type& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

}  // namespace banyan
