#include "pipeline/call_counts.h"

#include <gtest/gtest.h>

#include <set>

namespace postrider {
namespace {

TEST(CallCounts, TypesBeyondTheLimitAreCountedTogether) {
  CountedTypes types;
  std::set<std::string> labels;
  for (int i = 0; i < 1000; ++i) labels.insert(types.label("type-" + std::to_string(i)));
  EXPECT_EQ(labels.size(), kCountedTypesMax + 1);
  EXPECT_TRUE(labels.contains(kOtherTypes));
  EXPECT_EQ(types.label("type-0"), "type-0") << "who has a name keeps it";
  EXPECT_EQ(types.label("type-999"), kOtherTypes);
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
