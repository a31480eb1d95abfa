// The few threads on which requests wait for the store, so that the server's loop never does.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/ids.h"
#include "ports/store.h"

namespace postrider {

/// One thread's way to the store. The session is opened when it is first needed and again after the store was away.
class Worker {
 public:
  Worker(Store& store, IdSource& ids) : store_(store), ids_(ids) {}
  Result<StoreSession*> session();
  /// After a verb failed: a session whose connection may be broken is not used again.
  void note(const Error& error);

 private:
  Store& store_;
  IdSource& ids_;
  std::unique_ptr<StoreSession> session_;
};

class Workers {
 public:
  struct Job {
    std::function<void(Worker&)> run = {};
    std::function<void()> refused = {};  // instead of run(), when the pool stops before its turn
  };
  Workers(Store& store, IdSource& ids);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  enum class Taken : std::uint8_t { Yes, Full, Stopping };
  /// Never waits. Unless Yes is answered nothing of the job is called.
  Taken put(Job job);
  /// Ends the jobs under way, refuses the waiting ones. Idempotent.
  void stop();

  static constexpr std::size_t kThreads = 2;
  static constexpr std::size_t kWaitingMax = 256;

 private:
  void work(Worker worker);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> waiting_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace postrider
