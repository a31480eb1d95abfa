// The application's own query, what its record says, and what templates see of it.
#include "core/context.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/limits.h"

namespace postrider {
namespace {

std::string compiled(std::string_view sql, SqlDialect dialect = SqlDialect::Postgres) {
  const auto made = compile_context_sql(sql, dialect);
  if (!made) return made.error().text;
  return fmt::format("{} <{}>", made->text, fmt::join(made->parameters, ","));
}

TEST(ContextSql, NamesBecomeNumbersEachOnce) {
  EXPECT_EQ(compiled("SELECT a FROM b WHERE id = :entity_id AND t = :tenant AND x = :entity_id"),
            "SELECT a FROM b WHERE id = $1 AND t = $2 AND x = $1 <entity_id,tenant>");
  EXPECT_EQ(compiled("SELECT a FROM b WHERE id=:entity_id", SqlDialect::Sqlite),
            "SELECT a FROM b WHERE id=?1 <entity_id>");
  EXPECT_EQ(compiled("SELECT {fn f(:tenant)}, {:tenant}"), "SELECT {fn f($1)}, {$1} <tenant>");
  EXPECT_EQ(compiled("SELECT :payload.Guest_2.id+:payload.x"), "SELECT $1+$2 <payload.Guest_2.id,payload.x>");
}

TEST(ContextSql, WhatIsQuotedCommentedOrCastIsLeftAlone) {
  for (const char* same : {"SELECT ':x', a", "SELECT 'it''s :x', a", "SELECT \":x\" FROM t", "SELECT a -- :x\n, b",
                           "SELECT a /* :x */, b", "SELECT a::text - b", "SELECT a / b"}) {
    EXPECT_EQ(compiled(same), fmt::format("{} <>", same));
  }
  for (const char* open : {"SELECT ':x", "SELECT \":x", "SELECT 1 -- :x", "SELECT 1 /* :x"}) {
    EXPECT_EQ(compiled(open), fmt::format("{} <>", open)) << "the database will say what is wrong with it";
  }
}

TEST(ContextSql, OtherNamesAreRefused) {
  for (const char* name : {"entity", "payload", "payload.", "payload.a.", "[1]"}) {
    const std::string shown = name[0] == '[' ? "" : name;
    EXPECT_EQ(compiled(fmt::format("SELECT :{}", name)),
              fmt::format("\":{}\" is not one of :tenant, :entity_id, :entity_ids, :payload.NAME", shown));
  }
  EXPECT_EQ(compiled(" \n"), "the query is empty");
  EXPECT_EQ(compiled(""), "the query is empty");
}

TEST(ContextSql, AQuestionAboutManyIsNotAboutOne) {
  EXPECT_TRUE(compile_context_sql("SELECT :entity_ids, :tenant", SqlDialect::Postgres)->for_many());
  EXPECT_FALSE(compile_context_sql("SELECT :entity_id", SqlDialect::Postgres)->for_many());
  const char* refused = ":entity_ids asks for many messages at once; :entity_id and :payload.NAME do not go with it";
  EXPECT_EQ(compiled("SELECT :entity_ids, :entity_id"), refused);
  EXPECT_EQ(compiled("SELECT :entity_ids, :payload.a"), refused);
}

TEST(CancelCondition, HoldsForTheValuesItNamesInLettersOfAnyCase) {
  const CancelCondition condition{.field = "booking.status", .values = {"Cancelled", "3"}};
  const auto because = [&](std::string_view data) {
    return cancelled_because(condition, JsonDocument::parse(data)->root()).value_or("");
  };
  EXPECT_EQ(because(R"({"booking":{"status":"CANCELLED"}})"), "booking.status is CANCELLED");
  EXPECT_EQ(because(R"({"booking":{"status":3}})"), "booking.status is 3");
  EXPECT_EQ(because(R"({"booking":{"status":"Confirmed"}})"), "");
  EXPECT_EQ(because(R"({"booking":{}})"), "");
  EXPECT_FALSE(cancelled_because({}, JsonDocument::parse("{}")->root()));
}

TEST(TemplateData, TheRecordIsBeforeThePayloadAndASecretBeforeBoth) {
  EXPECT_EQ(merged_data({}), "{}");
  EXPECT_EQ(merged_data({.payload = R"({"a":1,"b":2})", .record = R"({"b":3,"c":4})"}), R"({"b":3,"c":4,"a":1})");
  EXPECT_EQ(merged_data({.payload = R"({"secret":"mine","contact":"own"})",
                         .contact = R"({"name":"Ada"})",
                         .secret = R"({"code":"hush"})"}),
            R"({"secret":{"code":"hush"},"contact":"own"})");
  EXPECT_EQ(merged_data({.payload = "{}", .contact = R"({"name":"Ada"})"}), R"({"contact":{"name":"Ada"}})");
}

TEST(TemplateData, WhatCannotBeReadIsLeftOut) {
  EXPECT_EQ(merged_data({.payload = R"({"a":1})", .record = "no object"}), R"({"a":1})");
}

}  // namespace
}  // namespace postrider
