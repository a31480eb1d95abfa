#include "core/authoring/context_columns.h"

#include <gtest/gtest.h>

namespace postrider {
namespace {

using Names = std::vector<std::string>;

TEST(NamedColumns, AreTheLastNamesOfTheSelectList) {
  EXPECT_EQ(named_columns("SELECT a, b.c, d AS e, f g FROM t"), (Names{"a", "c", "e", "g"}));
  EXPECT_EQ(named_columns("select \"guestName\", b.\"Check In\" from t"), (Names{"guestName", "Check In"}));
  EXPECT_EQ(named_columns("SELECT DISTINCT a FROM t"), Names{"a"});
  EXPECT_EQ(named_columns("SELECT ALL a"), Names{"a"});
}

TEST(NamedColumns, OfCallsAndCasesOnlyTheirAliasIsKnown) {
  EXPECT_EQ(named_columns("SELECT count(*), max(a, b) AS m, coalesce(x, y) z FROM t"), (Names{"m", "z"}));
  EXPECT_EQ(named_columns("SELECT CASE WHEN a THEN b ELSE c END, CASE WHEN a THEN b END AS d FROM t"), Names{"d"});
  EXPECT_EQ(named_columns("SELECT 1, 'x', 2 AS two FROM t"), Names{"two"});
  EXPECT_EQ(named_columns("SELECT $1, $2 AS who, ?3 FROM t"), Names{"who"}) << "a parameter has no name of its own";
}

TEST(NamedColumns, ACastKeepsTheNameOfWhatIsCast) {
  EXPECT_EQ(named_columns("SELECT b.checkin::text, x::numeric(10,2), y::text AS z FROM b"),
            (Names{"checkin", "x", "z"}));
}

TEST(NamedColumns, InnerSelectsAndCommentsDoNotCount) {
  EXPECT_EQ(named_columns("WITH w AS (SELECT inner_name FROM x) SELECT a, (SELECT n FROM y) AS b FROM w"),
            (Names{"a", "b"}));
  EXPECT_EQ(named_columns("SELECT a -- , hidden\n, /* , other */ b FROM t"), (Names{"a", "b"}));
}

TEST(NamedColumns, AreSpelledWithLettersDigitsAndTheSignsThatSqlAllows) {
  for (int code = 33; code < 127; ++code) {
    const char c = static_cast<char>(code);
    const bool word = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_' || c == '$';
    const auto names = named_columns(std::string{"SELECT a"} + c + "b");
    EXPECT_EQ(names == Names{std::string{"a"} + c + "b"}, word) << c;
  }
  EXPECT_EQ(named_columns("SELECT größe FROM t"), Names{"größe"});
}

TEST(NamedColumns, EveryKindOfSpaceSeparatesAndACommentMayEndTheText) {
  EXPECT_EQ(named_columns("SELECT\ta\r\n, b\tFROM t"), (Names{"a", "b"}));
  EXPECT_EQ(named_columns("SELECT a -- and no more"), Names{"a"});
  EXPECT_EQ(named_columns("SELECT a /* and no more"), Names{"a"});
}

TEST(NamedColumns, ACastInsideACallIsNotTheItems) {
  EXPECT_EQ(named_columns("SELECT max(a::text) AS m, :b AS n FROM t"), (Names{"m", "n"}));
}

TEST(NamedColumns, AStarNamesNone) {
  EXPECT_EQ(named_columns("SELECT * FROM t"), std::nullopt);
  EXPECT_EQ(named_columns("SELECT a, b.* FROM t"), std::nullopt);
  EXPECT_EQ(named_columns("SELECT a * b AS area FROM t"), Names{"area"});
  EXPECT_EQ(named_columns("DELETE FROM t"), std::nullopt);
  EXPECT_EQ(named_columns(""), std::nullopt);
}

TEST(NamedColumns, BrokenSqlIsReadAsFarAsItGoes) {
  EXPECT_EQ(named_columns("SELECT"), Names{});
  EXPECT_EQ(named_columns("SELECT a, FROM t"), Names{"a"});
  EXPECT_EQ(named_columns("SELECT 'never closed, b FROM t"), Names{});
  EXPECT_EQ(named_columns("SELECT a *, b FROM t"), Names{"b"});
  EXPECT_EQ(named_columns("SELECT :: FROM t"), Names{});
  EXPECT_EQ(named_columns("SELECT a )) , b FROM t").has_value(), true);
}

}  // namespace
}  // namespace postrider
