// The slow work beside the stream: heartbeat, take-over of dead nodes' rows, promotion of what has become due, expiry.
#pragma once
#include <optional>
#include <vector>

#include "core/watch.h"
#include "ports/store.h"

namespace postrider {

struct MaintainReport {
  bool beat = false;           // the lease was renewed
  bool declared_dead = false;  // others took us for dead: this process must start anew
  std::vector<Claim> taken_over = {};
  std::vector<QueueGroup> promoted = {};
  std::size_t promoted_rows = 0;
  std::size_t expired_rows = 0;
  std::vector<NodeId> found_dead = {};
  std::optional<Error> trouble = {};  // what went wrong after the above was done
  int living = 1;
};

enum class MaintainDuties : bool { HeartbeatOnly, All };

class MaintainStage {
 public:
  MaintainStage(StoreSession& store, NodeId node, MaintainDuties duties = MaintainDuties::All)
      : store_(store), node_(node), duties_(duties), watch_(node) {}

  /// Does what is due; called every few milliseconds. An error leaves what was done done and is tried again.
  Result<MaintainReport> turn(Moment at);
  /// Look for rows of nodes that are gone at the next turn.
  void look_for_orphans() { orphans_due_ = true; }

 private:
  Result<Done> steps(Moment at, MaintainReport& report);
  Result<Done> beat(Moment at, MaintainReport& report);
  Result<Done> promote(Moment at, MaintainReport& report);
  Result<Done> take_over(Moment at, MaintainReport& report);
  Result<Done> expire(Moment at, MaintainReport& report);

  StoreSession& store_;
  NodeId node_;
  MaintainDuties duties_;
  NodeWatch watch_;
  Instant next_beat_ = {};  // these are steady: a corrected clock must not silence the heartbeat
  Instant next_promote_ = {};
  Instant next_orphans_ = {};
  Instant next_expire_ = {};
  bool orphans_due_ = true;  // at the start there may be rows of a node that died before us
};

}  // namespace postrider
