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

// Often what is being sent at this moment; else nothing.
std::optional<RowId> World::one_that_is_held() {
  std::vector<RowId> held;
  for (const auto& [key, row] : database_->queue) {
    if (key.group.channel != Channel::Expand && row.node != 0) held.push_back(row.id);
  }
  if (held.empty() || random_.below(2) != 0) return std::nullopt;
  return held[random_.below(held.size())];
}

void World::operate() {
  switch (random_.below(4)) {
    case 0: return discard_one();
    case 1: return dispatch_one();
    default: return retry_one();
  }
}

void World::retry_one() {
  if (database_->parked.empty()) return;
  const auto pick = static_cast<std::ptrdiff_t>(random_.below(database_->parked.size()));
  const RowId id = std::next(database_->parked.begin(), pick)->first;
  (void)operator_session_->retry(clock_.instant() + clock_step_, kOperator, std::span{&id, 1});
}

void World::discard_one() {
  if (database_->parked.empty()) return;
  const RowId id = database_->parked.begin()->first;
  (void)operator_session_->discard(clock_.instant() + clock_step_, kOperator, std::span{&id, 1});
}

void World::dispatch_one() {
  if (database_->deferred.empty()) return;
  const auto pick = static_cast<std::ptrdiff_t>(random_.below(database_->deferred.size()));
  const RowId id = std::next(database_->deferred.begin(), pick)->first.second;
  (void)operator_session_->dispatch(clock_.instant() + clock_step_, kOperator, std::span{&id, 1});
}

void World::cancel_one() {
  if (database_->deliveries.empty()) return;
  std::vector<RowId> ids;
  if (const auto held = one_that_is_held()) {
    ids.push_back(*held);
  } else {
    const auto pick = static_cast<std::ptrdiff_t>(random_.below(database_->deliveries.size()));
    ids.push_back(std::next(database_->deliveries.begin(), pick)->first);
  }
  (void)operator_session_->cancel(clock_.instant() + clock_step_, kOperator, ids);
}

void World::suppress_one() {
  Suppression wanted{.evidence = "somebody called"};
  if (const auto held = one_that_is_held()) {
    const Delivery& delivery = database_->deliveries.at(*held);
    wanted.tenant = delivery.tenant;
    wanted.address = delivery.recipient;
  } else {
    const Order& order = orders_[random_.below(orders_.size())];
    if (order.recipients.empty()) return;
    wanted.tenant = database_->tenant_number(order.tenant);
    wanted.address = order.recipients[random_.below(order.recipients.size())];
  }
  wanted.channel = is_mail(wanted.address) ? Channel::Email : Channel::Webhook;
  (void)operator_session_->suppress(clock_.instant() + clock_step_, kOperator, std::span{&wanted, 1});
}

void World::change_record(const std::string& entity) {
  RecordFacts& record = records_.at(entity);
  ++record.seen;
  if (random_.below(6) == 0) record.off = true;
  note("record", fmt::format("{} seen {}{}", record.ref, record.seen, record.off ? ", off" : ""));
  tell([&](Checker& checker) { checker.record_changed(record); });
}

void World::cancelled(RowId delivery) {
  note("cancelled", std::to_string(delivery));
  tell([&](Checker& checker) { checker.cancelled(delivery); });
}
void World::retried(RowId delivery) {
  note("retried", std::to_string(delivery));
  tell([&](Checker& checker) { checker.retried(database_->deliveries.at(delivery)); });
}
void World::dispatched(RowId delivery) {
  note("dispatched", std::to_string(delivery));
  tell([&](Checker& checker) { checker.dispatched(delivery); });
}
void World::suppressed(const std::string& recipient) {
  note("suppressed", recipient);
  tell([&](Checker& checker) { checker.suppressed(recipient); });
}

}  // namespace postrider::sim
