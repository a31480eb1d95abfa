#include "runtime/courtesy.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <fstream>
#include <thread>

namespace postrider {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const Instant kStart = instant_from_us(1'790'000'000'000'000);
constexpr Duration kTook = milliseconds{10};

// A stream of 10,000 rows a second, seen once before.
struct Stream {
  Courtesy courtesy;
  Instant at = kStart;
  std::int64_t newest = 100'000;
  Stream() { turn(0); }
  Duration turn(std::int64_t waiting, bool crowded = true, bool more = true, Duration took = kTook) {
    at += milliseconds{100};
    newest += 1'000;
    return courtesy.after({newest, newest - waiting, more}, took, at, crowded);
  }
};

TEST(Courtesy, WhoFillsTheOutboxMeanwhileGetsTwiceTheTimeThatATurnTook) {
  Stream stream;
  EXPECT_EQ(stream.turn(2'000), 2 * kTook);
  EXPECT_EQ(stream.turn(29'000), 2 * kTook);
}

TEST(Courtesy, NobodyWaitsForItLongerThanThreeSeconds) {
  Stream stream;
  EXPECT_EQ(stream.turn(31'000), Duration{}) << "ten thousand a second: over three seconds behind";
  EXPECT_EQ(stream.turn(2'000), 2 * kTook);
}

TEST(Courtesy, APauseHasAnEnd) {
  Stream stream;
  EXPECT_EQ(stream.turn(2'000, true, true, seconds{3}), milliseconds{50});
}

TEST(Courtesy, ThereIsNoneWhereThereIsRoom) {
  Stream stream;
  EXPECT_EQ(stream.turn(2'000, false), Duration{}) << "processors are free";
  EXPECT_EQ(stream.turn(2'000, true, false), Duration{}) << "the outbox was taken to its end";
}

TEST(Courtesy, ThereIsNoneWhenNothingComes) {
  Stream stream;
  stream.at += milliseconds{100};
  EXPECT_EQ(stream.courtesy.after({stream.newest, stream.newest - 2'000, true}, kTook, stream.at, true), Duration{});
}

TEST(Courtesy, ThereIsNoneWhereNothingIsKnown) {
  Courtesy courtesy;
  EXPECT_EQ(courtesy.after({9'000, 1'000, true}, kTook, kStart, true), Duration{}) << "the first look";
  EXPECT_EQ(courtesy.after({}, kTook, kStart + seconds{1}, true), Duration{}) << "nobody looked";
  EXPECT_EQ(courtesy.after({9'500, 9'000, true}, kTook, kStart - seconds{1}, true), Duration{}) << "time went back";
  EXPECT_EQ(courtesy.after({9'900, 9'500, true}, kTook, kStart, true), 2 * kTook);
}

void spin(Duration how_long) {
  const auto until = std::chrono::steady_clock::now() + how_long;
  while (std::chrono::steady_clock::now() < until) {
  }
}

// The thread and everything that it starts share one processor.
bool stay_on_one_processor() {
  cpu_set_t all, one;
  if (::sched_getaffinity(0, sizeof all, &all) != 0) return false;
  CPU_ZERO(&one);
  for (std::size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i) {
    if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
  }
  return ::sched_setaffinity(0, sizeof one, &one) == 0;
}

TEST(Crowding, IsSeenByAThreadThatSharesItsProcessor) {
  if (!std::ifstream{"/proc/thread-self/schedstat"}) GTEST_SKIP() << "this system does not count it";
  bool shared = false;
  std::thread{[&shared] {
    ASSERT_TRUE(stay_on_one_processor());
    Crowding crowding;
    static_cast<void>(crowding.look());
    std::thread other{[] { spin(milliseconds{400}); }};
    spin(milliseconds{400});
    shared = crowding.look();
    other.join();
  }}.join();
  EXPECT_TRUE(shared);
}

TEST(Crowding, IsNotSeenByAThreadThatRunsWheneverItWantsTo) {
  Crowding crowding;
  EXPECT_FALSE(crowding.after(0, 0));
  EXPECT_FALSE(crowding.after(1'000'000, 100'000));
  EXPECT_TRUE(crowding.after(2'000'000, 500'000)) << "what was before does not count";
  EXPECT_FALSE(crowding.after(3'000'000, 600'000));
}

}  // namespace
}  // namespace postrider
