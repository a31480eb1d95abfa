#include "transport/pool.h"

#include <algorithm>

#include "transport/connection.h"

namespace postrider::net {

Pool::Pool(ProviderId provider, Endpoint end)
    : id(provider),
      endpoint(std::move(end)),
      connections_max_(std::max(1, endpoint.connections_max)),
      connections_for_all_(std::max(1, connections_max_ - std::max(0, endpoint.connections_kept_for_priority))) {}

Jobs* Pool::next_lane() {
  if (busy_ >= connections_max_) return nullptr;
  if (!waiting_priority_.empty()) return &waiting_priority_;
  return !waiting_others_.empty() && busy_others_ < connections_for_all_ ? &waiting_others_ : nullptr;
}

Job* Pool::take_next() {
  Jobs* lane = next_lane();
  if (lane == nullptr) return nullptr;
  running_.splice(running_.end(), *lane, lane->begin());
  ++busy_;
  if (running_.back().call.lane != Lane::Priority) ++busy_others_;
  return &running_.back();
}

Job* Pool::take_next_for(const std::string& key) {
  const Jobs* lane = next_lane();
  return lane != nullptr && lane->front().target->key == key ? take_next() : nullptr;
}

Connection* Pool::take_idle(const std::string& key) {
  const auto it = std::find_if(idle_.rbegin(), idle_.rend(), [&](const Connection* c) { return c->target.key == key; });
  if (it == idle_.rend()) return nullptr;
  Connection* connection = *it;
  idle_.erase(std::next(it).base());
  return connection;
}

Connection* Pool::take_oldest_idle() {
  if (idle_.empty()) return nullptr;
  Connection* connection = idle_.front();
  idle_.erase(idle_.begin());
  return connection;
}

void Pool::forget_idle(const Connection& connection) { std::erase(idle_, &connection); }

}  // namespace postrider::net
