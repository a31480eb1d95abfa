// Calling deliveries off, for every dialect: by an operator, with their entity, or because somebody does not want them.
#pragma once
#include "store/common/rows.h"
#include "store/rules.h"

namespace postrider::common {

inline Settling called_off(RowId id, TenantId tenant, const CancelMark& mark) {
  return {id, tenant, state_when_called_off(mark.reason), mark.reason, mark.why};
}

template <class Connection>
bool mark_held(Connection& c, const QueueGroup& group, RowId id, const CancelMark& mark) {
  if (c.use("queue_mark_at_id").run(group.lane, group.channel, group.tenant, id, mark.reason, mark.why) == 1)
    return true;
  const auto position = c.use("queue_find_held").integer(group.lane, group.channel, group.tenant, id);
  return position &&
         c.use("queue_mark").run(group.lane, group.channel, group.tenant, *position, id, mark.reason, mark.why) == 1;
}

/// Ends one that waits, and marks one that a node holds: its call may be under way, but there is no other after it.
template <class Connection>
CalledOff call_off(Connection& c, Settler<Connection>& settler, const QueueGroup& group, RowId id,
                   const CancelMark& mark) {
  // It goes from the queue to the deferred and back while we look: looked at twice, it cannot slip by.
  for (int look = 0; look < 2; ++look) {
    const bool retrying = c.use("deferred_drop").run(id) == 1;
    if (retrying || drop_waiting(c, group, id)) {
      settler.settle(called_off(id, group.tenant, mark));
      return retrying ? CalledOff::WasRetrying : CalledOff::WasQueued;
    }
    if (mark_held(c, group, id, mark)) return CalledOff::WasHeld;
  }
  return CalledOff::No;
}

}  // namespace postrider::common
