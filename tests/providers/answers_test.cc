// Retry-After in all the forms it comes in.
#include "providers/answers.h"

#include <gtest/gtest.h>

#include "providers/parts.h"

namespace postrider {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

std::optional<Duration> wait_for(std::string value, Instant now = kNow) {
  return retry_after(HttpReply{429, {{"retry-after", std::move(value)}}, ""}, now);
}

TEST(RetryAfter, SecondsAreTaken) {
  EXPECT_EQ(wait_for("120"), seconds{120});
  EXPECT_EQ(wait_for(" 5 "), seconds{5});
  EXPECT_EQ(wait_for("0"), seconds{0});
}

TEST(RetryAfter, AnHttpDateIsTakenAsTheTimeUntilThen) {
  const Instant now = *parse_instant("2026-03-15T09:30:00Z");
  EXPECT_EQ(wait_for("Sun, 15 Mar 2026 09:31:30 GMT", now), seconds{90});
  EXPECT_FALSE(wait_for("Sun, 15 Mar 2026 09:30:00 GMT", now)) << "now is no wait";
  EXPECT_FALSE(wait_for("Sun, 06 Nov 1994 08:49:37 GMT", now)) << "the past is no wait";
  EXPECT_EQ(wait_for("Fri, 31 Dec 9999 23:59:59 GMT", now), hours{24});
}

TEST(RetryAfter, AbsurdWaitsAreADay) {
  for (const char* text : {"86400", "86401", "999999999", "9223372036854775807", "99999999999999999999999999999"})
    EXPECT_EQ(wait_for(text), hours{24}) << text;
}

TEST(RetryAfter, GarbageAndNegativesAreNone) {
  for (const char* text : {"", " ", "-1", "+5", "1.5", "5s", "soon", "0x10", "1e3", "Sun, 31 Feb 2026 00:00:00 GMT",
                           "Sun, 15 Foo 2026 09:31:30 GMT", "2026-03-15T09:31:30Z", "Sun, 15 Mar 2026 09:31:30 UTC",
                           "Sun, 15 Mar 2026 99:99:99 GMT", "Sunday, 15-Mar-26 09:31:30 GMT"})
    EXPECT_FALSE(wait_for(text)) << text;
  EXPECT_FALSE(retry_after(HttpReply{429, {}, ""}, kNow));
}

TEST(RetryAfter, ReachesTheOutcomeOfARefusal) {
  for (const int status : {429, 503}) {
    const Outcome outcome = outcome_of_status(HttpReply{status, {{"retry-after", "77"}}, ""}, kNow);
    EXPECT_EQ(outcome.retry_after, seconds{77}) << status;
  }
}

}  // namespace
}  // namespace postrider
