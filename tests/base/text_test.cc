#include "base/text.h"

#include <gtest/gtest.h>

#include <array>

#include "base/prng.h"

namespace postrider {
namespace {

using namespace std::string_literals;

std::string noise(Prng& dice, std::size_t length) {
  std::string out;
  for (std::size_t i = 0; i < length; ++i) out += static_cast<char>(dice.below(256));
  return out;
}

TEST(Hex, IsReadBackInEitherCaseAndNothingElseIs) {
  EXPECT_EQ(to_hex("\x00\xff\x1a"s), "00ff1a");
  EXPECT_EQ(from_hex("00fF1A"), "\x00\xff\x1a"s);
  for (const char* text : {"0", "0g", " 00", "0x00", "é"}) EXPECT_FALSE(from_hex(text)) << text;
}

TEST(Base64, HasTheVectorsOfItsStandard) {
  const std::vector<std::pair<std::string, std::string>> vectors{{"", ""},
                                                                 {"f", "Zg=="},
                                                                 {"fo", "Zm8="},
                                                                 {"foo", "Zm9v"},
                                                                 {"foob", "Zm9vYg=="},
                                                                 {"fooba", "Zm9vYmE="},
                                                                 {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, coded] : vectors) {
    EXPECT_EQ(to_base64(plain), coded);
    EXPECT_EQ(from_base64(coded), plain);
  }
}

TEST(Base64, OnlyTheOneRightFormIsRead) {
  for (const std::string& text : {"Zg"s, "Zg="s, "Zg==="s, "Z==="s, "===="s, "Zg==Zg=="s, "Zm9v\n"s, " Zm9v"s, "Zm 9v"s,
                                  "Zm9_"s, "Zm9-"s, "Zh=="s, "Zm9="s, "=Zm9"s, "Zm9\0"s}) {
    EXPECT_FALSE(from_base64(text)) << printable(text);
  }
}

TEST(Base64, AnyBytesAreReadBackExactly) {
  Prng dice{1};
  for (std::size_t length = 0; length < 200; ++length) {
    const std::string bytes = noise(dice, length);
    EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
    EXPECT_EQ(from_hex(to_hex(bytes)), bytes);
  }
}

TEST(Utf8, IsRecognisedStrictly) {
  for (const std::string& good : {""s, "a"s, "\x7f"s, "é"s, "€"s, "😀"s, "\xf4\x8f\xbf\xbf"s, "\xed\x9f\xbf"s, "\0"s})
    EXPECT_TRUE(is_utf8(good)) << to_hex(good);
  for (const std::string& bad :
       {"\x80"s, "\xbf"s, "\xc0\x80"s, "\xc1\xbf"s, "\xc3"s, "\xc3("s, "\xe0\x80\x80"s, "\xe2\x82"s, "\xed\xa0\x80"s,
        "\xf0\x80\x80\x80"s, "\xf0\x9f\x98"s, "\xf4\x90\x80\x80"s, "\xf5\x80\x80\x80"s, "\xff"s, "a\xfe"s})
    EXPECT_FALSE(is_utf8(bad)) << to_hex(bad);
}

TEST(Excerpts, AreCutAtACharactersBorderAndSayThatTheyWereCut) {
  EXPECT_EQ(excerpt("hello", 5), "hello");
  EXPECT_EQ(excerpt("hello", 4), "hell…");
  EXPECT_EQ(excerpt("aé", 2), "a…");
  EXPECT_EQ(excerpt("€€", 5), "€…");
  EXPECT_EQ(excerpt("", 0), "");
  EXPECT_EQ(excerpt("abc", 0), "…");
}

TEST(Excerpts, NeverBreakAnyValidText) {
  std::string text;
  Prng dice{4};
  for (int i = 0; i < 50; ++i) text += std::array{"a"s, "é"s, "€"s, "😀"s}[dice.below(4)];
  for (std::size_t bytes = 0; bytes <= text.size(); ++bytes) {
    const std::string cut = excerpt(text, bytes);
    EXPECT_TRUE(is_utf8(cut));
    EXPECT_LE(cut.size(), bytes + 3);
  }
}

TEST(Excerpts, ThatArePrintableAreTheExcerptOfWhatIsPrintable) {
  Prng dice{7};
  for (int round = 0; round < 2'000; ++round) {
    const std::string text = noise(dice, dice.below(20));
    for (const std::size_t bytes : {std::size_t{0}, text.size() / 2, text.size(), text.size() + 1})
      ASSERT_EQ(printable_excerpt(text, bytes), excerpt(printable(text), bytes));
  }
  EXPECT_EQ(printable_excerpt("plain", 5), "plain");
  EXPECT_EQ(printable_excerpt("plain", 4), "plai…");
}

TEST(Printable, MakesAnyBytesSafe) {
  EXPECT_EQ(printable("a\r\nb\0c\x7f"s), "a  b c ");
  EXPECT_EQ(printable("\xff\xc3-é"),
            "?"
            "?-é");
  Prng dice{6};
  for (int round = 0; round < 2'000; ++round) {
    const std::string safe = printable(noise(dice, dice.below(40)));
    ASSERT_TRUE(is_utf8(safe));
    ASSERT_FALSE(has_control(safe));
  }
}

TEST(MaskedAddresses, ShowEnoughToRecogniseAndNotEnoughToWrite) {
  EXPECT_EQ(mask_address("anna@example.org"), "a•••@example.org");
  EXPECT_EQ(mask_address("émile@example.org"), "é•••@example.org");
  EXPECT_EQ(mask_address("+4915112344711"), "+49•••4711");
  EXPECT_EQ(mask_address("12345"), "•••");
  EXPECT_EQ(mask_address(""), "");
  EXPECT_EQ(mask_address("https://hooks.example.org/T000/B000/token"), "https://hooks.example.org/•••");
  EXPECT_EQ(mask_address("https://hooks.example.org"), "https://hooks.example.org");
}

TEST(MaskedAddresses, NeverShowTheSecretPartOfAUrl) {
  for (const char* url : {"https://user:hunter2@example.org/x", "https://example.org/hunter2",
                          "https://example.org/a@b/hunter2", "https://example.org?key=hunter2",
                          "https://example.org/x?mail=a@hunter2.org", "https://user@example.org/hunter2"}) {
    EXPECT_EQ(mask_address(url).find("hunter2"), std::string::npos) << mask_address(url);
  }
}

TEST(MaskedAddresses, AreSafeToShowWhateverTheAddressWas) {
  Prng dice{8};
  for (int round = 0; round < 5'000; ++round) {
    const std::string address = noise(dice, dice.below(20));
    ASSERT_TRUE(is_utf8(printable(mask_address(address))));
  }
}

TEST(Words, AreTrimmedLoweredComparedAndSplit) {
  EXPECT_EQ(trim(" \t a b \r\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
  EXPECT_EQ(lower("AbZ-É"), "abz-É");
  EXPECT_TRUE(equal_ignoring_case("Content-Type", "content-TYPE"));
  EXPECT_FALSE(equal_ignoring_case("a", "ab"));
  EXPECT_EQ(split("a,,b,", ','), (std::vector<std::string_view>{"a", "", "b", ""}));
  EXPECT_EQ(split("", ','), (std::vector<std::string_view>{""}));
}

TEST(Text, CharactersAreTakenOneByOneAndBrokenBytesAreReplaced) {
  std::string_view text = "aä€😀\xffz";
  std::u32string taken;
  while (!text.empty()) taken += take_character(text);
  EXPECT_EQ(taken, U"aä€😀\uFFFDz");
}

TEST(Text, CaseIsIgnoredForLettersOfAsciiOnly) {
  EXPECT_TRUE(equal_ignoring_case("GuestPhone", "guestphone"));
  EXPECT_FALSE(equal_ignoring_case("guest", "guests"));
  EXPECT_FALSE(equal_ignoring_case("Ä", "ä"));
  EXPECT_FALSE(equal_ignoring_case("[", "{")) << "they differ by the bit that letters do";
  EXPECT_TRUE(starts_with_ignoring_case("guestPhone", "GUEST"));
  EXPECT_TRUE(starts_with_ignoring_case("x", ""));
  EXPECT_FALSE(starts_with_ignoring_case("gue", "guest"));
}

}  // namespace
}  // namespace postrider
