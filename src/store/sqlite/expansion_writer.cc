#include "store/sqlite/expansion_writer.h"

namespace postrider::sqlite {

ExpansionWriter::ExpansionWriter(Connection& c, Instant now, NodeId node, IdSource& ids, UsedTemplates& used)
    : c_(c), now_(now), node_(node), ids_(ids), used_(used) {
  used_.begin();
}

void ExpansionWriter::write(const OutboxRow& row, ExpandedMessage& decided) {
  POSTRIDER_CHECK(!decided.in_chunks || decided.deliveries.empty());
  const std::optional<Uuid> first = find_first(row, decided);
  const Message& message = decided.message;
  add_message(c_, message);
  MessageEnd end{decided.state, decided.reason, std::move(decided.detail)};
  Made made = Made::Nothing;
  live_ = false;
  if (first) {
    end = {MessageState::Duplicate, Reason::DuplicateMessage, format_uuid(*first)};
  } else {
    std::string skipped;
    made = add_all(decided, skipped);
    end = after_skipped(std::move(end), made, skipped);
    if (decided.in_chunks) queue_expand(message, decided.expand_at);
  }
  if (!is_plain(end, made)) {
    common::put_state(
        c_, message.id,
        {.tenant = message.tenant, .state = end.state, .reason = end.reason, .detail = end.detail, .at = now_});
  }
  if (!message.sealed.empty() && (live_ || may_expand_again(end.state))) {
    c_.use("secret_add").run(message.id, message.sealed);
  }
}

// The first message with this id or key, when this one is not it. Claims both when they are free.
std::optional<Uuid> ExpansionWriter::find_first(const OutboxRow& row, ExpandedMessage& decided) {
  Message& message = decided.message;
  const DedupKey by_id = dedup_id(message.tenant, message.uuid);
  DedupEntry entry{.id = message.id, .body = decided.body, .uuid = message.uuid};
  std::optional<DedupEntry> other;
  bool admitted = false;
  if (row.accepted) {
    other = find_dedup(c_, by_id);
    // `accepted` is a column that anybody can write: it counts only where our own entry says the same, and once.
    admitted = other && other->id == *row.accepted && !c_.use("message_exists").any(*row.accepted);
    if (!admitted) {
      message.id = entry.id = ids_.next(now_);
      for (ExpandedDelivery& d : decided.deliveries) d.made.delivery.message = message.id;
    } else {
      message.id = entry.id = *row.accepted;
      other.reset();
    }
  }
  const auto is_own = [&](const DedupEntry& e) { return admitted && e.id == *row.accepted; };
  if (!admitted && !add_dedup(c_, by_id, entry)) other = find_dedup(c_, by_id);
  if (decided.key) {
    // A repeat of an id takes no key: it changes nothing.
    if (other || !add_dedup(c_, *decided.key, entry)) {
      const auto by_key = find_dedup(c_, *decided.key);
      if (by_key && !is_own(*by_key)) other = by_key;
    }
  }
  if (!other) return std::nullopt;
  return other->uuid.value_or(message.uuid);
}

Made ExpansionWriter::add_all(ExpandedMessage& decided, std::string& skipped) {
  Made made = Made::Nothing;
  for (ExpandedDelivery& delivery : decided.deliveries) {
    if (add(std::move(delivery), decided.message.id, skipped)) made = Made::Something;
  }
  return made;
}

bool ExpansionWriter::add(ExpandedDelivery made, RowId message, std::string& skipped) {
  Delivery& delivery = made.made.delivery;
  delivery.message = message;
  if (!made.made.key_is_own && !add_dedup(c_, dedup_delivery(delivery.tenant, delivery.key), {.id = delivery.id})) {
    append_skipped(skipped, delivery.key);
    return false;
  }
  mark_used(delivery);
  add_delivery(c_, delivery);
  place(made);
  if (made.made.placement.state == DeliveryState::Queued && made.own_provider != 0) {
    const Lease lease{
        delivery.lane, delivery.channel, delivery.tenant, delivery.id, delivery.id, 1, 1, made.own_provider, now_};
    owned_.push_back({lease, std::move(delivery)});
  }
  return true;
}

void ExpansionWriter::mark_used(Delivery& delivery) {
  std::int64_t& id = delivery.template_id;
  if (used_.meet(id) && c_.use("template_used").run(id) == 0) used_.lose(id);
  if (used_.is_gone(id)) id = 0;
}

void ExpansionWriter::place(const ExpandedDelivery& made) {
  const Delivery& d = made.made.delivery;
  const Placement& p = made.made.placement;
  switch (p.state) {
    case DeliveryState::Queued:
      live_ = true;
      queue(made);
      return;
    case DeliveryState::Retrying:
      live_ = true;
      c_.use("deferred_add")
          .run(p.due_at, d.id, d.lane, d.channel, d.tenant, 0, 0, d.guarantee, p.reason, d.expires_at, p.detail);
      return;
    case DeliveryState::Suppressed:
    case DeliveryState::Expired: c_.use("settled_add").run(d.id, d.tenant, p.state, p.reason, p.detail, now_); return;
    case DeliveryState::Sending:
    case DeliveryState::Sent:
    case DeliveryState::Delivered:
    case DeliveryState::Parked:
    case DeliveryState::Discarded:
    case DeliveryState::Cancelled: break;
  }
  POSTRIDER_DIE("a new delivery is queued, retrying, suppressed or expired");
}

void ExpansionWriter::queue(const ExpandedDelivery& made) {
  const Delivery& d = made.made.delivery;
  QueueRow row{.lane = d.lane,
               .channel = d.channel,
               .tenant = d.tenant,
               .position = d.id,
               .id = d.id,
               .guarantee = d.guarantee,
               .expires_at = d.expires_at};
  if (made.own_provider != 0) {
    row.node = node_;
    row.fence = row.attempt = 1;
    row.provider = made.own_provider;
    row.claimed_at = now_;
  } else {
    groups_.insert({d.lane, d.channel, d.tenant});
  }
  common::add_queue_row(c_, row);
}

void ExpansionWriter::queue_expand(const Message& message, const std::optional<Instant>& at) {
  const Lane lane = message.lane.value_or(Lane::Standard);
  if (at && *at > now_) {
    c_.use("deferred_add")
        .run(*at, message.id, lane, Channel::Expand, message.tenant, 0, 0, Guarantee::AtLeastOnce, Reason::Scheduled,
             nullptr, "");
    return;
  }
  common::add_queue_row(c_, {.lane = lane,
                             .channel = Channel::Expand,
                             .tenant = message.tenant,
                             .position = ids_.next(now_),
                             .id = message.id});
  groups_.insert({lane, Channel::Expand, message.tenant});
}

}  // namespace postrider::sqlite
