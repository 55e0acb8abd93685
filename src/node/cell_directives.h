// What a cell says of how it is to be run: the lines above its code, its metadata and its tags.
#pragma once

#include <cstdint>
#include <optional>

#include "core/jupyter/message.h"

namespace banyan::node {

/// The lines `%%durable`, `%%gpus N` and `%%cpu` stand above all other code of a cell, in any order. Blank
/// lines between them do not matter. The worker takes them out of the code
/// (python/banyan/notebook/directives.py), and says what is wrong with a line that is none of these.
struct CellDirectives {
  /// Its reply waits until all of its values are durable: the line `%%durable`, or the tag `durable`.
  bool durable = false;
  /// How many GPUs it is to have, whatever its kernel says: the line `%%gpus N` or `%%cpu`, else
  /// `{"banyan": {"gpus": N}}` in its metadata, else the tag `gpus=N` or `cpu`.
  std::optional<std::uint64_t> gpus;

  friend bool operator==(const CellDirectives&, const CellDirectives&) = default;
};

/// Of an execute_request. Whatever cannot be read says nothing.
[[nodiscard]] CellDirectives directives_of(const jupyter::Message& request);

}  // namespace banyan::node
