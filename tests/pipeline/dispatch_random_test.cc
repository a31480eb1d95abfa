// Any order of events, then rest: every row is recorded or given back, every place is free. The seed of a failure is in
// its message.
#include <gtest/gtest.h>

#include "base/prng.h"
#include "pipeline/world.h"

namespace postrider {
namespace {

using std::chrono::milliseconds;

class RandomRun {
 public:
  explicit RandomRun(std::uint64_t seed)
      : dice_(seed),
        world_({.providers = 1 + static_cast<int>(dice_.below(3)),
                .window = 1 + static_cast<int>(dice_.below(40)),
                .connections = 1 + static_cast<int>(dice_.below(20)),
                .tenants = 1 + static_cast<int>(dice_.below(4)),
                .guarantee = dice_.below(2) == 0 ? Guarantee::AtMostOnce : Guarantee::AtLeastOnce}) {}

  void run(int steps) {
    for (int step = 0; step < steps; ++step) {
      disturb();
      check();
      if (::testing::Test::HasFailure()) return;
    }
  }
  World& world() { return world_; }

 private:
  template <class T>
  const T& one_of(const std::vector<T>& all) {
    return all[dice_.below(all.size())];
  }
  Lane lane() { return kLanes[dice_.below(kLanes.size())]; }
  TenantId tenant() { return 1 + static_cast<TenantId>(dice_.below(world_.rules.tenants.size())); }
  int provider() { return 1 + static_cast<int>(dice_.below(world_.rules.providers.size())); }

  void queue_some() {
    const Lane where = lane();
    const TenantId whose = tenant();
    const int through = provider();
    const auto guarantee = dice_.below(4) == 0 ? Guarantee::AtMostOnce : Guarantee::AtLeastOnce;
    for (const RowId id : world_.queue(static_cast<int>(dice_.below(12)), where, whose, through, guarantee)) {
      if (dice_.below(5) == 0)
        world_.delivery(id).expires_at = world_.now + milliseconds{static_cast<int>(dice_.below(3'000))};
    }
    if (dice_.below(3) != 0) world_.say_work(where, whose, through);
  }
  void own_one() {
    const int through = provider();
    const auto id = static_cast<ProviderId>(through);
    if (!world_.places.may_own(id, Lane::Standard) || world_.places.free(id) * 4 <= world_.rules.provider(id)->window)
      return;
    world_.own(world_.queue(1, Lane::Priority, tenant(), through).front());
  }
  void end_one() {
    const auto calling = world_.calling();
    if (calling.empty()) return;
    static const std::vector<std::string> kAnswers{"accepted", "accepted", "transient",    "permanent",
                                                   "unclear",  "unmapped", "misconfigured"};
    if (dice_.below(5) == 0) {
      const auto at = dice_.below(2) == 0 ? BrokenAt::Nothing : BrokenAt::Whole;
      world_.call_breaks(one_of(calling), {at, dice_.below(2) == 0 ? BrokenBy::Aborted : BrokenBy::Reset, ""});
    } else {
      world_.provider_answers(one_of(calling), one_of(kAnswers));
    }
  }
  void disturb() {
    switch (dice_.below(16)) {
      case 0: return queue_some();
      case 1: return own_one();
      case 2: return world_.look_at_heads();
      case 3: return world_.store_fails_claims();
      case 4:
      case 5: return world_.store_answers_claims();
      case 6: return world_.store_fails_records();
      case 7: return world_.store_fails_releases();
      case 8: return world_.store_answers_releases();
      case 9: return world_.tick();
      case 10: return world_.beat();
      case 11: return world_.pass(milliseconds{static_cast<int>(dice_.below(1'500))});
      case 12: return world_.store_answers_records();
      case 13: return world_.aborted_calls_end(dice_.below(2) == 0 ? BrokenAt::Nothing : BrokenAt::Partly);
      default: return end_one();
    }
  }
  void check() {
    int held = 0;
    for (const auto& [id, row] : world_.rows) held += row.state == RowState::Held ? 1 : 0;
    for (const ProviderRule& rule : world_.rules.providers) {
      ASSERT_LE(world_.places.used(rule.id), rule.window);
      int calling = 0;
      for (const Call& call : world_.calls) calling += call.provider == rule.id ? 1 : 0;
      ASSERT_LE(calling, rule.connections);
    }
    ASSERT_EQ(world_.dispatcher.calls_open(), static_cast<int>(world_.calls.size()));
    ASSERT_LE(static_cast<int>(world_.calls.size()), held);
  }

  Prng dice_;
  World world_;
};

void expect_at_rest(World& world) {
  EXPECT_TRUE(world.dispatcher.idle());
  for (const ProviderRule& rule : world.rules.providers) EXPECT_EQ(world.places.used(rule.id), 0) << rule.name;
}

TEST(RandomRuns, EverythingSettlesOnceTheTroubleEnds) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    RandomRun run{seed};
    run.run(300);
    run.world().drain();
    expect_at_rest(run.world());
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(RandomRuns, AStopAtAnyMomentEndsWithNothingHeld) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    RandomRun run{seed};
    run.run(static_cast<int>(seed));
    World& world = run.world();
    world.stop();
    world.abort_all();
    world.aborted_calls_end(BrokenAt::Whole);
    for (int round = 0; round < 200 && !world.dispatcher.idle(); ++round) {
      world.pass(milliseconds{250});
      world.beat();
      world.store_answers_claims();
      world.provider_answers_all("accepted");
      world.store_answers_records();
      world.store_answers_releases();
    }
    expect_at_rest(world);
    for (const auto& [id, row] : world.rows) EXPECT_NE(row.state, RowState::Held) << id;
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace postrider
