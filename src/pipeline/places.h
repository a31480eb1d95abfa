// Places downstream: nobody claims or owns a row before a place for it is reserved, so memory is bounded by
// construction and a hand-over never waits. Shared by the expander (which may own rows at once) and the dispatcher.
// Thread-safe.
#pragma once
#include <algorithm>
#include <atomic>
#include <map>
#include <memory>

#include "base/check.h"
#include "core/rules.h"

namespace postrider {

class Places {
 public:
  explicit Places(const Rules& rules) {
    for (const ProviderRule& provider : rules.providers) {
      rooms_.emplace(provider.id, std::make_unique<Room>(provider.window));
    }
  }

  /// Up to `wanted` places at the provider; what it returns is reserved. `share` keeps a part free for more urgent
  /// lanes.
  int reserve(ProviderId provider, int wanted, Lane lane) {
    Room* room = find(provider);
    if (room == nullptr) return 0;
    const int limit = for_lane(*room, lane);
    int used = room->used.load(std::memory_order_relaxed);
    int granted = 0;
    do {
      granted = std::min(wanted, limit - used);
      if (granted <= 0) return 0;
    } while (!room->used.compare_exchange_weak(used, used + granted, std::memory_order_relaxed));
    return granted;
  }
  void give_back(ProviderId provider, int count) {
    Room* room = find(provider);
    if (room == nullptr || count == 0) return;
    const int before = room->used.fetch_sub(count, std::memory_order_relaxed);
    POSTRIDER_CHECK(before >= count);
  }
  [[nodiscard]] int free(ProviderId provider) const {
    const Room* room = find(provider);
    return room == nullptr ? 0 : std::max(0, size(provider) - room->used.load(std::memory_order_relaxed));
  }
  /// How many there are for all lanes together: the window, unless somebody made it less. What is reserved stays so.
  [[nodiscard]] int size(ProviderId provider) const {
    const Room* room = find(provider);
    return room == nullptr ? 0 : room->size.load(std::memory_order_relaxed);
  }
  void resize(ProviderId provider, int size) {
    if (Room* room = find(provider)) room->size.store(std::min(size, room->window), std::memory_order_relaxed);
  }
  /// What reserve() could give this lane now.
  [[nodiscard]] int room(ProviderId provider, Lane lane) const {
    const Room* room = find(provider);
    if (room == nullptr) return 0;
    return std::max(0, for_lane(*room, lane) - room->used.load(std::memory_order_relaxed));
  }
  [[nodiscard]] int used(ProviderId provider) const {
    const Room* room = find(provider);
    return room == nullptr ? 0 : room->used.load(std::memory_order_relaxed);
  }

  /// New rows may be owned at once only where nothing older of their lane, or of a more urgent one, waits and the
  /// provider may be called.
  [[nodiscard]] bool may_own(ProviderId provider, Lane lane) const {
    const Room* room = find(provider);
    return room != nullptr && room->open_lanes.load(std::memory_order_relaxed) >= static_cast<int>(lane);
  }
  void set_open(ProviderId provider, bool open) { set_open_lanes(provider, open ? static_cast<int>(Lane::Bulk) : 0); }
  /// Only for lanes more urgent than the most urgent one that waits.
  void set_open_before(ProviderId provider, Lane waiting) { set_open_lanes(provider, static_cast<int>(waiting) - 1); }

 private:
  struct Room {
    explicit Room(int all) : window(all), size(all) {}
    const int window;
    std::atomic<int> size;  // at most the window
    std::atomic<int> used{0};
    std::atomic<int> open_lanes{0};  // the so many most urgent ones
  };
  static int for_lane(const Room& room, Lane lane) {
    const int size = room.size.load(std::memory_order_relaxed);
    switch (lane) {
      case Lane::Priority: return size;
      case Lane::Standard: return size - size / 8;
      case Lane::Bulk: return size - size / 4;
    }
    POSTRIDER_DIE("a Lane outside its enum");
  }
  void set_open_lanes(ProviderId provider, int lanes) {
    if (Room* room = find(provider)) room->open_lanes.store(lanes, std::memory_order_relaxed);
  }
  [[nodiscard]] Room* find(ProviderId provider) const {
    const auto found = rooms_.find(provider);
    return found == rooms_.end() ? nullptr : found->second.get();
  }
  std::map<ProviderId, std::unique_ptr<Room>> rooms_;
};

}  // namespace postrider
