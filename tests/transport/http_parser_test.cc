#include "net/http_parser.h"

#include <gtest/gtest.h>

namespace postrider::net {
namespace {

constexpr HttpLimits kSmall{.header_bytes_max = 512, .headers_max = 5, .body_bytes_max = 10};

// All at once and byte by byte must come to the same.
Parsed parse(HttpRole role, const std::string& text) {
  HttpParser whole{role, kSmall};
  const Parsed at_once = whole.put(text).state;
  HttpParser pieces{role, kSmall};
  std::size_t begin = 0;
  Parsed state = Parsed::NeedMore;
  for (std::size_t end = 1; end <= text.size() && state == Parsed::NeedMore; ++end) {
    const Fed fed = pieces.put(std::string_view{text}.substr(begin, end - begin));
    begin += fed.consumed;
    state = fed.state;
  }
  EXPECT_EQ(at_once, state) << text;
  EXPECT_EQ(whole.message().body, pieces.message().body);
  return at_once;
}
Parsed request(const std::string& text) { return parse(HttpRole::Request, text); }
Parsed response(const std::string& text) { return parse(HttpRole::Response, text); }

TEST(HttpParser, RequestsWithAndWithoutABodyAreRead) {
  EXPECT_EQ(request("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), Parsed::Complete);
  EXPECT_EQ(request("\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"), Parsed::Complete);
  EXPECT_EQ(request("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"), Parsed::Complete);
  EXPECT_EQ(request("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"),
            Parsed::Complete);
  EXPECT_EQ(request("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nab"), Parsed::NeedMore);
}

TEST(HttpParser, WhatTwoParsersCouldReadDifferentlyIsMalformed) {
  const char* const bad[] = {
      "GET / HTTP/1.1\nHost: a\n\n",
      "GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n",
      "GET / HTTP/1.1\r\nX: a\r\n folded\r\n\r\n",
      "GET / HTTP/1.1\r\nX:\r\n\tfolded\r\n\r\n",
      "GET / HTTP/1.1\r\n X: a\r\n\r\n",
      "GET / HTTP/1.1\r\nX : a\r\n\r\n",
      "GET / HTTP/1.1\r\n: a\r\n\r\n",
      "GET / HTTP/1.1\r\nno colon\r\n\r\n",
      "GET / HTTP/1.1\r\nX: a\rb\r\n\r\n",
      "GET  / HTTP/1.1\r\n\r\n",
      "GET / HTTP/2.0\r\n\r\n",
      "GET / HTTP/1.1 \r\n\r\n",
      "GET /a b HTTP/1.1\r\n\r\n",
      "POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
      "POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
      "POST / HTTP/1.1\r\nContent-Length: 3, 3\r\n\r\nabc",
      "POST / HTTP/1.1\r\nContent-Length: +3\r\n\r\nabc",
      "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
      "POST / HTTP/1.1\r\nContent-Length: 0x3\r\n\r\nabc",
      "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\nabc",
      "POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcde\r\n",
  };
  for (const char* text : bad) EXPECT_EQ(request(text), Parsed::Malformed) << text;
  EXPECT_EQ(request(std::string{"GET / HTTP/1.1\r\nX: a\0b\r\n\r\n", 26}), Parsed::Malformed);
}

TEST(HttpParser, LimitsEndAMessage) {
  EXPECT_EQ(request("GET /" + std::string(600, 'a')), Parsed::HeaderTooLarge);
  EXPECT_EQ(request("GET / HTTP/1.1\r\nA: 1\r\nB: 2\r\nC: 3\r\nD: 4\r\nE: 5\r\nF: 6\r\n\r\n"), Parsed::HeaderTooLarge);
  EXPECT_EQ(request("POST / HTTP/1.1\r\nContent-Length: 11\r\n\r\n"), Parsed::BodyTooLarge);
  EXPECT_EQ(request("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n"), Parsed::BodyTooLarge);
  EXPECT_EQ(request("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nabcdef\r\n6\r\n"), Parsed::BodyTooLarge);
  EXPECT_EQ(request("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;" + std::string(600, 'x')),
            Parsed::Malformed);
}

TEST(HttpParser, AnEmptyChunkedBodyMayArriveByteByByte) {
  const std::string head = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(request(head + "0\r\n\r\n"), Parsed::Complete);
  EXPECT_EQ(request(head + "00\r\n\r\n"), Parsed::Complete);
  EXPECT_EQ(request(head + "0\r\nX: y\r\n\r\n"), Parsed::Complete);
  EXPECT_EQ(request(head + "4\r\n0\r\n\r\r\n0\r\n\r\n"), Parsed::Complete);
  EXPECT_EQ(request("POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\n0\r\n\r"), Parsed::Complete);
}

TEST(HttpParser, TrailersAreNotHeaders) {
  HttpParser parser{HttpRole::Request, kSmall};
  const std::string text = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nAuthorization: x\r\n\r\n";
  EXPECT_EQ(parser.put(text).state, Parsed::Complete);
  EXPECT_EQ(parser.message().headers.size(), 1U);
}

TEST(HttpParser, ALongAnswerIsCutAtTheLimit) {
  for (const char* text : {"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n01234567890123456789",
                           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n14\r\n01234567890123456789\r\n",
                           "HTTP/1.1 200 OK\r\n\r\n01234567890123456789"}) {
    HttpParser parser{HttpRole::Response, kSmall};
    EXPECT_EQ(parser.put(text).state, Parsed::BodyTooLarge) << text;
    EXPECT_EQ(parser.message().body, "0123456789");
    EXPECT_EQ(parser.message().status, 200);
  }
}

TEST(HttpParser, AnAnswerWithoutALengthLastsUntilTheEnd) {
  HttpParser parser{HttpRole::Response, kSmall};
  EXPECT_EQ(parser.put("HTTP/1.1 200 OK\r\n\r\nabc").state, Parsed::NeedMore);
  EXPECT_EQ(parser.put_eof(), Parsed::Complete);
  EXPECT_EQ(parser.message().body, "abc");
  EXPECT_FALSE(parser.keep_alive());
}

TEST(HttpParser, ATruncatedAnswerIsMalformedAtTheEnd) {
  for (const char* text : {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", "HTTP/1.1 200 OK\r\nConte",
                           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab"}) {
    HttpParser parser{HttpRole::Response, kSmall};
    EXPECT_EQ(parser.put(text).state, Parsed::NeedMore) << text;
    EXPECT_EQ(parser.put_eof(), Parsed::Malformed) << text;
  }
}

TEST(HttpParser, TheAnswerToHeadHasNoBody) {
  HttpParser parser{HttpRole::Response, kSmall};
  parser.reset(BodyExpected::No);
  EXPECT_EQ(parser.put("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n").state, Parsed::Complete);
  EXPECT_EQ(response("HTTP/1.1 204 No Content\r\n\r\n"), Parsed::Complete);
}

}  // namespace
}  // namespace postrider::net
