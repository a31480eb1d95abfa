// The worker pool and what happens at its limits.
#include <gtest/gtest.h>

#include <future>

#include "api/workers.h"
#include "api/world.h"

namespace postrider::testing {
namespace {

/// Holds every worker until it is told to go on.
class Held {
 public:
  explicit Held(Workers& workers) {
    for (std::size_t i = 0; i < Workers::kThreads; ++i) {
      auto begun = std::make_shared<std::promise<void>>();
      begun_.push_back(begun->get_future());
      EXPECT_EQ(workers.put({.run =
                                 [begun, go = go_](Worker&) {
                                   begun->set_value();
                                   go.wait();
                                 },
                             .refused = [] {}}),
                Workers::Taken::Yes);
    }
    for (auto& begun : begun_) begun.wait();
  }
  void release() { may_go_.set_value(); }

 private:
  std::promise<void> may_go_;
  std::shared_future<void> go_ = may_go_.get_future().share();
  std::vector<std::future<void>> begun_;
};

TEST(Workers, TakeNoMoreThanTheirQueueHoldsAndRefuseTheRestWhenStopped) {
  World world;
  IdSource ids{2};
  Workers workers{*world.store, ids};
  Held held{workers};
  std::atomic<int> run{0};
  std::atomic<int> refused{0};
  const auto job = [&] { return Workers::Job{.run = [&](Worker&) { ++run; }, .refused = [&] { ++refused; }}; };
  for (std::size_t i = 0; i < Workers::kWaitingMax; ++i) ASSERT_EQ(workers.put(job()), Workers::Taken::Yes);
  EXPECT_EQ(workers.put(job()), Workers::Taken::Full);
  std::thread stopper{[&] { workers.stop(); }};
  while (refused < static_cast<int>(Workers::kWaitingMax)) std::this_thread::yield();
  held.release();
  stopper.join();
  EXPECT_EQ(run, 0);
  EXPECT_EQ(refused, static_cast<int>(Workers::kWaitingMax));
  EXPECT_EQ(workers.put(job()), Workers::Taken::Stopping);
}

TEST(Workers, OpenTheirSessionAgainAfterTheStoreWasAway) {
  World world;
  IdSource ids{2};
  Worker worker{*world.store, ids};
  world.store->away = true;
  EXPECT_FALSE(worker.session());
  world.store->away = false;
  const auto session = worker.session();
  ASSERT_TRUE(session);
  EXPECT_EQ(*worker.session(), *session) << "it is kept";
  EXPECT_EQ(world.store->sessions, 1);
  worker.note({ErrorCode::NotFound, ""});
  EXPECT_TRUE(worker.session());
  EXPECT_EQ(world.store->sessions, 1);
  worker.note({ErrorCode::Unavailable, ""});
  EXPECT_TRUE(worker.session());
  EXPECT_EQ(world.store->sessions, 2);
}

TEST(Api, AfterStopRequestsAreRefusedAndNothingHangs) {
  World world;
  ASSERT_EQ(world.get("/api/v1/notifications", world.key(Role::Viewer)).status, 200);
  world.api->stop();
  const Answer answer = world.get("/api/v1/notifications", world.key(Role::Viewer));
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.code(), "SHUTTING_DOWN");
  EXPECT_EQ(world.get("/healthz", "").status, 200);
  world.api->stop();
}

TEST(Api, AnswersManyAtOnceFromManyThreads) {
  World world;
  ASSERT_EQ(world.get("/api/v1/notifications", world.key(Role::Viewer)).status, 200);
  std::vector<std::thread> callers;
  std::atomic<int> good{0};
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int n = 0; n < 25; ++n) {
        if (world.get("/api/v1/notifications?limit=1", world.key(Role::Viewer)).status == 200) ++good;
        if (world.get("/healthz", "").status == 200) ++good;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(good, 200);
}

}  // namespace
}  // namespace postrider::testing
