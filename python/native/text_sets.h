#pragma once

#include <Python.h>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "blocks.h"
#include "object.h"

namespace banyan {

/// Large sets of texts, written in parts. A text's content decides which part it is in, and each part is
/// sorted. So equal sets give equal parts, and adding or removing a text changes one part. All functions
/// need the GIL.

/// A digest of the places of a set's elements. While it stays the same, a set of texts has not changed.
/// Computing it reads the set's table, and not the elements.
BlockDigest table_of(PyObject* set);

/// One part of a set.
struct TextPart {
  BlockDigest sum;  ///< A sum over its texts that does not depend on their order.
  /// u32 count; count × u32 size; the texts in UTF-8; little endian. Null if `known` has the sum.
  Object bytes;
};

/// The 2^bits parts of a set. None when an element is no text (exactly str), or a part gets too long. A
/// part whose sum is at its place in `known` is not written again. O(n log n) in the texts of the others.
/// Throws PythonError.
std::optional<std::vector<TextPart>> parts_of(PyObject* set, unsigned bits,
                                              std::span<const BlockDigest> known);

/// The texts of a part, as a list. Throws std::invalid_argument, PythonError.
Object texts_of(std::span<const std::byte> part);

}  // namespace banyan
