// Rows of the tables as values of the core, and columns of many rows as arrays. Column orders are those of the
// statements in sql/.
#pragma once
#include <set>
#include <vector>

#include "ports/store.h"
#include "store/postgres/session.h"

namespace postrider::postgres {

inline constexpr std::int64_t kFrom1970To2000 = 946'684'800'000'000;  // PostgreSQL counts its times from 2000
constexpr bool is_time_column(std::string OutboxRow::*column) {
  return column == &OutboxRow::occurred_at || column == &OutboxRow::due_at || column == &OutboxRow::expires_at ||
         column == &OutboxRow::site_enqueued_at;
}
OutboxRow read_outbox_row(const Rows& rows, int row);
inline constexpr int kOutboxColumns = 33;  // that it reads
/// A held queue row. Columns from `from`: lane, channel, tenant, position, id, fence, attempt, provider, guarantee,
/// expires_at: so many.
Claim read_held(const Rows& rows, int row, int from);
inline constexpr int kHeldColumns = 10;
/// The rest of its delivery, from the row that was written once. Columns from `from`: delivery_columns.
void read_delivery(const Rows& rows, int row, int from, Delivery& d);

/// Dedup entries in one statement; returns the keys that existed already.
struct NewDedup {
  DedupKey key = {};
  DedupEntry entry = {};
};
std::set<DedupKey> add_dedups(Connection& c, const std::vector<NewDedup>& entries);
/// The same where all of them are expected to be new: nobody waits for the answer, they go with the COMMIT. One that
/// exists after all undoes the transaction (Conflict).
void add_new_dedups(Connection& c, const std::vector<NewDedup>& entries);
/// The same for many of them; the answer comes at once.
void copy_new_dedups(Connection& c, std::vector<NewDedup> entries);
DedupFound find_dedups(Connection& c, const std::set<DedupKey>& keys);

/// What names held queue rows, column by column: (lane, channel, tenant, position, id, fence). It outlives its
/// parameters.
class LeaseColumns {
 public:
  void add(const Lease& lease);
  Params params();

 private:
  Array lane_{Type::Int2}, channel_{Type::Int2}, tenant_{Type::Int4}, position_{Type::Int8}, id_{Type::Int8},
      fence_{Type::Int4};
};

/// Columns of queue rows, of deferred rows, and of settled rows, gathered and then written in one statement each.
class QueueRows {
 public:
  void add(const Lease& lease, NodeId node, Guarantee guarantee, const std::optional<Instant>& expires_at);
  void write(Connection& c);

 private:
  struct Row {
    Lease lease = {};
    NodeId node = 0;
    Guarantee guarantee = Guarantee::AtLeastOnce;
    std::optional<Instant> expires_at = {};
  };
  std::vector<Row> rows_;
};

/// Up to so many rows of a table go one by one with the COMMIT (one round trip in all), more go by COPY (less work for
/// each).
inline constexpr std::size_t kFewRows = 6;
struct DeferredRow {
  Instant due_at = {};
  Lease lease = {};
  Guarantee guarantee = Guarantee::AtLeastOnce;
  Reason reason = Reason::Scheduled;
  std::optional<Instant> expires_at = {};
  std::string_view detail = {};
};
class DeferredRows {
 public:
  void add(const DeferredRow& row);
  void write(Connection& c);

 private:
  Array due_{Type::Int8}, id_{Type::Int8}, lane_{Type::Int2}, channel_{Type::Int2}, tenant_{Type::Int4},
      fence_{Type::Int4}, attempt_{Type::Int2}, guarantee_{Type::Int2}, reason_{Type::Int2}, expires_{Type::Int8},
      detail_{Type::Text};
};
struct SettledRow {
  RowId id = 0;
  TenantId tenant = 0;
  DeliveryState state = DeliveryState::Delivered;
  Reason reason = Reason::AcceptedByProvider;
  std::string_view detail = {};
};
class SettledRows {
 public:
  void add(const SettledRow& row, Instant at);
  void write(Connection& c);

 private:
  Array id_{Type::Int8}, tenant_{Type::Int4}, state_{Type::Int2}, reason_{Type::Int2}, detail_{Type::Text},
      at_{Type::Int8};
};

/// How the rows of a table are written, and how many columns they have.
struct RowTarget {
  std::string_view add;
  std::string_view copy;
  int columns = 0;
};
template <class Rows, class Put>
void write_rows(Connection& c, const Rows& rows, const RowTarget& target, const Put& put) {
  if (rows.size() <= kFewRows) {
    for (const auto& row : rows) {
      Params params;
      put(params, row);
      c.later(target.add, std::move(params));
    }
    return;
  }
  CopyRows all{rows.size()};
  for (const auto& row : rows) {
    all.row(target.columns);
    put(all, row);
  }
  c.copy(target.copy, all);
}

}  // namespace postrider::postgres
