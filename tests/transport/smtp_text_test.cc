#include "transport/smtp_text.h"

#include <gtest/gtest.h>

namespace postrider::net {
namespace {

using State = SmtpReplyReader::State;

TEST(SmtpText, ALineThatBeginsWithADotGetsASecondOne) {
  EXPECT_EQ(dot_stuffed("a\r\n.b\r\n..\r\n"), "a\r\n..b\r\n...\r\n.\r\n");
  EXPECT_EQ(dot_stuffed(".\r\n.\r\n"), "..\r\n..\r\n.\r\n");
}

TEST(SmtpText, AMissingLineEndIsAddedBeforeTheFinalDot) {
  EXPECT_EQ(dot_stuffed("a"), "a\r\n.\r\n");
  EXPECT_EQ(dot_stuffed(""), "\r\n.\r\n");
}

TEST(SmtpText, NothingInAnAddressCanLeaveItsBrackets) {
  const std::string bad[] = {
      "a@b\r\nDATA", "a@b\n",   "a@b\r",   std::string{"a\0@b", 4}, "a b@c", "<a@b", "a@b>", "a@b> SIZE=1", "a\t@b",
      "a\x7f@b",     "a\x01@b", "a@b\xff", std::string(400, 'a')};
  for (const std::string& address : bad) {
    EXPECT_FALSE(check_mail({"from@example.org", address, "x\r\n"})) << address;
    EXPECT_FALSE(check_mail({address, "to@example.org", "x\r\n"})) << address;
  }
  EXPECT_FALSE(check_mail({"a@b", "", "x\r\n"}));
  EXPECT_TRUE(check_mail({"", "a@b", "x\r\n"}));  // The null sender of bounces.
  EXPECT_TRUE(check_mail({"a@b", "\xc3\xa4@b", "x\r\n"}));
}

TEST(SmtpText, ALoneLineEndInTheMessageIsRefused) {
  for (const char* data : {"a\nb", "a\rb", "a\r\n.\n", "\n.\r\n", "a\r\r\n", "a\r\n\n", "a\r"}) {
    EXPECT_FALSE(check_mail({"a@b", "c@d", data})) << data;
  }
  EXPECT_TRUE(check_mail({"a@b", "c@d", "a\r\n\r\nb\r\n"}));
}

TEST(SmtpText, AReplyOfSeveralLinesIsReadToItsLast) {
  SmtpReplyReader reader;
  std::size_t consumed = 0;
  EXPECT_EQ(reader.put("250-one\r\n250-two\r\n250 thr", consumed), State::NeedMore);
  EXPECT_EQ(consumed, 18U);
  EXPECT_EQ(reader.put("250 three\r\n354 next\r\n", consumed), State::Complete);
  EXPECT_EQ(consumed, 11U);
  EXPECT_EQ(reader.reply.code, 250);
  EXPECT_EQ(reader.reply.text, "one two three");
}

TEST(SmtpText, AReplyMayHaveNoText) {
  for (const char* line : {"250\r\n", "250 \r\n", "250\n"}) {
    SmtpReplyReader reader;
    std::size_t consumed = 0;
    EXPECT_EQ(reader.put(line, consumed), State::Complete) << line;
  }
}

TEST(SmtpText, WhatIsNoReplyIsBad) {
  const std::string bad[] = {"\r\n",
                             "25\r\n",
                             "abc\r\n",
                             "250_x\r\n",
                             "2500\r\n",
                             "100 x\r\n",
                             "600 x\r\n",
                             "250-a\r\n251 b\r\n",
                             std::string(3000, '2'),
                             "HTTP/1.1 400 Bad\r\n"};
  for (const std::string& text : bad) {
    SmtpReplyReader reader;
    std::size_t consumed = 0;
    EXPECT_EQ(reader.put(text, consumed), State::Bad) << text;
  }
  std::string endless;
  for (int i = 0; i < 200; ++i) endless += "250-x\r\n";
  SmtpReplyReader reader;
  std::size_t consumed = 0;
  EXPECT_EQ(reader.put(endless, consumed), State::Bad);
}

TEST(SmtpText, ALineAtTheLimitIsReadHoweverItsBytesAreCut) {
  const std::string line = "250 " + std::string(kSmtpReplyLineBytesMax - 4, 'x');
  SmtpReplyReader reader;
  std::size_t consumed = 0;
  EXPECT_EQ(reader.put(line + "\r", consumed), State::NeedMore);
  EXPECT_EQ(reader.put(line + "\r\n", consumed), State::Complete);
  EXPECT_EQ(SmtpReplyReader{}.put(line + "x\r\n", consumed), State::Bad);
  EXPECT_EQ(SmtpReplyReader{}.put(line + "xx", consumed), State::Bad);
}

}  // namespace
}  // namespace postrider::net
