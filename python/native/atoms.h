#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "blocks.h"
#include "object.h"

namespace banyan {

/// An array of Python objects that are all exactly str, int (of 64 bits), float, bool or None, such as a
/// column of text. It is contiguous, or one column of a table that lies in memory row by row. Its bytes are
/// blocks of kPerBlock elements (the last one may have fewer), each
///
///   u32 count; count × u32 head: kind in the upper 3 bits, bytes of a text in the others; the texts in UTF-8
///   (surrogates passed) and the numbers, 8 bytes each, in order; little endian.
///
/// The objects themselves never change, so a block whose pointers nobody wrote has not changed either: it is
/// not read again. Needs the GIL.
class Atoms {
 public:
  static constexpr std::size_t kPerBlock = 16384;
  /// In bytes. An array with a block of longer texts is not treated like this.
  static constexpr std::size_t kBlockMax = std::size_t{4} << 20;

  /// Thrown when an element is something else, or a block gets too long.
  struct NotAtoms {};
  /// Thrown when an array whose elements are to be copied was written to since.
  struct Written {};

  /// `array` lends its buffer, which is contiguous, or of one dimension with ascending elements. Throws
  /// NotAtoms; PythonError when the array lends none.
  explicit Atoms(PyObject* array, bool keep = true);

  [[nodiscard]] const std::vector<Block>& blocks() const { return blocks_; }
  /// The bytes of one block, as a bytes object. Throws std::out_of_range, and NotAtoms when the array was
  /// written to since and no longer is such an array.
  [[nodiscard]] Object block(std::size_t index) const;
  /// Blocks that were read for their digests, because whoever asks for digests mostly wants the bytes next.
  /// All objects of this class together keep at most kMax bytes.
  class Kept {
   public:
    static constexpr std::size_t kMax = std::size_t{64} << 20;

    Kept() = default;
    ~Kept() { total_ -= size_; }
    Kept(Kept&& other) noexcept
        : blocks_(std::exchange(other.blocks_, {})), size_(std::exchange(other.size_, 0)) {}
    Kept(const Kept&) = delete;
    Kept& operator=(const Kept&) = delete;
    Kept& operator=(Kept&&) = delete;

    void add(const Block& block, Object bytes);
    /// Null when the block is not kept.
    [[nodiscard]] PyObject* find(const BlockDigest& digest) const;

   private:
    static inline std::size_t total_ = 0;

    std::unordered_map<BlockDigest, Object, BlockDigest::Hash> blocks_;
    std::size_t size_ = 0;
  };

  /// Some blocks as bytes, or one block of an array that is alive.
  struct Piece {
    std::span<const std::byte> bytes;
    const Atoms* donor = nullptr;
    std::size_t index = 0;
  };
  /// Sets the elements of an array of objects, made as numpy.empty does, to those of the pieces. For a block
  /// in bytes, the objects of a live array are taken if one has the same block. Throws std::invalid_argument
  /// when the pieces do not fit, Written, PythonError.
  static void fill(PyObject* array, std::span<const Piece> pieces);

 private:
  Object array_;
  std::vector<Block> blocks_;
  Kept kept_;
};

}  // namespace banyan
