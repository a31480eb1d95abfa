#include "runtime/clock.h"

#include <gtest/gtest.h>

namespace {

using namespace postrider;
using namespace std::chrono_literals;

constexpr Instant kNoon = instant_from_us(1'794'830'400'000'000);

TEST(DatabaseClock, FollowsTheDatabaseFromTheMiddleOfTheQuestion) {
  DatabaseClock clock;
  clock.set(kNoon, DatabaseClock::asking() - 100ms);
  EXPECT_GE(clock.now(), kNoon + 50ms);
  EXPECT_LT(clock.now(), kNoon + 10s);
  clock.set(kNoon + 1h, DatabaseClock::asking());
  EXPECT_GE(clock.now(), kNoon + 1h);
}

// The process was stopped between the database's answer and its use: what it says is as old as the stop was long.
TEST(DatabaseClock, IsNotPutBackByAnAnswerThatLayAround) {
  DatabaseClock clock;
  clock.set(kNoon, DatabaseClock::asking());
  const Duration asked = DatabaseClock::asking() - 7s;
  clock.set(kNoon - 7s, asked);
  EXPECT_GE(clock.now(), kNoon);
}

TEST(DatabaseClock, TakesTheFirstAnswerHoweverLongItTook) {
  DatabaseClock clock;
  clock.set(kNoon, DatabaseClock::asking() - 1h);
  EXPECT_GE(clock.now(), kNoon);
}

}  // namespace
