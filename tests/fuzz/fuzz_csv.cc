// CSV: what is accepted is within the limits, and written down again it is read back as it was, without a cell that a
// spreadsheet would calculate.
#include <algorithm>
#include <sstream>

#include "base/check.h"
#include "base/csv.h"
#include "base/text.h"
#include "fuzz/input.h"

namespace postrider {
namespace {

constexpr CsvLimits kLimits{.cell_bytes_max = 64, .cells_max = 8};

std::vector<CsvRow> read_all(const std::string& text, bool& whole) {
  std::istringstream in{text};
  CsvReader reader{in, kLimits};
  std::vector<CsvRow> rows;
  for (;;) {
    auto row = reader.next();
    whole = row.has_value();
    if (!row || !*row) return rows;
    rows.push_back(std::move(**row));
  }
}

// As a spreadsheet sees it: the first byte of what it shows, numbers excepted.
bool would_calculate(std::string_view shown) {
  if (shown.empty() || std::string_view{"=+-@\t\r"}.find(shown.front()) == std::string_view::npos) return false;
  return shown.find_first_not_of("0123456789.", 1) != std::string_view::npos || shown.size() < 2 ||
         (shown.front() != '+' && shown.front() != '-');
}

std::string_view first_shown(std::string_view line) {
  if (line.starts_with('"')) line.remove_prefix(1);
  return line.substr(0, line.find_first_of(",\"\n"));
}

}  // namespace
}  // namespace postrider

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace postrider;
  bool whole = false;
  std::size_t line = 0;
  for (const CsvRow& row : read_all({reinterpret_cast<const char*>(data), size}, whole)) {
    POSTRIDER_CHECK(row.line > line);
    line = row.line;
    POSTRIDER_CHECK(!row.cells.empty() && row.cells.size() <= kLimits.cells_max);
    for (const std::string& cell : row.cells) {
      POSTRIDER_CHECK(cell.size() <= kLimits.cell_bytes_max && is_utf8(cell));
      const std::string alone = csv_line(std::span{&cell, 1});
      POSTRIDER_CHECK(!would_calculate(first_shown(std::string_view{alone}.substr(0, alone.size() - 2))));
    }
    // One apostrophe more may be one byte more than a cell may have.
    if (std::any_of(row.cells.begin(), row.cells.end(), [](const std::string& c) { return c.size() > 60; })) continue;
    bool again_whole = false;
    const auto again = read_all(csv_line(row.cells), again_whole);
    POSTRIDER_CHECK(again_whole && again.size() == 1 && again.front().cells == row.cells);
  }
  return 0;
}
