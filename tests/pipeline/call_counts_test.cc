#include "pipeline/call_counts.h"

#include <gtest/gtest.h>

namespace postrider {
namespace {

TEST(CallCounts, TypesBeyondTheLimitAreCountedTogether) {
  CountedTypes types;
  for (int i = 0; i < 1000; ++i) ++types.of("type-" + std::to_string(i)).attempts;
  EXPECT_EQ(types.named().size(), kCountedTypesMax);
  EXPECT_EQ(types.others().attempts, 1000 - kCountedTypesMax);
  ++types.of("type-0").attempts;
  EXPECT_EQ(types.named().at("type-0").attempts, 2U) << "who has a name keeps it";
  ++types.of("type-999").attempts;
  ++types.of("type-0").attempts;
  EXPECT_EQ(types.others().attempts, 1001 - kCountedTypesMax);
  EXPECT_EQ(types.named().at("type-0").attempts, 3U);
}

TEST(CallCounts, ATimeIsInTheFirstBucketThatHoldsIt) {
  CallTimes times;
  times.add(std::chrono::milliseconds{5});
  times.add(std::chrono::microseconds{5'001});
  times.add(std::chrono::hours{1});
  times.add(std::chrono::seconds{-1});  // a clock was put back
  EXPECT_EQ(times.buckets.front(), 2U);
  EXPECT_EQ(times.buckets.at(1), 1U);
  EXPECT_EQ(times.buckets.back(), 1U);
  EXPECT_EQ(times.calls, 4U);
  EXPECT_EQ(times.total, std::chrono::hours{1} + std::chrono::microseconds{10'001});
}

}  // namespace
}  // namespace postrider
