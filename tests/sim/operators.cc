// What people do while messages are on their way: they call things off, do not
// want to be written to, and change what a message is about.
#include "sim/world.h"

namespace postrider::sim {
namespace {

constexpr std::uint64_t kActsMax = 12;
const OperatorAction kOperator{.actor = "operator", .why = "somebody called"};

}  // namespace

void World::plan_people() {
  const auto some_time = [this] {
    return Duration{static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(sending_ends_.count()) * 3))};
  };
  const std::uint64_t acts = random_.below(kActsMax);
  for (std::uint64_t i = 0; i < acts; ++i) {
    clock_.after(some_time(), kWorld, Kind::Once, [this] { random_.below(2) == 0 ? cancel_one() : suppress_one(); });
  }
  for (const auto& [entity, record] : records_) {
    const std::uint64_t changes = random_.below(3);
    for (std::uint64_t i = 0; i < changes; ++i) {
      clock_.after(some_time(), kWorld, Kind::Once, [this, name = entity] { change_record(name); });
    }
  }
}

// Often something that is being sent at this moment.
void World::cancel_one() {
  if (database_->deliveries.empty()) return;
  std::vector<RowId> held;
  for (const auto& [key, row] : database_->queue) {
    if (key.group.channel != Channel::Expand && row.node != 0) held.push_back(row.id);
  }
  const bool from_held = !held.empty() && random_.below(2) == 0;
  const std::size_t pick = random_.below(from_held ? held.size() : database_->deliveries.size());
  const RowId picked =
      from_held ? held[pick] : std::next(database_->deliveries.begin(), static_cast<std::ptrdiff_t>(pick))->first;
  const std::vector<RowId> ids{picked};
  (void)operator_session_->cancel(clock_.instant() + clock_step_, kOperator, ids);
}

void World::suppress_one() {
  const Order& order = orders_[random_.below(orders_.size())];
  if (order.recipients.empty()) return;
  const std::string& address = order.recipients[random_.below(order.recipients.size())];
  const std::vector<Suppression> wanted{{.tenant = database_->tenant_number(order.tenant),
                                         .channel = is_mail(address) ? Channel::Email : Channel::Webhook,
                                         .address = address,
                                         .evidence = "somebody called"}};
  (void)operator_session_->suppress(clock_.instant() + clock_step_, kOperator, wanted);
}

void World::change_record(const std::string& entity) {
  RecordFacts& record = records_.at(entity);
  ++record.seen;
  if (random_.below(6) == 0) record.off = true;
  note("record", fmt::format("{} seen {}{}", record.ref, record.seen, record.off ? ", off" : ""));
  tell([&](Checker& checker) { checker.record_changed(record); });
}

Hold World::hold_of(const std::string& recipient) {
  for (const auto& [id, delivery] : database_->deliveries) {
    if (delivery.recipient != recipient) continue;
    const auto queued = database_->find_queued(id);
    return queued != database_->queue.end() && queued->second.node != 0 ? Hold::ANode : Hold::Nobody;
  }
  return Hold::Nobody;
}

void World::cancelled(RowId delivery) {
  note("cancelled", std::to_string(delivery));
  tell([&](Checker& checker) { checker.cancelled(delivery); });
}
void World::suppressed(const std::string& recipient, Hold hold) {
  note("suppressed", recipient);
  tell([&](Checker& checker) { checker.suppressed(recipient, hold); });
}

}  // namespace postrider::sim
