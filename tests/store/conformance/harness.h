// What a store brings to be put through the conformance suite. Each store's test binary links the suite and defines
// store_factories().
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "ports/store.h"

namespace postrider::conformance {

struct AuditLine {
  std::string actor = {};
  std::string action = {};
  std::string why = {};
  std::optional<RowId> message = {};
  std::optional<RowId> delivery = {};
};

/// A database of its own, migrated and empty.
class Database {
 public:
  virtual ~Database() = default;
  virtual Store& store() = 0;
  /// What a producer does: a plain INSERT that names only the fields that are not empty, committed.
  virtual void insert(const OutboxRow& row) = 0;
  /// All audit rows, oldest first. The port has no verb for them yet.
  virtual std::vector<AuditLine> audit() = 0;
  /// Opens the same data again, as a new process would. No session is open.
  virtual void reopen() = 0;
};

struct StoreFactory {
  std::string name = {};
  std::function<std::unique_ptr<Database>()> make = {};
  /// New inner ids for rows with a forged `accepted` are drawn row by row, as the model draws them; else batch by
  /// batch.
  bool ids_row_by_row = true;
};
inline void PrintTo(const StoreFactory& factory, std::ostream* out) { *out << factory.name; }
std::vector<StoreFactory> store_factories();

}  // namespace postrider::conformance
