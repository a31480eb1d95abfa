// The queue rows behind the leases of one batch: which of them are still held as the leases say, and the end of those.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "ports/store.h"
#include "store/rules.h"
#include "store/sqlite/connection.h"

namespace postrider::sqlite {

/// What the queue says of a row that is held under its lease's fence.
struct HeldRow {
  NodeId node = 0;
  int attempt = 0;
  ProviderId provider = 0;
  std::optional<CancelMark> mark = {};
};

struct EndedLeases {
  std::vector<std::optional<HeldRow>> rows = {};  // for each lease the row that it held; empty: it was lost before
  std::vector<std::size_t> order = {};            // of the leases, as their rows stand in the queue
};

/// Takes the rows of these leases out of the queue. Of two that name the same row under the same fence the first one
/// has it.
EndedLeases end_leases(Connection& c, std::span<const Completion> completions);

}  // namespace postrider::sqlite
