#include "transport/url.h"

#include <gtest/gtest.h>

namespace postrider::net {
namespace {

TEST(Url, AUsualOneIsTakenApart) {
  const auto url = parse_url("HTTPS://Api.Example.ORG:8443/v1/send?a=b&c=%20");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->scheme, Scheme::Https);
  EXPECT_EQ(url->host, "api.example.org");
  EXPECT_EQ(url->port, 8443);
  EXPECT_EQ(url->target, "/v1/send?a=b&c=%20");
  EXPECT_EQ(url->authority, "api.example.org:8443");
}

TEST(Url, ThePortOfTheSchemeIsLeftOutOfTheHostHeader) {
  EXPECT_EQ(parse_url("http://example.org:80")->authority, "example.org");
  EXPECT_EQ(parse_url("https://example.org")->port, 443);
  EXPECT_EQ(parse_url("http://example.org:443/")->authority, "example.org:443");
}

TEST(Url, WithoutAPathTheTargetIsTheRoot) {
  EXPECT_EQ(parse_url("http://example.org")->target, "/");
  EXPECT_EQ(parse_url("http://example.org?q=1")->target, "/?q=1");
}

TEST(Url, AnIpv6AddressStandsInBrackets) {
  const auto url = parse_url("http://[2001:DB8::1]:81/x");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->host, "2001:db8::1");
  EXPECT_EQ(url->authority, "[2001:db8::1]:81");
}

TEST(Url, OneTrailingDotIsDropped) { EXPECT_EQ(parse_url("http://example.org./")->host, "example.org"); }

TEST(Url, WhatIsUnusualIsRefused) {
  const char* const bad[] = {
      "",
      "example.org",
      "/path",
      "//example.org/",
      "ftp://example.org/",
      "file:///etc/passwd",
      "gopher://example.org/",
      "http:/example.org/",
      "http://",
      "http:///path",
      "http://?q",
      "http://user@example.org/",
      "http://user:secret@example.org/",
      "http://example.org@127.0.0.1/",
      "http://example.org:/",
      "http://example.org:0/",
      "http://example.org:65536/",
      "http://example.org:80x/",
      "http://example.org:+80/",
      "http://example.org/a b",
      "http://example.org/a\r\nX: y",
      "http://example.org/\tx",
      "http://example.org/#fragment",
      "http://exa mple.org/",
      "http://example%2eorg/",
      "http://127.0.0.1%00.example.org/",
      "http://ex\xc3\xa4mple.org/",
      "http://example\xe3\x80\x82org/",
      "http://example.org\\@127.0.0.1/",
      "http://[::1/",
      "http://[::1%25lo]/",
      "http://[fe80::1%eth0]/",
      "http://[127.0.0.1]/",
      "http://::1/",
      "http://.example.org/",
      "http://example..org/",
      "http://example.org../",
      "http://./",
  };
  for (const char* text : bad) EXPECT_FALSE(parse_url(text)) << text;
  EXPECT_FALSE(parse_url(std::string_view{"http://example.org/\0x", 21}));
  EXPECT_FALSE(parse_url("http://example.org/" + std::string(9000, 'a')));
}

}  // namespace
}  // namespace postrider::net
