#include "core/sms_segments.h"

#include <gtest/gtest.h>

#include <string>

namespace postrider {
namespace {

std::string times(std::size_t count, std::string_view what) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += what;
  return out;
}

void expect_size(const std::string& text, SmsAlphabet alphabet, std::size_t units, std::size_t segments) {
  const SmsSize size = sms_size(text);
  EXPECT_EQ(size.alphabet, alphabet) << text;
  EXPECT_EQ(size.units, units) << text;
  EXPECT_EQ(size.segments, segments) << text;
}

TEST(SmsSegments, Gsm7Holds160AloneAnd153InARow) {
  expect_size("", SmsAlphabet::Gsm7, 0, 0);
  expect_size("a", SmsAlphabet::Gsm7, 1, 1);
  expect_size(times(160, "a"), SmsAlphabet::Gsm7, 160, 1);
  expect_size(times(161, "a"), SmsAlphabet::Gsm7, 161, 2);
  expect_size(times(306, "a"), SmsAlphabet::Gsm7, 306, 2);
  expect_size(times(307, "a"), SmsAlphabet::Gsm7, 307, 3);
  expect_size(times(459, "a"), SmsAlphabet::Gsm7, 459, 3);
  expect_size(times(460, "a"), SmsAlphabet::Gsm7, 460, 4);
}

TEST(SmsSegments, Ucs2Holds70AloneAnd67InARow) {
  expect_size("ж", SmsAlphabet::Ucs2, 1, 1);
  expect_size(times(70, "ж"), SmsAlphabet::Ucs2, 70, 1);
  expect_size(times(71, "ж"), SmsAlphabet::Ucs2, 71, 2);
  expect_size(times(134, "ж"), SmsAlphabet::Ucs2, 134, 2);
  expect_size(times(135, "ж"), SmsAlphabet::Ucs2, 135, 3);
  expect_size(times(70, "a") + "ж", SmsAlphabet::Ucs2, 71, 2);
}

TEST(SmsSegments, EveryCharacterOfTheDefaultAlphabetIsOneSeptet) {
  for (const char* c :
       {"@", "£", "$", "¥", "è", "é", "ù", "ì", "ò", "Ç", "\n", "Ø", "ø", "\r", "Å",  "å", "Δ", "_", "Φ",
        "Γ", "Λ", "Ω", "Π", "Ψ", "Σ", "Θ", "Ξ", "Æ", "æ", "ß",  "É", " ", "!",  "\"", "#", "¤", "%", "&",
        "'", "(", "?", "¡", "A", "Z", "Ä", "Ö", "Ñ", "Ü", "§",  "¿", "a", "z",  "ä",  "ö", "ñ", "ü", "à"}) {
    expect_size(c, SmsAlphabet::Gsm7, 1, 1);
  }
}

TEST(SmsSegments, TheExtensionTableTakesTwoSeptets) {
  for (const char* c : {"\f", "^", "{", "}", "\\", "[", "~", "]", "|", "€"}) expect_size(c, SmsAlphabet::Gsm7, 2, 1);
  expect_size(times(80, "€"), SmsAlphabet::Gsm7, 160, 1);
  expect_size(times(81, "€"), SmsAlphabet::Gsm7, 162, 2);
}

TEST(SmsSegments, WhatLooksAlikeButIsInNeitherTableMakesItUcs2) {
  for (const char* c : {"`", "ç", "á", "\t", "’", "–", "\u00a0", "\u202f", "“", "ê", "₹"}) {
    expect_size(c, SmsAlphabet::Ucs2, 1, 1);
  }
}

TEST(SmsSegments, NoCharacterIsCutInTwo) {
  // 152 septets, then a pair that needs two: it opens the second segment, and the last septet of the first stays empty.
  expect_size(times(152, "a") + "€" + times(152, "a"), SmsAlphabet::Gsm7, 306, 3);
  expect_size(times(151, "a") + "€" + times(153, "a"), SmsAlphabet::Gsm7, 306, 2);
  expect_size(times(66, "ж") + "😀" + times(66, "ж"), SmsAlphabet::Ucs2, 134, 3);
  expect_size(times(35, "😀"), SmsAlphabet::Ucs2, 70, 1);
  expect_size(times(36, "😀"), SmsAlphabet::Ucs2, 72, 2);
}

TEST(SmsSegments, BytesThatAreNoUtf8CountAsOneCharacterEach) { expect_size("\xff\xfe", SmsAlphabet::Ucs2, 2, 1); }

}  // namespace
}  // namespace postrider
