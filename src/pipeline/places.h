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
      auto room = std::make_unique<Room>();
      room->size = provider.window;
      rooms_.emplace(provider.id, std::move(room));
    }
  }

  /// Up to `wanted` places at the provider; what it returns is reserved. `share` keeps a part free for more urgent
  /// lanes.
  int reserve(ProviderId provider, int wanted, Lane lane) {
    Room* room = find(provider);
    if (room == nullptr) return 0;
    const int limit = room->size - kept_free(room->size, lane);
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
    return room == nullptr ? 0 : std::max(0, room->size - room->used.load(std::memory_order_relaxed));
  }
  /// What reserve() could give this lane now.
  [[nodiscard]] int room(ProviderId provider, Lane lane) const {
    const Room* room = find(provider);
    if (room == nullptr) return 0;
    return std::max(0, room->size - kept_free(room->size, lane) - room->used.load(std::memory_order_relaxed));
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
    int size = 0;
    std::atomic<int> used{0};
    std::atomic<int> open_lanes{0};  // the so many most urgent ones
  };
  static int kept_free(int size, Lane lane) {
    switch (lane) {
      case Lane::Priority: return 0;
      case Lane::Standard: return size / 8;
      case Lane::Bulk: return size / 4;
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
