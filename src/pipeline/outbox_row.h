// A row of the outbox as a message that nothing was decided about yet; and the decision that it is wanted no more.
#pragma once
#include <cstdint>
#include <string>

#include "base/prng.h"
#include "core/rules.h"
#include "ports/store.h"

namespace postrider {

struct RowReader {
  const Rules& rules;
  IdSource& ids;
  Prng& random;
  Instant now = {};
};
/// With its ids, keys and tenant. A row that cannot be read is a failed message.
ExpandedMessage message_of_row(const OutboxRow& row, const RowReader& with);

/// Rows that are wanted no more become messages without deliveries, cancelled with their entity.
ExpandDecision cancelling(const Rules& rules, IdSource& ids, Instant now, std::uint64_t seed, std::string why);

}  // namespace postrider
