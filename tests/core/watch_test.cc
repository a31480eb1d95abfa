#include "core/watch.h"

#include <gtest/gtest.h>

#include "base/limits.h"

namespace postrider {
namespace {

using Nodes = std::vector<NodeId>;
constexpr NodeId kSelf = 1;
constexpr NodeId kPeer = 2;

TEST(NodeWatch, ANodeWhoseBeatMovesIsNeverFoundDead) {
  NodeWatch watch{kSelf};
  for (int round = 0; round < 100; ++round) EXPECT_TRUE(watch.round({{kPeer, round}}).empty());
}

TEST(NodeWatch, ANodeIsDeadOnlyAfterSeveralRoundsSawItsBeatUnmoved) {
  NodeWatch watch{kSelf};
  EXPECT_TRUE(watch.round({{kPeer, 7}}).empty());  // the first sight is no stand-still
  for (int round = 1; round < kRoundsUntilDead; ++round) EXPECT_TRUE(watch.round({{kPeer, 7}}).empty()) << round;
  EXPECT_EQ(watch.round({{kPeer, 7}}), Nodes{kPeer});
}

TEST(NodeWatch, OneBeatInTimeStartsTheCountAnew) {
  NodeWatch watch{kSelf};
  for (int round = 0; round < kRoundsUntilDead; ++round) EXPECT_TRUE(watch.round({{kPeer, 7}}).empty());
  for (int round = 0; round < kRoundsUntilDead; ++round) EXPECT_TRUE(watch.round({{kPeer, 8}}).empty()) << round;
  EXPECT_EQ(watch.round({{kPeer, 8}}), Nodes{kPeer});
}

TEST(NodeWatch, NeverFindsItselfDead) {
  NodeWatch watch{kSelf};
  for (int round = 0; round < 3 * kRoundsUntilDead; ++round) EXPECT_TRUE(watch.round({{kSelf, 0}}).empty());
}

TEST(NodeWatch, ANodeThatLeftIsForgotten) {
  NodeWatch watch{kSelf};
  for (int round = 0; round < kRoundsUntilDead; ++round) EXPECT_TRUE(watch.round({{kPeer, 7}}).empty());
  EXPECT_TRUE(watch.round({}).empty());
  EXPECT_TRUE(watch.round({{kPeer, 7}}).empty());  // a new sight, a new count
}

TEST(NodeWatch, ADeadNodeIsReportedOnceEvenIfItsRowLingersAMoment) {
  NodeWatch watch{kSelf};
  for (int round = 0; round < kRoundsUntilDead; ++round) EXPECT_TRUE(watch.round({{kPeer, 7}}).empty());
  EXPECT_EQ(watch.round({{kPeer, 7}}), Nodes{kPeer});
  EXPECT_TRUE(watch.round({{kPeer, 7}}).empty());
}

TEST(NodeWatch, SeveralNodesAreJudgedEachByItself) {
  NodeWatch watch{kSelf};
  Nodes dead;
  for (int round = 0; round <= kRoundsUntilDead; ++round) {
    for (const NodeId id : watch.round({{kSelf, round}, {2, 5}, {3, round}, {4, 9}})) dead.push_back(id);
  }
  EXPECT_EQ(dead, (Nodes{2, 4}));
}

}  // namespace
}  // namespace postrider
