// Which addresses can be written to, as tables.
#include "core/channel.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/lane.h"

namespace postrider {
namespace {

using namespace std::string_literals;

void expect_all(Channel channel, const std::vector<std::string>& addresses, bool good) {
  for (const std::string& address : addresses) {
    const std::string_view problem = address_problem(channel, address);
    EXPECT_EQ(problem.empty(), good) << to_text(channel) << " \"" << address << "\": " << problem;
  }
}

TEST(Addresses, GoodMailAddressesAreTaken) {
  expect_all(Channel::Email,
             {"a@b.co", "first.last+tag@example.org", "x_y-z@sub.example.org", "o'hara@example.org", "a@localhost",
              "grüße@example.org", "a@bücher.example", std::string(64, 'a') + "@example.org", "1@2.example"},
             true);
}

TEST(Addresses, BadMailAddressesAreRefused) {
  expect_all(Channel::Email,
             {"",
              "plain",
              "@example.org",
              "a@",
              "a@@b.co",
              "a@b@c.co",
              "a b@c.co",
              "a@b .co",
              "a@.co",
              "a@b.",
              "a@b..co",
              "a@-b.co",
              ".a@b.co",
              "a.@b.co",
              "a..b@c.co",
              "<a@b.co>",
              "A <a@b.co>",
              "a@b.co,c@d.co",
              "a@b.co;c@d.co",
              "a(x)@b.co",
              "\"a\"@b.co",
              "a\\b@c.co",
              "a:b@c.co",
              "a@[127.0.0.1]",
              "a@b_c.co",
              "a@b!c.co",
              std::string(65, 'a') + "@example.org",
              "a@" + std::string(300, 'b') + ".co"},
             false);
}

TEST(Addresses, PhonesAreStrictE164) {
  expect_all(Channel::Sms, {"+919876543210", "+14155552671", "+4915112345678", "+12345678", "+123456789012345"}, true);
  expect_all(Channel::Sms,
             {"", "+", "9876543210", "09876543210", "+91 98765 43210", "(415) 555-2671", "+44 (0)20 7946 0958",
              "+0123456789", "+1234567", "+1234567890123456", "+49151a2345678", "++4915112345678", "+4915112345678 ",
              "tel:+4915112345678", "00491511234567", "+４９１５１１２３４５６７８"},
             false);
  expect_all(Channel::WhatsApp, {"+919876543210"}, true);
  expect_all(Channel::WhatsApp, {"919876543210"}, false);
}

TEST(Addresses, UrlsNeedASchemeAndAHostAndCarryNoCredentials) {
  for (const Channel channel : {Channel::Webhook, Channel::Teams, Channel::Slack}) {
    expect_all(channel,
               {"https://example.org", "http://example.org/hook?x=1#y", "https://example.org:8443/a",
                "https://[::1]:8080/x", "https://example.org/path@with-at"},
               true);
    expect_all(
        channel,
        {"", "example.org", "ftp://example.org", "file:///etc/passwd", "javascript:alert(1)", "https://", "https:///x",
         "https://:80/", "https://?a=b", "https://#x", "https://user:pass@example.org/", "https://user@example.org",
         "https://exa mple.org", "https://example.org/a b", " https://example.org", "//example.org"},
        false);
  }
}

TEST(Addresses, NothingThatCouldEndALineOrAStringIsTakenOnAnyChannel) {
  const std::vector<std::pair<Channel, std::string>> good{
      {Channel::Email, "a@b.co"},  {Channel::Sms, "+4915112345678"},        {Channel::WhatsApp, "+4915112345678"},
      {Channel::Push, "token"},    {Channel::Webhook, "https://b.co/x"},    {Channel::Teams, "https://b.co/x"},
      {Channel::InApp, "user-17"}, {Channel::Slack, "https://hooks.b.co/x"}};
  EXPECT_EQ(good.size(), kChannels.size());
  for (const auto& [channel, address] : good) {
    EXPECT_EQ(address_problem(channel, address), "") << to_text(channel);
    for (const std::string& poison : {"\r\n"s, "\n"s, "\r"s, "\0"s, "\t"s, "\x7f"s, "\x1b"s, "\xff"s, "\xc3"s}) {
      for (std::size_t at = 0; at <= address.size(); ++at) {
        std::string bad = address;
        bad.insert(at, poison);
        EXPECT_NE(address_problem(channel, bad), "") << to_text(channel) << " at " << at;
      }
    }
  }
}

TEST(Addresses, TooLongIsRefusedOnEveryChannel) {
  expect_all(Channel::Push, {std::string(512, 'x')}, true);
  expect_all(Channel::Push, {std::string(513, 'x')}, false);
  expect_all(Channel::Webhook, {"https://b.co/" + std::string(2048 - 13, 'x')}, true);
  expect_all(Channel::Webhook, {"https://b.co/" + std::string(2049 - 13, 'x')}, false);
}

TEST(Channels, AreReadBackFromTheirOwnWordsAndExpandIsNone) {
  for (const Channel channel : kChannels) {
    EXPECT_EQ(parse_channel(to_text(channel)), channel);
    EXPECT_FALSE(default_recipient_field(channel).empty());
  }
  EXPECT_FALSE(parse_channel("expand"));
  EXPECT_FALSE(parse_channel("Email"));
  EXPECT_NE(address_problem(Channel::Expand, "a@b.co"), "");
}

TEST(Lanes, HaveTheirNamesAndLatencyTargets) {
  for (const Lane lane : kLanes) EXPECT_EQ(parse_lane(to_text(lane)), lane);
  EXPECT_FALSE(parse_lane("high"));
  EXPECT_EQ(latency_target(Lane::Priority), std::chrono::seconds{5});
  EXPECT_EQ(latency_target(Lane::Standard), std::chrono::seconds{30});
  EXPECT_EQ(latency_target(Lane::Bulk), std::chrono::minutes{5});
}

TEST(Channels, ExpandHasANameButIsNoWayOut) {
  EXPECT_EQ(to_text(Channel::Expand), "expand");
  EXPECT_FALSE(parse_channel("expand"));
  EXPECT_TRUE(default_recipient_field(Channel::Expand).empty());
  EXPECT_FALSE(address_problem(Channel::Expand, "a").empty());
}

TEST(Addresses, ADomainHasLettersDigitsHyphensAndDotsOnly) {
  expect_all(Channel::Email, {"a@Example.ORG", "a@a-z.A-Z.0-9", "a@zZ9"}, true);
  expect_all(Channel::Email, {"a@b_c", "a@b!c", "a@b/c", "a@b:c", "a@b@", "a@b`c", "a@b{c", "a@b~c", "a@b^c"}, false);
}

}  // namespace
}  // namespace postrider
