#include "context/pool.h"

#include <gtest/gtest.h>

#include <thread>

namespace postrider::context {
namespace {

using std::chrono::milliseconds;

struct FakeConnection final : Connection {
  explicit FakeConnection(const bool& up) : up_(up) {}
  Result<Rows> ask(const Question&) override { return Rows{}; }
  Result<Done> understand(const ContextSql&) override { return Done{}; }
  [[nodiscard]] bool is_sound() const override { return up_; }

 private:
  const bool& up_;
};

struct FakeDatabase {
  int opened = 0;
  bool up = true;
  milliseconds takes{0};
  Pool pool{{.connections = 2, .wait_max = milliseconds{20}}, [this] { return open(); }};

  Result<std::unique_ptr<Connection>> open() {
    ++opened;
    std::this_thread::sleep_for(takes);
    if (!up) return Error{ErrorCode::Unavailable, "down"};
    return std::unique_ptr<Connection>{std::make_unique<FakeConnection>(up)};
  }
};

TEST(Pool, ConnectionsAreOpenedWhenTheyAreNeededAndUsedAgain) {
  FakeDatabase database;
  for (int i = 0; i < 5; ++i) {
    auto lent = database.pool.take();
    ASSERT_TRUE(lent);
    EXPECT_EQ(lent->fresh, i == 0);
    database.pool.give_back(std::move(lent->connection));
  }
  EXPECT_EQ(database.opened, 1);
}

TEST(Pool, NoMoreAreLentThanAllowedAndTheWaitForOneEnds) {
  FakeDatabase database;
  auto first = database.pool.take();
  auto second = database.pool.take();
  const auto third = database.pool.take();
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().text, "all 2 connections were in use for 20ms");
  database.pool.give_back(std::move(first->connection));
  EXPECT_TRUE(database.pool.take());
  EXPECT_EQ(database.opened, 2);
}

TEST(Pool, ABrokenOneIsNotLentAgain) {
  FakeDatabase database;
  auto lent = database.pool.take();
  database.pool.give_back(std::move(lent->connection));
  database.up = false;
  EXPECT_FALSE(database.pool.take());
  EXPECT_FALSE(database.pool.take());
  EXPECT_FALSE(database.pool.take()) << "a failure to open leaves its place free";
  database.up = true;
  EXPECT_TRUE(database.pool.take());
}

TEST(Pool, ADatabaseThatDoesNotAnswerIsLeftAloneForAWhile) {
  FakeDatabase database;
  database.up = false;
  database.takes = milliseconds{150};
  EXPECT_FALSE(database.pool.take());
  for (int i = 0; i < 5; ++i) EXPECT_EQ(database.pool.take().error().text, "down");
  EXPECT_EQ(database.opened, 1) << "nobody waits for it in the meantime";
  database.up = true;
  for (int i = 0; i < 200 && database.opened < 2; ++i) {
    auto lent = database.pool.take();
    if (lent) database.pool.give_back(std::move(lent->connection));
    std::this_thread::sleep_for(milliseconds{20});
  }
  EXPECT_EQ(database.opened, 2);
}

}  // namespace
}  // namespace postrider::context
