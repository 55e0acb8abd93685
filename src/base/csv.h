// Tables of comma-separated values with a head, and errors that name file, line and column.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace banyan {

/// A table whose first line names its columns. Cells are plain: quotes are not allowed, and spaces around a
/// cell do not count. Empty lines and lines that begin with # are skipped.
class Csv {
 public:
  struct Row {
    std::size_t line = 0;  ///< its number in the file, from 1
    std::vector<std::string> cells;
  };

  /// Reads a table. kInvalid when it has no head, a column twice, a row with another number of cells than the
  /// head, or a quote.
  static Result<Csv> parse(std::string_view text, std::string file);

  [[nodiscard]] const std::vector<std::string>& columns() const { return columns_; }
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  [[nodiscard]] bool has(std::string_view column) const;

  /// kInvalid when one of these columns is missing.
  [[nodiscard]] Result<Done> require(const std::vector<std::string_view>& columns) const;
  /// kInvalid when there is a column that is not known. `known` lists the known ones, for the message.
  [[nodiscard]] Result<Done> allow(const std::function<bool(std::string_view)>& is_known,
                                   std::string_view known) const;

  /// A cell; empty where there is no such column.
  [[nodiscard]] std::string_view text(const Row& row, std::string_view column) const;
  /// A cell as a number of 0 or more. kInvalid when it is anything else.
  [[nodiscard]] Result<double> number(const Row& row, std::string_view column) const;
  /// An error that begins with the file and the row's line.
  [[nodiscard]] tl::unexpected<Error> wrong(const Row& row, const std::string& what) const;

 private:
  [[nodiscard]] tl::unexpected<Error> wrong_at(std::size_t line, const std::string& what) const;

  std::string file_;
  std::size_t head_line_ = 1;
  std::vector<std::string> columns_;
  std::vector<Row> rows_;
};

}  // namespace banyan
