#pragma once

#include <Python.h>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "blocks.h"
#include "object.h"

namespace banyan {

/// Large sets of texts, written in parts: which part a text is in follows from its content, and each part is
/// sorted. Equal sets give equal parts, and a text more or less changes one of them. All need the GIL.

/// What a set holds, by the places of its elements: while it is the same, a set of texts is the same. It
/// reads the set's table, and not the elements.
BlockDigest table_of(PyObject* set);

/// One part of a set.
struct TextPart {
  BlockDigest sum;  ///< of its texts, in whichever order
  Object bytes;     ///< u32 count; count × u32 size; the texts in UTF-8; little endian. Null: `known` has it
};

/// The 2^bits parts of a set; nothing when an element is no text (exactly str), or a part gets too long.
/// Parts whose sums are at their place in `known` are not written again. O(n log n) for those that are.
/// Throws PythonError.
std::optional<std::vector<TextPart>> parts_of(PyObject* set, unsigned bits,
                                              std::span<const BlockDigest> known);

/// The texts of a part, a list. Throws std::invalid_argument, PythonError.
Object texts_of(std::span<const std::byte> part);

}  // namespace banyan
