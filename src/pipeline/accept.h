// The stage before the outbox for messages that come by HTTP: reads them strictly, gives ids, and prepares them for one
// durable write.
#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/prng.h"
#include "core/rules.h"
#include "ports/store.h"

namespace postrider {

struct RefusedMessage {
  std::size_t index = 0;  // in the request
  Refusal refusal = {};
};

/// Judges all messages of one request; the first wrong one refuses the request. Unlike a row from a producer's INSERT,
/// which becomes a failed message, a wrong message is refused here and leaves nothing.
std::variant<IntakeGroup, RefusedMessage> prepare(std::vector<OutboxRow> rows, const Rules& rules, Instant now,
                                                  Prng& random);

}  // namespace postrider
