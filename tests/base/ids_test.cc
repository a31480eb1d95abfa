#include "base/ids.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>
#include <vector>

#include "base/prng.h"

namespace postrider {
namespace {

using std::chrono::milliseconds;
constexpr Instant kNow = instant_from_us(1'800'000'000'000'000);

TEST(Uuids, AreReadInAnyCaseAndWrittenInLower) {
  const auto id = parse_uuid("018F0000-abCD-7000-8000-0000000000fF");
  ASSERT_TRUE(id);
  EXPECT_EQ(format_uuid(*id), "018f0000-abcd-7000-8000-0000000000ff");
  for (const char* text : {"", "018f0000abcd700080000000000000ff", "018f0000-abcd-7000-8000-0000000000f",
                           "018f0000-abcd-7000-8000-0000000000fff", "018f0000_abcd-7000-8000-0000000000ff",
                           "018f0000-abcd-7000-8000-0000000000fg", "{18f0000-abcd-7000-8000-0000000000f}"}) {
    EXPECT_FALSE(parse_uuid(text)) << text;
  }
}

TEST(Uuids, OfVersionSevenCarryVersionVariantAndTime) {
  Prng dice{1};
  for (int round = 0; round < 1'000; ++round) {
    const Uuid id = make_uuid7(kNow + milliseconds{round}, dice.next(), dice.next());
    EXPECT_EQ(id.bytes[6] >> 4, 7);
    EXPECT_EQ(id.bytes[8] >> 6, 2);
    std::int64_t ms = 0;
    for (std::size_t i = 0; i < 6; ++i) ms = ms << 8 | id.bytes[i];
    EXPECT_EQ(ms, to_us(kNow) / 1000 + round);
    EXPECT_EQ(uuid7_time(id), instant_from_us(ms * 1000));
    EXPECT_EQ(parse_uuid(format_uuid(id)), id);
  }
}

TEST(Uuids, OfOtherVersionsSayNoTime) {
  EXPECT_FALSE(uuid7_time(parse_uuid("018f0000-abcd-4000-8000-0000000000ff").value()));
}

TEST(Uuids, OfALaterMillisecondSortBehind) {
  const Uuid earlier = make_uuid7(kNow, ~0ULL, ~0ULL);
  const Uuid later = make_uuid7(kNow + milliseconds{1}, 0, 0);
  EXPECT_LT(earlier, later);
  EXPECT_LT(format_uuid(earlier), format_uuid(later));
}

TEST(Uuids, UseAllTheRandomBitsTheyAreGiven) {
  std::set<Uuid> seen;
  for (int bit = 0; bit < 12; ++bit) seen.insert(make_uuid7(kNow, 1ULL << bit, 0));
  for (int bit = 0; bit < 62; ++bit) seen.insert(make_uuid7(kNow, 0, 1ULL << bit));
  EXPECT_EQ(seen.size(), 74U);
}

TEST(Uuids, ThatWereMadeHereAreToldFromOthersByTheirCheck) {
  Prng dice{3};
  int changed = 0;
  int foreign = 0;
  for (int round = 0; round < 10'000; ++round) {
    Uuid id = make_checked_uuid7(kNow + milliseconds{round}, dice.next(), dice.next());
    EXPECT_TRUE(is_checked(id));
    EXPECT_EQ(id.bytes[6] >> 4, 7);
    EXPECT_EQ(id.bytes[8] >> 6, 2);
    id.bytes[static_cast<std::size_t>(dice.below(16))] ^= static_cast<std::uint8_t>(1 + dice.below(255));
    changed += is_checked(id) ? 1 : 0;
    foreign += is_checked(make_uuid7(kNow, dice.next(), dice.next())) ? 1 : 0;
  }
  EXPECT_LE(changed, 3);  // one in 65,536
  EXPECT_LE(foreign, 3);
}

TEST(IdSource, GrowsAlwaysAlsoWhenTheClockGoesBack) {
  IdSource ids{7};
  RowId last = 0;
  Prng dice{2};
  for (int round = 0; round < 50'000; ++round) {
    const RowId next = ids.next(kNow + milliseconds{static_cast<std::int64_t>(dice.below(20'000)) - 10'000});
    ASSERT_GT(next, last);
    last = next;
  }
}

TEST(IdSource, BorrowsFromTheNextMillisecondWhenOneIsUsedUp) {
  IdSource ids{0};
  std::vector<RowId> made;
  for (int i = 0; i < 10'000; ++i) made.push_back(ids.next(kNow));
  EXPECT_EQ(std::set<RowId>(made.begin(), made.end()).size(), made.size());
  EXPECT_EQ(id_time(made.front()), kNow);
  EXPECT_EQ(id_time(made.back()), kNow + milliseconds{2});
}

TEST(IdSource, TwoSlotsNeverMakeTheSameId) {
  std::set<RowId> seen;
  for (const int slot : {0, 1, 255, kNodeSlots - 1}) {
    IdSource ids{slot};
    for (int i = 0; i < 5'000; ++i) ASSERT_TRUE(seen.insert(ids.next(kNow)).second) << slot;
  }
}

TEST(IdSource, IsUniqueUnderManyThreads) {
  IdSource ids{3};
  std::vector<std::vector<RowId>> made(4);
  std::vector<std::thread> threads;
  for (auto& mine : made) {
    threads.emplace_back([&ids, &mine] {
      for (int i = 0; i < 20'000; ++i) mine.push_back(ids.next(kNow + milliseconds{i / 1'000}));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<RowId> all;
  for (const auto& mine : made) {
    EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end()));
    all.insert(mine.begin(), mine.end());
  }
  EXPECT_EQ(all.size(), 80'000U);
}

TEST(IdSource, AnIdLiesBetweenTheFloorsOfItsMillisecondAndTheNext) {
  for (const int slot : {0, kNodeSlots - 1}) {
    IdSource ids{slot};
    const RowId id = ids.next(kNow);
    EXPECT_GE(id, id_floor(kNow));
    EXPECT_LT(id, id_floor(kNow + milliseconds{1}));
    EXPECT_EQ(id_time(id), kNow);
  }
}

TEST(IdSource, StaysPositiveBeforeItsEpochAndFarInTheFuture) {
  IdSource early{0};
  EXPECT_GT(early.next(instant_from_us(0)), 0);
  IdSource late{kNodeSlots - 1};
  EXPECT_GT(late.next(kIdEpoch + std::chrono::hours{24 * 365 * 100}), 0) << "a hundred years fit";
  EXPECT_EQ(id_floor(instant_from_us(0)), 0);
}

}  // namespace
}  // namespace postrider
