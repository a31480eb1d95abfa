// Comma-separated values (RFC 4180), read row by row within limits and written so that no spreadsheet takes a cell for
// a formula. What was written is read back as it was.
#pragma once
#include <cstddef>
#include <istream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace postrider {

struct CsvRow {
  std::size_t line = 0;  // on which it begins, from 1
  std::vector<std::string> cells = {};
};

struct CsvLimits {
  std::size_t cell_bytes_max = 64U << 10U;
  std::size_t cells_max = 64;
};

class CsvReader {
 public:
  explicit CsvReader(std::istream& in, CsvLimits limits = {}) : in_(in), limits_(limits) {}
  /// The next row; empty at the end. Invalid: "line 3, cell 2: …"; after that there is nothing more to read. Lines with
  /// nothing on them are left out. An apostrophe that csv_line() put before a cell is taken off again.
  Result<std::optional<CsvRow>> next();

 private:
  enum class Ended : std::uint8_t { Cell, Row, File };
  Result<Ended> read_cell(std::string& cell);
  Result<Ended> read_quoted(std::string& cell);
  Result<Ended> after_quotes();
  Result<Done> add(std::string& cell, int c);
  void skip_mark();
  int get();
  int peek();
  Error wrong(std::string_view what) const;

  std::istream& in_;
  CsvLimits limits_;
  std::size_t line_ = 1;      // of the next byte
  std::size_t row_line_ = 1;  // on which the row under way began
  std::size_t cell_ = 1;
  std::size_t ahead_ = 0;  // of the mark's bytes that were read and are none: those from here
  std::size_t ahead_end_ = 0;
  bool begun_ = false;
  bool over_ = false;
};

/// One row with its line end. A cell that a spreadsheet would calculate (it begins with = + - @, a tab or a carriage
/// return) gets an apostrophe before it; plain numbers and phone numbers (+919876543210) stay as they are.
std::string csv_line(std::span<const std::string> cells);

}  // namespace postrider
