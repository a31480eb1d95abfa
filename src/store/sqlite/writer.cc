#include "store/sqlite/writer.h"

#include <fmt/format.h>

#include <thread>

#include "base/fault.h"

namespace postrider::sqlite {
namespace {

constexpr int kCheckpointPages = 1000;
constexpr std::chrono::seconds kCheckpointEvery{1};
constexpr std::chrono::milliseconds kLeftFree{1};
// Expanding 100 rows took 3.3 ms of processor time (6.7 ms on a machine with as much other work again), the commit
// included; the other verbs take less than half of that per row.
constexpr BatchCaps kSharedCaps{.expand = 64, .move = 250};

int note_journal_pages(void* pages, sqlite3*, const char*, int count) {
  *static_cast<int*>(pages) = count;
  return SQLITE_OK;
}

}  // namespace

Writer::Writer(const SqliteOptions& options)
    : connection_(options.path, Access::ReadWrite),
      shared_(options.shared_with_application),
      caps_(shared_ ? kSharedCaps : BatchCaps{}),
      last_checkpoint_(Clock::now()) {
  if (const std::string mode = connection_.pragma("journal_mode=WAL"); mode != "wal") {
    throw Failure{
        {ErrorCode::Unsupported,
         fmt::format("{} cannot use a write-ahead log (its journal mode stays \"{}\"); put it on a local disk",
                     options.path, mode)}};
  }
  // FULL: what was called durable survives a power cut. The batch shares the cost of the fsync.
  const std::string synchronous{POSTRIDER_FAULT_SETTING("POSTRIDER_FAULT_SYNCHRONOUS", "FULL")};
  connection_.execute("PRAGMA synchronous=" + synchronous +
                      "; PRAGMA foreign_keys=OFF; PRAGMA temp_store=MEMORY; PRAGMA cache_size=-16384;"
                      "PRAGMA mmap_size=0; PRAGMA wal_autocheckpoint=0; PRAGMA journal_size_limit=67108864");
  if (options.pages_max) connection_.execute(fmt::format("PRAGMA max_page_count={}", *options.pages_max));
  sqlite3_wal_hook(connection_.handle(), note_journal_pages, &journal_pages_);
}

void Writer::begin() {
  if (shared_) std::this_thread::sleep_until(free_since_ + kLeftFree);
  // IMMEDIATE: a transaction that reads first and then writes could not wait for its turn.
  connection_.execute("BEGIN IMMEDIATE");
}

void Writer::commit() {
  connection_.execute("COMMIT");
  if (shared_) free_since_ = Clock::now();
  checkpoint_if_due();
}

void Writer::roll_back() {
  // SQLite itself rolls back after some errors (a full disk); then there is nothing left to undo.
  if (connection_.in_transaction()) sqlite3_exec(connection_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
  if (shared_) free_since_ = Clock::now();
}

void Writer::checkpoint_if_due() {
  if (journal_pages_ < journal_pages_at_checkpoint_) journal_pages_at_checkpoint_ = 0;  // it began again
  const int grown = journal_pages_ - journal_pages_at_checkpoint_;
  if (grown == 0) return;
  const Clock::time_point now = Clock::now();
  if (grown < kCheckpointPages && now - last_checkpoint_ < kCheckpointEvery) return;
  // PASSIVE waits for nobody. What a reader keeps from it is copied the next time; an error shows at the next commit.
  sqlite3_wal_checkpoint_v2(connection_.handle(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  journal_pages_at_checkpoint_ = journal_pages_;
  last_checkpoint_ = now;
}

}  // namespace postrider::sqlite
