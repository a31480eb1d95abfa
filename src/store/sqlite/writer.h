// The one connection of this process that writes. Every writing verb of every session is a transaction here, in order
// of asking.
#pragma once
#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "store/sqlite/connection.h"
#include "store/sqlite/fair_mutex.h"

namespace postrider::sqlite {

struct SqliteOptions {
  std::string path = {};
  /// The file is the application's own: the write lock is held for about 5 ms at most and left free for 1 ms after each
  /// transaction, so that the application's transactions do not wait long.
  bool shared_with_application = false;
  /// The file may grow to this many pages (4 KiB each); empty: as the disk allows.
  std::optional<std::int64_t> pages_max = {};
};

/// Rows that a verb may take in one transaction.
struct BatchCaps {
  std::size_t expand = 1000;
  std::size_t move = 5000;  // claim, promote, take over, expire
};

class Writer {
 public:
  /// Throws Failure.
  explicit Writer(const SqliteOptions& options);

  /// Runs `work(connection)` between BEGIN IMMEDIATE and COMMIT. Whatever it throws becomes an Error, and nothing of it
  /// stays.
  template <class Work>
  auto transact(Work&& work) -> Result<decltype(work(std::declval<Connection&>()))> {
    const std::lock_guard turn{mutex_};
    try {
      begin();
      auto answer = work(connection_);
      commit();
      return answer;
    } catch (const Failure& failure) {
      roll_back();
      return failure.error();
    } catch (const std::exception& thrown) {
      roll_back();
      return Error{ErrorCode::Invalid,
                   std::string{"stopped inside a transaction, nothing was written: "} + thrown.what()};
    } catch (...) {
      roll_back();
      return Error{ErrorCode::Invalid, "stopped inside a transaction, nothing was written"};
    }
  }

  [[nodiscard]] const BatchCaps& caps() const { return caps_; }

 private:
  using Clock = std::chrono::steady_clock;
  void begin();
  void commit();
  void roll_back();
  void checkpoint_if_due();

  FairMutex mutex_;
  Connection connection_;
  bool shared_;
  BatchCaps caps_;
  Clock::time_point free_since_{};
  // The journal is copied back by us, not inside somebody's commit: every so many pages, or when it is old.
  int journal_pages_ = 0;
  int journal_pages_at_checkpoint_ = 0;
  Clock::time_point last_checkpoint_{};
};

}  // namespace postrider::sqlite
