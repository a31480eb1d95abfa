#include "core/watch.h"

#include "base/canary.h"
#include "base/limits.h"

namespace postrider {

std::vector<NodeId> NodeWatch::round(const std::vector<Seen>& nodes) {
  std::map<NodeId, Record> next;
  std::vector<NodeId> dead;
  for (const Seen& seen : nodes) {
    if (seen.node == self_) continue;
    Record record{.beats = seen.beats};
    const auto before = records_.find(seen.node);
    if (before != records_.end() && before->second.beats == seen.beats) record.unmoved = before->second.unmoved + 1;
    if (record.unmoved >= (canary("hasty_watch") ? 2 : kRoundsUntilDead)) {
      dead.push_back(seen.node);
    } else {
      next.emplace(seen.node, record);
    }
  }
  records_ = std::move(next);
  return dead;
}

}  // namespace postrider
