#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include "store/conformance/world.h"

namespace postrider::conformance {
namespace {

TEST_P(Concurrency, SeveralThreadsClaimAndRecordEveryRowExactlyOnce) {
  constexpr int kRows = 400;
  constexpr int kThreads = 4;
  w.send(kRows);
  std::mutex mutex;
  std::multiset<RowId> claimed;
  std::atomic<int> applied{0};
  std::vector<Node> nodes;
  for (int i = 0; i < kThreads; ++i) nodes.push_back(w.join("n" + std::to_string(i)));
  std::vector<std::thread> threads;
  for (Node& node : nodes) {
    threads.emplace_back([&] {
      for (;;) {
        ClaimRequest request = w.request(7);
        request.node = node.id;
        const auto claims = must(node->claim(w.now, request));
        if (claims.empty()) return;
        std::vector<Completion> done;
        for (const Claim& claim : claims) done.push_back(w.completion(claim, DeliveryState::Delivered));
        for (const Recorded r : must(node->record(w.now, done))) applied += r == Recorded::Applied ? 1 : 0;
        const std::lock_guard held{mutex};
        for (const Claim& claim : claims) claimed.insert(claim.lease.id);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(claimed.size(), static_cast<std::size_t>(kRows));
  EXPECT_EQ((std::set<RowId>{claimed.begin(), claimed.end()}).size(), static_cast<std::size_t>(kRows));
  EXPECT_EQ(applied, kRows);
  EXPECT_EQ(must(w.a->stats({})).sending, 0U);
}

TEST_P(Concurrency, ARecordAndATakeOverOfTheSameRowsNeverBothWin) {
  constexpr int kRows = 30;
  for (int round = 0; round < 12; ++round) {
    w.send(kRows);
    const Node lost = w.join("lost" + std::to_string(round));
    const Node other = w.join("other" + std::to_string(round));
    ClaimRequest request = w.request(kRows);
    request.node = lost.id;
    const auto claims = must(lost->claim(w.now, request));
    ASSERT_EQ(claims.size(), static_cast<std::size_t>(kRows));
    must(other->remove(lost.id));
    std::vector<Completion> done;
    for (const Claim& claim : claims) done.push_back(w.completion(claim, DeliveryState::Delivered));
    std::size_t applied = 0;
    std::vector<Claim> taken;
    std::thread late{[&] {
      for (const Recorded r : must(lost->record(w.now, done))) applied += r == Recorded::Applied ? 1 : 0;
    }};
    for (int look = 0; look < 4; ++look) {
      for (Claim& claim : must(other->take_over(w.now, other.id, 10))) taken.push_back(std::move(claim));
    }
    late.join();
    for (Claim& claim : must(other->take_over(w.now, other.id, kRows))) taken.push_back(std::move(claim));
    EXPECT_EQ(applied + taken.size(), static_cast<std::size_t>(kRows)) << "round " << round;
    std::vector<Completion> again;
    for (const Claim& claim : taken) again.push_back(w.completion(claim, DeliveryState::Delivered));
    for (const Recorded r : must(other->record(w.now, again))) EXPECT_EQ(r, Recorded::Applied);
    EXPECT_EQ(must(w.a->stats({})).sending, 0U);
  }
}

TEST_P(Concurrency, ARowIsClaimedOrCancelledNeverBoth) {
  constexpr int kRows = 40;
  for (int round = 0; round < 8; ++round) {
    std::vector<RowId> ids;
    for (const Sent& sent : w.send(kRows)) ids.push_back(w.look(sent).delivery.id);
    const Node claimer = w.join("claimer" + std::to_string(round));
    const Node desk = w.join("desk" + std::to_string(round));
    std::vector<Completion> done;
    std::thread claiming{[&] {
      for (int turn = 0; turn < 12; ++turn) {
        ClaimRequest request = w.request(5);
        request.node = claimer.id;
        for (const Claim& claim : must(claimer->claim(w.now, request)))
          done.push_back(w.completion(claim, DeliveryState::Delivered));
      }
    }};
    std::size_t cancelled = 0;
    for (std::size_t i = ids.size(); i-- > 0;) {
      const Acted acted = must(desk->cancel(w.now, {.actor = "test", .why = "race"}, std::vector{ids[i]}));
      cancelled += acted.changed - acted.marked;
    }
    claiming.join();
    for (const Recorded r : must(claimer->record(w.now, done))) EXPECT_EQ(r, Recorded::Applied);
    EXPECT_EQ(cancelled + done.size(), ids.size()) << "round " << round;
  }
}

TEST_P(Concurrency, OneKeyOfferedByManyThreadsIsNewOnce) {
  constexpr int kThreads = 4;
  std::vector<NewMessage> offers;
  OutboxRow row = w.row();
  row.idempotency_key = "k1";
  for (int i = 0; i < kThreads; ++i) {
    row.id = format_uuid(w.uuid());
    offers.push_back(w.offered(row));
  }
  std::vector<Node> nodes;
  for (int i = 0; i < kThreads; ++i) nodes.push_back(w.join("n" + std::to_string(i)));
  std::atomic<int> made{0};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      const std::vector<IntakeGroup> groups{{offers[i]}};
      made += must(nodes[i]->accept(w.now, groups))[0][0].verdict == Admission::New ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, 1);
  EXPECT_EQ(must(w.a->stats({})).outbox, 1U);
}

TEST_P(Concurrency, SeveralThreadsExpandEveryRowExactlyOnceWhileReadersLook) {
  constexpr int kRows = 120;
  for (int i = 0; i < kRows; ++i) w.database->insert(w.row());
  std::vector<Node> nodes;
  for (int i = 0; i < 2; ++i) nodes.push_back(w.join("n" + std::to_string(i)));
  std::atomic<std::size_t> expanded{0};
  std::atomic<bool> stop{false};
  std::thread reader{[&] {
    while (!stop) {
      must(w.a->list({.count_max = 20}));
      must(w.a->stats({}));
    }
  }};
  std::vector<std::thread> threads;
  for (Node& node : nodes) {
    threads.emplace_back([&] {
      const auto decide = [&](std::span<const OutboxRow> rows) {
        std::vector<ExpandedMessage> out;
        for (const OutboxRow& row : rows) out.push_back(w.expanded(node, row, {}));
        return out;
      };
      for (;;) {
        const std::size_t rows = must(node->expand(w.now, node.id, 10, decide)).rows;
        if (rows == 0) return;
        expanded += rows;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  stop = true;
  reader.join();
  EXPECT_EQ(expanded, static_cast<std::size_t>(kRows));
  EXPECT_EQ(must(w.a->stats({})).queued, static_cast<std::size_t>(kRows));
}

}  // namespace
POSTRIDER_FOR_EVERY_STORE(Concurrency);
}  // namespace postrider::conformance
