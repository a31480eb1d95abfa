// What one thread hands to another: put never waits, take_all hands over everything that gathered.
#pragma once
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

namespace postrider {

template <class T>
class Mailbox {
 public:
  void put(T item) {
    {
      const std::lock_guard lock(mutex_);
      items_.push_back(std::move(item));
    }
    ready_.notify_one();
  }
  /// Waits until there is something, the time is over, or close() was called.
  std::vector<T> take_all(std::chrono::microseconds wait_max) {
    std::unique_lock lock(mutex_);
    ready_.wait_for(lock, wait_max, [&] { return !items_.empty() || closed_; });
    std::vector<T> out;
    out.swap(items_);
    return out;
  }
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    ready_.notify_all();
  }
  [[nodiscard]] bool closed() const {
    const std::lock_guard lock(mutex_);
    return closed_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable ready_;
  std::vector<T> items_;
  bool closed_ = false;
};

/// A flag that can be waited for: pokes gather, a wait takes them all.
class Bell {
 public:
  void ring() {
    {
      const std::lock_guard lock(mutex_);
      rung_ = true;
    }
    ready_.notify_one();
  }
  /// Whether it was rung.
  bool wait(std::chrono::microseconds wait_max) {
    std::unique_lock lock(mutex_);
    ready_.wait_for(lock, wait_max, [&] { return rung_; });
    return std::exchange(rung_, false);
  }

 private:
  std::mutex mutex_;
  std::condition_variable ready_;
  bool rung_ = false;
};

}  // namespace postrider
