#include "base/json.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "base/wiped_json.h"

namespace postrider {
namespace {

using namespace std::string_literals;

void expect_wrong(const std::string& text, JsonLimits limits = {}) {
  const auto document = JsonDocument::parse(text, limits);
  ASSERT_FALSE(document) << excerpt(printable(text), 60);
  EXPECT_EQ(document.error().code, ErrorCode::Invalid);
  EXPECT_FALSE(document.error().text.empty());
}

TEST(Json, GoodDocumentsAreRead) {
  for (const char* text : {"null", "true", "0", "-0.5e-3", "\"\"", "[]", "{}", " { \"a\" : [ 1 , 2 ] } ",
                           "\"\\u00e9\\n\\\"\"", "\"\\ud83d\\ude00\"", "9223372036854775807", "18446744073709551615"}) {
    EXPECT_TRUE(JsonDocument::parse(text)) << text;
  }
}

TEST(Json, MalformedDocumentsAreRefusedWithAReason) {
  for (const std::string& text : {""s,
                                  " "s,
                                  "{"s,
                                  "}"s,
                                  "[1,]"s,
                                  "{\"a\":1,}"s,
                                  "{a:1}"s,
                                  "'a'"s,
                                  "nul"s,
                                  "01"s,
                                  "+1"s,
                                  "1."s,
                                  ".5"s,
                                  "0x1"s,
                                  "NaN"s,
                                  "Infinity"s,
                                  "\"a"s,
                                  "\"\n\""s,
                                  "\"\\x\""s,
                                  "\"\\u12\""s,
                                  "1 2"s,
                                  "{}{}"s,
                                  "[1]//"s,
                                  "\"a\0\""s,
                                  "\0"s,
                                  "\"\xff\""s,
                                  "\"\xc0\xaf\""s,
                                  "\"\xed\xa0\x80\""s,
                                  "\"\xf4\x90\x80\x80\""s,
                                  "\"\\ud800\""s,
                                  "\"\\udc00\\ud800\""s,
                                  "1e400"s,
                                  "-1e999"s,
                                  "99999999999999999999999999"s,
                                  std::string(1'000'000, '{'),
                                  std::string(1'000'000, '"')}) {
    expect_wrong(text);
  }
}

TEST(Json, AKeyGivenTwiceIsRefusedAtAnyDepth) {
  const auto document = JsonDocument::parse(R"({"a":1,"b":2,"a":3})");
  ASSERT_FALSE(document);
  EXPECT_EQ(document.error().text, "key \"a\" is given twice");
  expect_wrong(R"([{"x":{"a":1,"a":1}}])");
  expect_wrong(R"({"a":1,"\u0061":2})");
  EXPECT_TRUE(JsonDocument::parse(R"([{"a":1},{"a":1,"A":2,"b":{"a":1}}])"));
}

TEST(Json, AKeyGivenTwiceIsFoundAmongMany) {
  for (const std::size_t count : {2U, 31U, 32U, 33U, 200U}) {
    std::string members;
    for (std::size_t i = 1; i < count; ++i) members += "\"k" + std::to_string(i) + "\":" + std::to_string(i) + ",";
    EXPECT_TRUE(JsonDocument::parse("{" + members + "\"k0\":0}")) << count;
    EXPECT_TRUE(JsonDocument::parse("{\"k0\":0," + members + "\"k\":0}")) << count;
    for (const std::size_t twice : {std::size_t{1}, count / 2, count - 1}) {
      if (twice == 0) continue;
      const std::string key = "\"k" + std::to_string(twice) + "\"";
      expect_wrong("{" + members + key + ":0}");
      expect_wrong("{" + key + ":0," + members + "\"k0\":0}");
    }
  }
}

TEST(Json, DocumentsOfAnyDepthAndSizeMayBeOpenTogether) {
  std::vector<JsonDocument> open;
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < 10; ++i) {
      const std::string text = "{\"a\":" + std::to_string(i) + ",\"b\":\"" + std::string(i * 2'000, 'x') + "\"}";
      auto document = JsonDocument::parse(text, {.depth_max = 4 + i % 3});
      ASSERT_TRUE(document);
      open.push_back(std::move(*document));
    }
    expect_wrong("[[[[[[[[1]]]]]]]]", {.depth_max = 4});
    for (std::size_t i = 0; i < open.size(); ++i) {
      EXPECT_EQ(open[i].root().find("a")->integer(), static_cast<std::int64_t>(i));
      EXPECT_EQ(open[i].root().find("b")->text()->size(), i * 2'000);
    }
    open.clear();
  }
}

TEST(Json, DepthAndSizeHaveLimits) {
  const auto nested = [](std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
  EXPECT_TRUE(JsonDocument::parse(nested(60)));
  for (const std::size_t levels : {66U, 1'000U, 100'000U}) expect_wrong(nested(levels));
  expect_wrong(std::string(100'000, '['));
  EXPECT_NE(JsonDocument::parse(nested(1'000)).error().text.find("deeper than 64"), std::string::npos);
  EXPECT_TRUE(JsonDocument::parse("[1,2,3]", {.bytes_max = 7}));
  expect_wrong("[1,2,3]", {.bytes_max = 6});
}

TEST(JsonViews, FindMembersByKeyAndByPath) {
  const auto document = JsonDocument::parse(R"({"a":{"b":{"c":7}},"a.b":"flat","t":"x","n":null,"l":[1,"2",{"z":0}]})");
  const JsonView root = document->root();
  EXPECT_EQ(root.find_path("a.b.c")->integer(), 7);
  EXPECT_EQ(root.find_path("a.b")->text(), "flat");
  EXPECT_FALSE(root.find("missing"));
  EXPECT_FALSE(root.find_path("a.x.c"));
  EXPECT_FALSE(root.find_path("t.x"));
  EXPECT_FALSE(root.find_path("l.0"));
  EXPECT_FALSE(root.find_path("a..b"));
  EXPECT_FALSE(root.find("t")->find("x"));
  EXPECT_EQ(root.find("l")->items().size(), 3U);
  EXPECT_TRUE(root.find("t")->items().empty());
  EXPECT_TRUE(root.find("l")->members().empty());
  EXPECT_EQ(root.members().front().first, "a");
  EXPECT_EQ(root.members().size(), 5U);
}

TEST(JsonViews, FindTheSameWhereverTheLastSearchEnded) {
  const auto document = JsonDocument::parse(R"({"a":1,"b":{"a":2,"c":3},"c":[{"a":4}],"d":5,"e":{}})");
  const JsonView root = document->root();
  const std::vector<JsonView> objects{
      root, *root.find("b"), root.find("c")->items().front(), *root.find("e"), *root.find("c"), JsonView{}};
  JsonCursor near;
  for (const std::string_view first : {"a", "b", "c", "d", "e", "f", ""}) {
    for (const std::string_view second : {"a", "b", "c", "d", "e", "f", ""}) {
      for (const JsonView& object : objects) {
        for (const std::string_view key : {first, second}) {
          const auto expected = object.find(key);
          const auto found = object.find(key, near);
          ASSERT_EQ(found.has_value(), expected.has_value()) << key << " in " << object.json();
          EXPECT_EQ(found ? found->json() : "", expected ? expected->json() : "");
        }
      }
    }
  }
  const auto other = JsonDocument::parse(R"({"a":6,"b":{"a":7,"c":8},"c":[{"a":9}],"d":0,"e":{}})");
  EXPECT_EQ(root.find("d", near)->integer(), 5);
  EXPECT_EQ(other->root().find("a", near)->integer(), 6) << "a cursor of another document";
  EXPECT_EQ(root.find("a", near)->integer(), 1);
}

TEST(JsonViews, TellTheirKindAndNothingElse) {
  const auto document = JsonDocument::parse(R"([null,true,17,"t",[],{},1.5,18446744073709551615])");
  const auto items = document->root().items();
  const std::vector<JsonKind> kinds{JsonKind::Null,  JsonKind::Bool,   JsonKind::Number, JsonKind::Text,
                                    JsonKind::Array, JsonKind::Object, JsonKind::Number, JsonKind::Number};
  for (std::size_t i = 0; i < kinds.size(); ++i) EXPECT_EQ(items[i].kind(), kinds[i]) << i;
  EXPECT_EQ(items[1].boolean(), true);
  EXPECT_EQ(items[2].integer(), 17);
  EXPECT_FALSE(items[2].text());
  EXPECT_FALSE(items[3].integer());
  EXPECT_FALSE(items[6].integer());
  EXPECT_FALSE(items[7].integer()) << "does not fit";
  EXPECT_FALSE(items[0].boolean());
  EXPECT_EQ(JsonView{}.kind(), JsonKind::Null);
  EXPECT_FALSE(JsonView{}.find("a"));
  EXPECT_EQ(JsonView{}.json(), "null");
}

TEST(JsonViews, SpeakScalarsAsAPersonWouldWriteThem) {
  const auto document = JsonDocument::parse(R"({"n":null,"t":"a \"b\"","i":-7,"y":true,"l":[1, 2],"o":{"k": "v"}})");
  const JsonView root = document->root();
  EXPECT_EQ(root.find("n")->spoken(), "");
  EXPECT_EQ(root.find("t")->spoken(), "a \"b\"");
  EXPECT_EQ(root.find("i")->spoken(), "-7");
  EXPECT_EQ(root.find("y")->spoken(), "true");
  EXPECT_EQ(root.find("l")->spoken(), "[1,2]");
  EXPECT_EQ(root.find("o")->spoken(), R"({"k":"v"})");
}

TEST(JsonViews, StayValidWhenTheirDocumentMoves) {
  auto first = JsonDocument::parse(R"({"a":"text"})");
  const JsonView view = *first->root().find("a");
  const JsonDocument second = std::move(*first);
  EXPECT_EQ(view.text(), "text");
}

TEST(JsonWriter, PutsCommasByItself) {
  JsonWriter w;
  w.begin_object().member("a", 1).member("b", "x").key("c").begin_array().value(true).null().value(2.5).end_array();
  w.key("d").begin_object().end_object().member("e", std::optional<std::string>{}).key("f").raw("[0]").end_object();
  EXPECT_EQ(w.text(), R"({"a":1,"b":"x","c":[true,null,2.5],"d":{},"e":null,"f":[0]})");
}

TEST(JsonWriter, EscapesSoThatAnyTextIsReadBackExactly) {
  std::string all;
  for (int byte = 0; byte < 0x80; ++byte) all += static_cast<char>(byte);
  all += "é€😀";
  JsonWriter w;
  w.begin_object().key(all).value(all).end_object();
  const auto document = JsonDocument::parse(w.text());
  ASSERT_TRUE(document) << document.error().text;
  EXPECT_EQ(document->root().members().at(0).first, all);
  EXPECT_EQ(document->root().find(all)->text(), all);
  for (const char c : w.text()) EXPECT_GE(static_cast<unsigned char>(c), 0x20);
}

TEST(JsonWriter, NumbersAreReadBackExactly) {
  for (const std::int64_t number : {std::int64_t{0}, std::int64_t{-1}, INT64_MAX, INT64_MIN}) {
    JsonWriter w;
    w.value(number);
    EXPECT_EQ(JsonDocument::parse(w.text())->root().integer(), number);
  }
  for (const double number : {0.1, 1e300, -2.5e-9, 3.0}) {
    JsonWriter w;
    w.value(number);
    EXPECT_TRUE(JsonDocument::parse(w.text())) << w.text();
  }
}

TEST(JsonViews, GiveAnyNumberAsTheNearestDouble) {
  const auto document = JsonDocument::parse(R"([1,-2.5,18446744073709551615,0.0,"1",null])");
  const auto items = document->root().items();
  EXPECT_EQ(items[0].number(), 1.0);
  EXPECT_EQ(items[1].number(), -2.5);
  EXPECT_EQ(items[2].number(), 18446744073709551615.0);
  EXPECT_EQ(items[3].number(), 0.0);
  EXPECT_FALSE(items[4].number());
  EXPECT_FALSE(items[5].number());
}

TEST(JsonCursor, GoesThroughMembersAndItemsInTheirOrder) {
  const auto document = JsonDocument::parse(R"({"a":[1,[2,3],{"x":4},"five"],"b":{},"c":7,"d":[]})");
  std::string walked;
  for (JsonCursor at{document->root()}; !at.at_end(); at.advance()) {
    walked += std::string{at.key()} + "=" + at.value().json() + " ";
    for (JsonCursor inner{at.value()}; !inner.at_end(); inner.advance()) walked += inner.value().json() + ";";
  }
  EXPECT_EQ(walked, R"(a=[1,[2,3],{"x":4},"five"] 1;[2,3];{"x":4};"five";b={} c=7 d=[] )");
  EXPECT_EQ(document->root().size(), 4U);
  EXPECT_EQ(document->root().find("a")->size(), 4U);
  EXPECT_EQ(document->root().find("b")->size(), 0U);
  EXPECT_EQ(document->root().find("c")->size(), 0U);
  EXPECT_TRUE(JsonCursor{*document->root().find("c")}.at_end());
  EXPECT_TRUE(JsonCursor{}.at_end());
  EXPECT_TRUE(JsonCursor{JsonView{}}.at_end());
}

TEST(WipedJson, ReadsTheSame) {
  const std::string text = R"({"token":"hush \u00e9","pin":4711,"list":[1,{"a":"b"},null]})";
  const std::string large = "[\"" + std::string(100'000, 'x') + "\"]";
  for (int i = 0; i < 3; ++i) {
    const WipedJson wiped;
    const auto document = JsonDocument::parse(text);
    ASSERT_TRUE(document);
    EXPECT_EQ(document->root().find("pin")->integer(), 4711);
    EXPECT_EQ(document->root().json(), "{\"token\":\"hush \u00e9\",\"pin\":4711,\"list\":[1,{\"a\":\"b\"},null]}");
    EXPECT_EQ(JsonDocument::parse(large)->root().items().size(), 1U);
    for (const char* wrong : {"", "{", "{\"a\":1,\"a\":2}", "1e999", "\"\xff\""})
      EXPECT_FALSE(JsonDocument::parse(wrong)) << wrong;
  }
  EXPECT_EQ(JsonDocument::parse(text)->root().find("token")->text(), "hush \u00e9") << "and afterwards as before";
}

}  // namespace
}  // namespace postrider
