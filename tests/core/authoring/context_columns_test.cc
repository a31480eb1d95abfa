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
  EXPECT_EQ(named_columns("SELECT :: FROM t"), Names{});
  EXPECT_EQ(named_columns("SELECT a )) , b FROM t").has_value(), true);
}

}  // namespace
}  // namespace postrider
