#include "store/sqlite/held.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace postrider::sqlite {
namespace {

// Rows of others that a walk steps over before it seeks the next lease's row: a step costs a fifth of a seek (0.2 us
// and 1.0).
constexpr int kStepsMax = 5;

auto key_of(const Lease& l) { return std::tuple{l.lane, l.channel, l.tenant, l.position}; }
bool same_group(const Lease& a, const Lease& b) {
  return a.lane == b.lane && a.channel == b.channel && a.tenant == b.tenant;
}

// Neighbours in the queue that all go: nothing else stands between the first and the last.
struct Run {
  const Lease* first = nullptr;
  const Lease* last = nullptr;
  int count = 0;
};

// Goes along the queue and the leases side by side. What a batch holds stands mostly together, and reading on costs far
// less than a seek for each. Nothing is changed while it reads.
class Walk {
 public:
  Walk(Connection& c, std::span<const Completion> completions)
      : walk_(c.use("queue_walk")), completions_(completions), order_(completions.size()), held_(completions.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    const auto key = [&](std::size_t i) { return std::tuple{key_of(completions_[i].lease), i}; };
    const auto before = [&](std::size_t a, std::size_t b) { return key(a) < key(b); };
    if (!std::is_sorted(order_.begin(), order_.end(), before)) std::sort(order_.begin(), order_.end(), before);
  }

  void go() {
    while (at_ < order_.size()) {
      walk_once();
      close_run();  // what stands between this walk and the next was not seen
    }
  }
  [[nodiscard]] const std::vector<Run>& runs() const { return runs_; }
  EndedLeases ended() && { return {std::move(held_), std::move(order_)}; }

 private:
  [[nodiscard]] const Lease& lease(std::size_t place) const { return completions_[order_[place]].lease; }

  // From the row of the next lease on, as far as its group's leases go or until too many rows of others stand there.
  void walk_once() {
    const Lease& first = lease(at_);
    std::size_t end = at_ + 1;
    while (end < order_.size() && same_group(lease(end), first)) ++end;
    Rows rows = walk_.query(first.lane, first.channel, first.tenant, first.position, lease(end - 1).position);
    int steps = 0;
    while (steps <= kStepsMax) {
      if (!rows.next()) {
        at_ = end;
        return;
      }
      const std::int64_t position = rows.integer(0);
      while (at_ < end && lease(at_).position < position) ++at_;  // their rows are gone
      const Lease* holder = nullptr;
      for (; at_ < end && lease(at_).position == position; ++at_) {
        if (holder == nullptr && is_held(rows, lease(at_))) holder = note(rows);
      }
      if (holder != nullptr) {
        extend_run(*holder);
        steps = 0;
      } else {
        close_run();
        ++steps;
      }
      if (at_ == end) return;
    }
  }

  static bool is_held(const Rows& rows, const Lease& l) {
    return rows.number<NodeId>(3) != 0 && rows.integer(1) == l.id && rows.number<int>(2) == l.fence;
  }
  const Lease* note(const Rows& rows) {
    HeldRow& row = held_[order_[at_]].emplace();
    row.node = rows.number<NodeId>(3);
    row.attempt = rows.number<int>(4);
    row.provider = rows.number<ProviderId>(5);
    if (!rows.is_null(6)) row.mark = CancelMark{rows.reason(6), rows.text(7)};
    return &lease(at_);
  }
  void extend_run(const Lease& holder) {
    if (run_.count == 0) run_.first = &holder;
    run_.last = &holder;
    ++run_.count;
  }
  void close_run() {
    if (run_.count != 0) runs_.push_back(run_);
    run_ = {};
  }

  Statement& walk_;
  std::span<const Completion> completions_;
  std::vector<std::size_t> order_;  // of the queue
  std::vector<std::optional<HeldRow>> held_;
  std::size_t at_ = 0;  // in order_: the next lease
  Run run_;
  std::vector<Run> runs_;
};

}  // namespace

EndedLeases end_leases(Connection& c, std::span<const Completion> completions) {
  Walk walk{c, completions};
  walk.go();
  Statement& drop = c.use("queue_drop_run");
  for (const Run& run : walk.runs()) {
    const Lease& l = *run.first;
    // Nobody else writes inside this transaction: another count would mean that rows go which nobody has looked at.
    if (drop.run(l.lane, l.channel, l.tenant, l.position, run.last->position) != run.count)
      fail_corrupt("a queue whose rows change while they are counted");
  }
  return std::move(walk).ended();
}

}  // namespace postrider::sqlite
