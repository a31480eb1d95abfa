// Reasons are a promise: each has one number, one code and one sentence.
#include "core/reason.h"

#include <gtest/gtest.h>

#include <set>

namespace postrider {
namespace {

TEST(Reasons, EachIsFoundByItsNumberAndItsCodeAndHasWordsOfItsOwn) {
  std::set<std::string_view> codes;
  std::size_t count = 0;
#define X(name, number, code, words)                     \
  EXPECT_EQ(reason_from(number), Reason::name);          \
  EXPECT_EQ(code_of(Reason::name), code);                \
  EXPECT_EQ(parse_reason(code), Reason::name);           \
  EXPECT_EQ(words_of(Reason::name), words);              \
  EXPECT_FALSE(words_of(Reason::name).empty()) << #name; \
  codes.insert(code);                                    \
  ++count;
  POSTRIDER_REASONS(X)
#undef X
  EXPECT_EQ(codes.size(), count) << "a code is given twice";
}

TEST(Reasons, WhatIsNoneIsNone) {
  for (const int number : {-1, 30'000}) EXPECT_FALSE(reason_from(number)) << number;
  for (const char* code : {"", "Expanded", "no_such_reason"}) EXPECT_FALSE(parse_reason(code)) << code;
}

TEST(Reasons, SomeSayThatAnExpansionIsTriedAgain) {
  EXPECT_TRUE(is_failure_of_expansion(Reason::ContextFailed));
  EXPECT_TRUE(is_failure_of_expansion(Reason::ExpansionFailed));
  EXPECT_FALSE(is_failure_of_expansion(Reason::Expanding));
}

}  // namespace
}  // namespace postrider
