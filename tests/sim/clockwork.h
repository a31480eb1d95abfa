// Time in the simulator: what happens when, in one thread. Everything has an
// owner (a process, or the world itself), so that a process can die or sleep
// with all that it had planned.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/time.h"

namespace postrider::sim {

using Owner = int;  // a process; 0: the world
constexpr Owner kWorld = 0;
/// What would go on for ever (polls, ticks, heartbeats) does not keep time from
/// being skipped.
enum class Kind : bool { Once, Round };

class Clockwork {
 public:
  using Action = std::function<void()>;
  struct Entry {
    Duration at = {};
    std::uint64_t sequence = 0;
    Owner owner = kWorld;
    Kind kind = Kind::Once;
    Action action = {};
  };

  [[nodiscard]] Duration now() const { return now_; }
  [[nodiscard]] Instant instant() const { return kBegin + now_; }

  void after(Duration wait, Owner owner, Kind kind, Action action) {
    push({now_ + wait, ++sequence_, owner, kind, std::move(action)});
  }
  void push(Entry entry) {
    auto& heap = of(entry.kind);
    heap.push_back(std::move(entry));
    std::push_heap(heap.begin(), heap.end(), Later{});
  }
  [[nodiscard]] bool empty() const { return once_.empty() && rounds_.empty(); }
  /// The earliest; time moves there.
  Entry pop() {
    auto& heap = once_.empty() || (!rounds_.empty() && Later{}(once_.front(), rounds_.front())) ? rounds_ : once_;
    std::pop_heap(heap.begin(), heap.end(), Later{});
    Entry entry = std::move(heap.back());
    heap.pop_back();
    now_ = std::max(now_, entry.at);
    return entry;
  }
  /// When the next thing happens that is not a round; Duration::max() when
  /// there is none.
  [[nodiscard]] Duration next_once() const { return once_.empty() ? Duration::max() : once_.front().at; }
  /// Lets time pass in which nothing but rounds would happen.
  void skip_to(Duration at) {
    const Duration by = at - now_;
    for (Entry& entry : rounds_) entry.at += by;
    now_ = at;
  }

 private:
  struct Later {
    bool operator()(const Entry& a, const Entry& b) const {
      return a.at != b.at ? a.at > b.at : a.sequence > b.sequence;
    }
  };
  std::vector<Entry>& of(Kind kind) { return kind == Kind::Once ? once_ : rounds_; }

  static constexpr Instant kBegin = instant_from_us(1'800'000'000'000'000);
  Duration now_ = {};
  std::uint64_t sequence_ = 0;
  std::vector<Entry> once_;
  std::vector<Entry> rounds_;
};

}  // namespace postrider::sim
