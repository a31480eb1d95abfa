// Values of the core as rows of the tables, one row at a time. Reading them is the same in every dialect
// (store/common).
#pragma once
#include <optional>

#include "ports/store.h"
#include "store/common/rows.h"
#include "store/sqlite/connection.h"

namespace postrider::sqlite {

using common::as_list;
using common::Groups;
using common::QueueRow;
using common::StoredState;

void add_outbox_row(Connection& c, std::optional<RowId> accepted, const OutboxRow& row);
void add_message(Connection& c, const Message& message);
void add_delivery(Connection& c, const Delivery& delivery);

std::optional<DedupEntry> find_dedup(Connection& c, const DedupKey& key);
/// False when the key exists already.
bool add_dedup(Connection& c, const DedupKey& key, const DedupEntry& entry);

}  // namespace postrider::sqlite
