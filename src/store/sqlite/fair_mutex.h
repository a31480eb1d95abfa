// A mutex that is given in order of asking: a session that claims in a tight loop must not starve one that records.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace postrider::sqlite {

class FairMutex {
 public:
  void lock() {
    std::unique_lock held{mutex_};
    const std::uint64_t mine = next_ticket_++;
    turn_.wait(held, [&] { return serving_ == mine; });
  }
  void unlock() {
    {
      const std::lock_guard held{mutex_};
      ++serving_;
    }
    turn_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable turn_;
  std::uint64_t next_ticket_ = 0;
  std::uint64_t serving_ = 0;
};

}  // namespace postrider::sqlite
