#include "base/csv.h"

#include <gtest/gtest.h>

#include <sstream>

namespace postrider {
namespace {

using Cells = std::vector<std::string>;

struct ReadAll {
  std::vector<Cells> rows = {};
  std::vector<std::size_t> lines = {};
  std::string error = {};
};
ReadAll read(const std::string& text, CsvLimits limits = {}) {
  std::istringstream in{text};
  CsvReader reader{in, limits};
  ReadAll all;
  for (;;) {
    auto row = reader.next();
    if (!row) {
      all.error = row.error().text;
      EXPECT_FALSE(reader.next().value()) << "after an error there is nothing more";
      return all;
    }
    if (!*row) return all;
    all.lines.push_back((*row)->line);
    all.rows.push_back(std::move((*row)->cells));
  }
}

TEST(Csv, RowsAndCellsOfEveryForm) {
  const ReadAll all = read("a,b,c\r\n1,,\"x,\"\"y\"\"\"\n\"two\r\nlines\",z,\n,,\nlast,1,2");
  EXPECT_EQ(all.error, "");
  EXPECT_EQ(all.rows,
            (std::vector<Cells>{
                {"a", "b", "c"}, {"1", "", "x,\"y\""}, {"two\r\nlines", "z", ""}, {"", "", ""}, {"last", "1", "2"}}));
  EXPECT_EQ(all.lines, (std::vector<std::size_t>{1, 2, 3, 5, 6}));
}

TEST(Csv, EmptyLinesAndAByteOrderMarkAreLeftOut) {
  EXPECT_EQ(read("\xEF\xBB\xBF"
                 "a,b\n\n\r\n1,2\n\n")
                .rows,
            (std::vector<Cells>{{"a", "b"}, {"1", "2"}}));
  EXPECT_TRUE(read("").rows.empty());
  EXPECT_TRUE(read("\n\n").rows.empty());
  EXPECT_EQ(read("\"\"\n").rows, (std::vector<Cells>{{""}})) << "an empty cell, said with quotation marks";
}

TEST(Csv, WhatIsWrongIsToldWithLineAndCell) {
  EXPECT_EQ(read("a\nb,\"never").error, "line 2, cell 2: a quotation mark is never closed");
  EXPECT_EQ(read("a,\"b\"c").error, "line 1, cell 2: something stands behind the closing quotation mark");
  EXPECT_EQ(read("a,b\"c").error, "line 1, cell 2: a quotation mark inside a cell that is not quoted");
  EXPECT_EQ(read("x\na\rb").error, "line 2, cell 1: a carriage return outside quotation marks");
  EXPECT_EQ(read(std::string{"a\0b", 3}).error, "line 1, cell 1: contains a NUL");
  EXPECT_EQ(read("a,\xFF\n").error, "line 1, cell 2: is not UTF-8");
  EXPECT_EQ(read("a\n\"b\n\nc").error, "line 2, cell 1: a quotation mark is never closed") << "where it began";
  EXPECT_EQ(read("\xEFzz").error, "line 1, cell 1: is not UTF-8");
}

TEST(Csv, EverythingHasALimit) {
  EXPECT_EQ(read("abcd", {.cell_bytes_max = 4}).error, "");
  EXPECT_EQ(read("abcde", {.cell_bytes_max = 4}).error, "line 1, cell 1: is longer than 4 bytes");
  EXPECT_EQ(read("\"abcde\"", {.cell_bytes_max = 4}).error, "line 1, cell 1: is longer than 4 bytes");
  EXPECT_EQ(read("a,b", {.cells_max = 2}).error, "");
  EXPECT_EQ(read("a,b,c", {.cells_max = 2}).error, "line 1, cell 3: more than 2 cells in one line");
}

TEST(Csv, ACellThatWouldBeAFormulaGetsAnApostrophe) {
  for (const std::string formula : {"=1+1", "+cmd|x", "-2+3", "@SUM(A1)", "\tx", "+49 30 123", "--1", "-", "+1e5"}) {
    EXPECT_EQ(csv_line(Cells{formula, "x"}), "'" + formula + ",x\r\n");
  }
  EXPECT_EQ(csv_line(Cells{"\rx"}), "\"'\rx\"\r\n");
}

TEST(Csv, NumbersAndPhoneNumbersStayAsTheyAre) {
  for (const std::string plain : {"+919876543210", "-12", "-3.50", "+1", "42", "a=b", "'quoted'", "x"}) {
    EXPECT_EQ(csv_line(Cells{plain}), plain + "\r\n");
  }
}

TEST(Csv, TheApostropheIsTakenOffAgain) {
  EXPECT_EQ(read("'=1+1,'+919876543210,'x,'").rows, (std::vector<Cells>{{"=1+1", "+919876543210", "'x", "'"}}));
}

TEST(Csv, WhatWasWrittenIsReadBackAsItWas) {
  const std::vector<Cells> rows{{"=1", "'=1", "''=1", "'", "''", "+919876543210", "'+919876543210"},
                                {"a\"b", "a,b", "a\nb", "a\r\nb", " a ", "", "\t"},
                                {""},
                                {"", ""},
                                {"\r", "'\r", "é", "-1", "-x"},
                                {"\xEF\xBB\xBF", "\xEF\xBB\xBFname"}};
  EXPECT_EQ(read("\uff01a,b").rows, (std::vector<Cells>{{"\uff01a", "b"}})) << "begins with the mark's first byte";
  EXPECT_EQ(read("\ufec0a\n").rows, (std::vector<Cells>{{"\ufec0a"}})) << "and with its second";
  EXPECT_NE(read("\xEF\xBB").error, "");
  std::string text;
  for (const Cells& row : rows) text += csv_line(row);
  const ReadAll all = read(text);
  EXPECT_EQ(all.error, "");
  EXPECT_EQ(all.rows, rows);
}

}  // namespace
}  // namespace postrider
