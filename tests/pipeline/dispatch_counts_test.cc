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
  const DispatchCounts counts = world.dispatcher.counts();
  EXPECT_EQ(counts.attempts_by_type.at("event"), 4U);
  EXPECT_EQ(counts.attempts_by_type.at("other.event"), 1U);
  EXPECT_EQ(counts.call_errors, 2U) << "an address that is none is not the provider's error";
  EXPECT_EQ(counts.times_by_type.at("event").calls, 4U);
  EXPECT_EQ(counts.times_by_type.at("event").total, std::chrono::milliseconds{80});
  EXPECT_EQ(counts.times_by_type.at("other.event").calls, 1U);
  const decltype(counts.by_type_and_state) ends{{{"event", DeliveryState::Sent}, 1},
                                                {{"event", DeliveryState::Retrying}, 1},
                                                {{"event", DeliveryState::Parked}, 2},
                                                {{"other.event", DeliveryState::Sent}, 1}};
  EXPECT_EQ(counts.by_type_and_state, ends);
}

TEST(DispatchCounts, TypesBeyondTheLimitAreOneWithATypeThatIsCalledLikeThem) {
  World world{{.window = 1024, .connections = 512}};
  constexpr int kTypes = 200;
  const auto ids = world.queue(kTypes);
  world.delivery(ids[0]).type = kOtherTypes;
  for (std::size_t i = 1; i < ids.size(); ++i) world.delivery(ids[i]).type = "type-" + std::to_string(i);
  world.say_work();
  world.drain();
  const DispatchCounts counts = world.dispatcher.counts();
  constexpr auto kTogether = kTypes - kCountedTypesMax + 1;
  EXPECT_EQ(counts.attempts_by_type.size(), kCountedTypesMax);
  EXPECT_EQ(counts.attempts_by_type.at(kOtherTypes), kTogether);
  EXPECT_EQ(counts.times_by_type.at(kOtherTypes).calls, kTogether);
  EXPECT_EQ(counts.by_type_and_state.at({kOtherTypes, DeliveryState::Sent}), kTogether);
}

TEST(DispatchRecords, OutcomesBeyondOneBatchFollowInTheirOrder) {
  constexpr int kRows = 1200;
  World world{{.window = 4096, .connections = 4096}};
  const auto ids = world.queue(kRows);
  world.say_work();
  while (world.calling().size() < ids.size()) {
    world.look_at_heads();
    world.store_answers_claims();
  }
  world.provider_answers_all("accepted");
  std::vector<RowId> recorded;
  while (!world.records.empty()) {
    EXPECT_LE(world.records.front()->size(), kBatchMax);
    for (const Completion& completion : *world.records.front()) recorded.push_back(completion.lease.id);
    world.store_answers_records();
  }
  EXPECT_EQ(recorded, ids);
}

}  // namespace
}  // namespace postrider
