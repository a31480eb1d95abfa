#include <gtest/gtest.h>

#include "pipeline/world.h"

namespace postrider {
namespace {

TEST(DispatchCounts, CallsAreCountedAndTimedByTypeAndTheirErrorsInAll) {
  World world;
  const auto ids = world.queue(5);
  world.delivery(ids[3]).type = "other.event";
  world.say_work();
  world.store_answers_claims();
  world.call_time = std::chrono::milliseconds{20};
  world.provider_answers(ids[0], "accepted");
  world.provider_answers(ids[1], "transient");
  world.provider_answers(ids[2], "permanent");
  world.provider_answers(ids[3], "accepted");
  world.provider_answers(ids[4], "nobody");
  const DispatchCounts& counts = world.dispatcher.counts();
  EXPECT_EQ(counts.attempts_by_type.at("event"), 4U);
  EXPECT_EQ(counts.attempts_by_type.at("other.event"), 1U);
  EXPECT_EQ(counts.call_errors, 2U) << "an address that is none is not the provider's error";
  EXPECT_EQ(counts.times_by_type.at("event").calls, 4U);
  EXPECT_EQ(counts.times_by_type.at("event").total, std::chrono::milliseconds{80});
  EXPECT_EQ(counts.times_by_type.at("other.event").calls, 1U);
}

}  // namespace
}  // namespace postrider
