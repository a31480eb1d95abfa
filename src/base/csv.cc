#include "base/csv.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace postrider {
namespace {

constexpr int kEnd = std::istream::traits_type::eof();
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kDangerous = "=+-@\t\r";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// "+919876543210", "-12", "3.50": harmless, and the people who look at the file want to see them as they are.
bool is_plain_number(std::string_view cell) {
  if (cell.starts_with('+') || cell.starts_with('-')) cell.remove_prefix(1);
  const std::size_t point = std::min(cell.find('.'), cell.size());
  const std::string_view whole = cell.substr(0, point);
  const std::string_view rest = point < cell.size() ? cell.substr(point + 1) : "0";
  return !whole.empty() && !rest.empty() && std::all_of(whole.begin(), whole.end(), is_digit) &&
         std::all_of(rest.begin(), rest.end(), is_digit);
}

// Behind any number of apostrophes: so that a cell that has one of its own comes back with it.
bool is_dangerous(std::string_view cell) {
  const std::size_t first = cell.find_first_not_of('\'');
  return first != std::string_view::npos && kDangerous.find(cell[first]) != std::string_view::npos;
}

void take_apostrophe_off(std::string& cell) {
  if (cell.starts_with('\'') && is_dangerous(cell)) cell.erase(0, 1);
}

void append_cell(std::string& out, std::string_view cell) {
  const bool guarded = is_dangerous(cell) && !is_plain_number(cell);
  // A byte order mark at the beginning of a file belongs to nobody; within quotation marks it is the cell's own.
  const bool quoted = cell.find_first_of(",\"\r\n") != std::string_view::npos || cell.starts_with(kByteOrderMark);
  if (quoted) out += '"';
  if (guarded) out += '\'';
  for (const char c : cell) {
    if (c == '"') out += '"';
    out += c;
  }
  if (quoted) out += '"';
}

}  // namespace

int CsvReader::get() {
  const int c = peek();
  if (ahead_ < ahead_end_) {
    ++ahead_;
  } else {
    in_.rdbuf()->sbumpc();
  }
  if (c == '\n') ++line_;
  return c;
}

int CsvReader::peek() {
  return ahead_ < ahead_end_ ? static_cast<unsigned char>(kByteOrderMark[ahead_]) : in_.rdbuf()->sgetc();
}

Error CsvReader::wrong(std::string_view what) const {
  return {ErrorCode::Invalid, fmt::format("line {}, cell {}: {}", row_line_, cell_, what)};
}

// Other letters begin with the same byte, so what turns out not to be the mark is read again.
void CsvReader::skip_mark() {
  begun_ = true;
  for (const char mark : kByteOrderMark) {
    if (in_.rdbuf()->sgetc() != static_cast<unsigned char>(mark)) return;
    in_.rdbuf()->sbumpc();
    ++ahead_end_;
  }
  ahead_end_ = 0;
}

Result<Done> CsvReader::add(std::string& cell, int c) {
  if (c == 0) return wrong("contains a NUL");
  if (cell.size() == limits_.cell_bytes_max) {
    return wrong(fmt::format("is longer than {} bytes", limits_.cell_bytes_max));
  }
  cell += static_cast<char>(c);
  return Done{};
}

Result<CsvReader::Ended> CsvReader::after_quotes() {
  const int c = get();
  if (c == kEnd) return Ended::File;
  if (c == ',') return Ended::Cell;
  if (c == '\n' || (c == '\r' && peek() == '\n')) {
    if (c == '\r') get();
    return Ended::Row;
  }
  return wrong("something stands behind the closing quotation mark");
}

Result<CsvReader::Ended> CsvReader::read_quoted(std::string& cell) {
  for (;;) {
    const int c = get();
    if (c == kEnd) return wrong("a quotation mark is never closed");
    if (c != '"') {
      POSTRIDER_TRY_DONE(add(cell, c));
    } else if (peek() == '"') {
      get();
      POSTRIDER_TRY_DONE(add(cell, c));
    } else {
      return after_quotes();
    }
  }
}

Result<CsvReader::Ended> CsvReader::read_cell(std::string& cell) {
  if (peek() == '"') {
    get();
    return read_quoted(cell);
  }
  for (;;) {
    const int next = peek();
    if (next == '"') return wrong("a quotation mark inside a cell that is not quoted");
    const int c = get();
    if (c == kEnd) return Ended::File;
    if (c == ',') return Ended::Cell;
    if (c == '\n') return Ended::Row;
    if (c == '\r') {
      if (peek() != '\n') return wrong("a carriage return outside quotation marks");
      get();
      return Ended::Row;
    }
    POSTRIDER_TRY_DONE(add(cell, c));
  }
}

Result<std::optional<CsvRow>> CsvReader::next() {
  if (over_) return std::optional<CsvRow>{};
  over_ = true;  // until this row was read without fault
  if (!begun_) skip_mark();
  CsvRow row;
  for (;;) {
    row = {.line = line_};
    row_line_ = line_;
    cell_ = 1;
    const int first = peek();
    if (first == kEnd) return std::optional<CsvRow>{};
    const bool quoted = first == '"';
    Ended ended = Ended::Cell;
    while (ended == Ended::Cell) {
      if (row.cells.size() == limits_.cells_max) {
        return wrong(fmt::format("more than {} cells in one line", limits_.cells_max));
      }
      std::string& cell = row.cells.emplace_back();
      POSTRIDER_TRY(end, read_cell(cell));
      if (!is_utf8(cell)) return wrong("is not UTF-8");
      take_apostrophe_off(cell);
      ended = end;
      if (ended == Ended::Cell) ++cell_;
    }
    over_ = ended == Ended::File;
    const bool blank = row.cells.size() == 1 && row.cells.front().empty() && !quoted;
    if (!blank) return std::optional{std::move(row)};
    if (over_) return std::optional<CsvRow>{};
    over_ = true;
  }
}

std::string csv_line(std::span<const std::string> cells) {
  if (cells.size() == 1 && cells.front().empty()) return "\"\"\r\n";  // not a line with nothing on it
  std::string out;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) out += ',';
    append_cell(out, cells[i]);
  }
  out += "\r\n";
  return out;
}

}  // namespace postrider
