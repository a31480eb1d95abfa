#include "store/postgres/expansion_writer.h"

namespace postrider::postgres {
namespace {

constexpr std::array<std::string Message::*, 23> kMessageTexts{
    &Message::tenant_name,    &Message::topic,           &Message::type,
    &Message::entity_id,      &Message::version,         &Message::idempotency_key,
    &Message::category,       &Message::locale,          &Message::origin,
    &Message::correlation_id, &Message::traceparent,     &Message::schema_version,
    &Message::source_site,    &Message::source_instance, &Message::source_script,
    &Message::recipient,      &Message::contact,         &Message::list,
    &Message::template_key,   &Message::subject,         &Message::type_data,
    &Message::body,           &Message::payload};

template <class To>
void put_message(To& rows, const Message& m) {
  rows.int8(m.id).uuid(m.uuid.bytes).int4(m.tenant).time(std::optional{m.accepted_at});
  m.lane ? rows.int2(static_cast<int>(*m.lane)) : rows.null();
  m.channel ? rows.int2(static_cast<int>(*m.channel)) : rows.null();
  rows.time(m.occurred_at).time(m.due_at).time(m.expires_at).time(m.site_enqueued_at);
  for (std::string Message::*const text : kMessageTexts) rows.text(m.*text);
}

constexpr std::array<std::string Delivery::*, 14> kDeliveryTexts{
    &Delivery::type,         &Delivery::origin,   &Delivery::traceparent, &Delivery::recipient, &Delivery::key,
    &Delivery::template_key, &Delivery::warnings, &Delivery::subject,     &Delivery::body,      &Delivery::html,
    &Delivery::quiet,        &Delivery::contact,  &Delivery::category,    &Delivery::locale};

template <class To>
void put_delivery(To& rows, const Delivery& d) {
  rows.int8(d.id).int8(d.message).uuid(d.message_uuid.bytes).int4(d.tenant);
  rows.int2(static_cast<int>(d.channel)).int2(static_cast<int>(d.lane)).int2(static_cast<int>(d.guarantee));
  rows.int4(d.template_version).time(d.expires_at);
  for (std::string Delivery::*const text : kDeliveryTexts) rows.text(d.*text);
  rows.int2(static_cast<int>(d.rendering)).int8(d.template_id);
}

std::set<RowId> existing_messages(Connection& c, const std::vector<OutboxRow>& rows) {
  Array ids{Type::Int8};
  for (const OutboxRow& row : rows) {
    if (row.accepted) ids.add_int8(*row.accepted);
  }
  std::set<RowId> existing;
  if (ids.size() == 0) return existing;
  const Rows found = c.query("messages_existing", Params{}.array(ids));
  for (int i = 0; i < found.count(); ++i) existing.insert(found.number(i, 0));
  return existing;
}

}  // namespace

void ExpansionWriter::write(const std::vector<OutboxRow>& rows, std::vector<ExpandedMessage>& decided) {
  for (ExpandedMessage& each : decided) {
    POSTRIDER_CHECK(!each.in_chunks || each.deliveries.empty());
    entries_.push_back({.decided = &each});
  }
  find_admitted(rows);
  claim_ids();
  claim_keys();
  add_messages();
  add_deliveries();
  add_states();
}

// `accepted` is a column that somebody else may write: it counts only where our own entry says the same, and once.
void ExpansionWriter::find_admitted(const std::vector<OutboxRow>& rows) {
  std::set<DedupKey> keys;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Message& message = entries_[i].decided->message;
    if (rows[i].accepted) keys.insert(dedup_id(message.tenant, message.uuid));
  }
  if (keys.empty()) return;
  const DedupFound found = find_dedups(c_, keys);
  std::set<RowId> taken = existing_messages(c_, rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].accepted) continue;
    Message& message = entries_[i].decided->message;
    const auto own = found.find(dedup_id(message.tenant, message.uuid));
    entries_[i].admitted =
        own != found.end() && own->second.id == *rows[i].accepted && taken.insert(*rows[i].accepted).second;
    message.id = entries_[i].admitted ? *rows[i].accepted : ids_.next(now_);
  }
}

std::set<DedupKey> ExpansionWriter::add(const std::vector<NewDedup>& entries) {
  if (keys_ == Keys::TakenAsNew) {
    add_new_dedups(c_, entries);
    return {};
  }
  if (keys_ == Keys::TriedAsNew && entries.size() > kFewRows && were_new(entries)) return {};
  return add_dedups(c_, entries);
}

bool ExpansionWriter::were_new(const std::vector<NewDedup>& entries) {
  c_.run("SAVEPOINT keys");
  try {
    copy_new_dedups(c_, entries);
    return true;
  } catch (const Failure& failure) {
    if (failure.error().code != ErrorCode::Conflict) throw;
    c_.run("ROLLBACK TO SAVEPOINT keys");
    keys_ = Keys::AskFirst;
    met_old_keys_ = true;
    return false;
  }
}

void ExpansionWriter::claim_ids() {
  std::vector<NewDedup> fresh;
  std::vector<Entry*> asked;
  for (Entry& entry : entries_) {
    const Message& m = entry.decided->message;
    const DedupKey key = dedup_id(m.tenant, m.uuid);
    const DedupEntry own{.id = m.id, .body = entry.decided->body, .uuid = m.uuid};
    if (entry.admitted) {  // The entry is its own, whatever stands before it in this batch.
      in_batch_.insert_or_assign(key, own);
      continue;
    }
    const auto [earlier, first] = in_batch_.emplace(key, own);
    if (!first) {
      entry.other = earlier->second;
    } else {
      fresh.push_back({key, own});
      asked.push_back(&entry);
    }
  }
  const std::set<DedupKey> existed = add(fresh);
  const DedupFound found = find_dedups(c_, existed);
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    if (const auto at = found.find(fresh[i].key); at != found.end()) asked[i]->other = at->second;
  }
}

void ExpansionWriter::claim_keys() {
  std::vector<NewDedup> fresh;
  std::set<DedupKey> only_look;
  for (Entry& entry : entries_) {
    if (!entry.decided->key) continue;
    const Message& m = entry.decided->message;
    const DedupEntry own{.id = m.id, .body = entry.decided->body, .uuid = m.uuid};
    if (entry.other) {
      only_look.insert(*entry.decided->key);  // A repeat of an id takes no key: it changes nothing.
    } else if (in_batch_.emplace(*entry.decided->key, own).second) {
      fresh.push_back({*entry.decided->key, own});
    }
  }
  std::set<DedupKey> existed = add(fresh);
  existed.insert(only_look.begin(), only_look.end());
  const DedupFound found = find_dedups(c_, existed);
  for (Entry& entry : entries_) {
    if (!entry.decided->key) continue;
    auto first = found.find(*entry.decided->key);
    const DedupEntry* holder = first != found.end() ? &first->second : nullptr;
    if (holder == nullptr) {
      const auto earlier = in_batch_.find(*entry.decided->key);
      if (earlier != in_batch_.end()) holder = &earlier->second;
    }
    if (holder != nullptr && holder->id != entry.decided->message.id) entry.other = *holder;
  }
}

void ExpansionWriter::add_messages() {
  write_rows(c_, entries_, {"message_add", "message_copy", 10 + static_cast<int>(kMessageTexts.size())},
             [](auto& to, const Entry& entry) { put_message(to, entry.decided->message); });
}

void ExpansionWriter::add_deliveries() {
  std::vector<NewDedup> fresh;
  std::set<DedupKey> existed;
  for (Entry& entry : entries_) {
    if (entry.other) continue;
    for (ExpandedDelivery& made : entry.decided->deliveries) {
      Delivery& d = made.made.delivery;
      d.message = entry.decided->message.id;
      if (made.made.key_is_own) continue;
      const DedupKey key = dedup_delivery(d.tenant, d.key);
      if (in_batch_.emplace(key, DedupEntry{.id = d.id}).second) fresh.push_back({key, {.id = d.id}});
    }
  }
  existed = add(fresh);
  std::vector<std::pair<Entry*, ExpandedDelivery*>> kept;
  for (Entry& entry : entries_) {
    if (entry.other) continue;
    for (ExpandedDelivery& made : entry.decided->deliveries) {
      const Delivery& d = made.made.delivery;
      if (!made.made.key_is_own) {
        const DedupKey key = dedup_delivery(d.tenant, d.key);
        if (existed.count(key) != 0 || in_batch_.at(key).id != d.id) {
          append_skipped(entry.skipped, d.key);
          continue;
        }
      }
      kept.emplace_back(&entry, &made);
    }
    if (entry.decided->in_chunks) queue_expand(entry.decided->message, entry.decided->expand_at);
  }
  for (const auto& [entry, made] : kept) (void)used_.meet(made->made.delivery.template_id);
  mark_used();
  for (const auto& [entry, made] : kept) {
    if (std::int64_t& id = made->made.delivery.template_id; used_.is_gone(id)) id = 0;
  }
  write_rows(c_, kept, {"delivery_add", "delivery_copy", 11 + static_cast<int>(kDeliveryTexts.size())},
             [](auto& to, const auto& each) { put_delivery(to, each.second->made.delivery); });
  for (const auto& [entry, made] : kept) keep(*entry, *made);
  queue_.write(c_);
  deferred_.write(c_);
  settled_.write(c_);
}

// The rows that are there when nobody holds them any more: one that is being deleted meanwhile is waited for.
void ExpansionWriter::mark_used() {
  std::set<std::int64_t> missing = used_.fresh();
  if (missing.empty()) return;
  Array ids{Type::Int8};
  for (const std::int64_t id : missing) ids.add_int8(id);
  const Rows marked = c_.query("template_used", Params{}.array(ids));
  for (int i = 0; i < marked.count(); ++i) missing.erase(marked.number(i, 0));
  for (const std::int64_t id : missing) used_.lose(id);
}

void ExpansionWriter::keep(Entry& entry, ExpandedDelivery& made) {
  entry.made = Made::Something;
  const DeliveryState state = made.made.placement.state;
  if (state == DeliveryState::Queued || state == DeliveryState::Retrying) entry.live = true;
  place(made);
  if (state != DeliveryState::Queued || made.own_provider == 0) return;
  Delivery& d = made.made.delivery;
  const Lease lease{d.lane, d.channel, d.tenant, d.id, d.id, 1, 1, made.own_provider, now_};
  owned_.push_back({lease, std::move(d)});
}

void ExpansionWriter::place(const ExpandedDelivery& made) {
  const Delivery& d = made.made.delivery;
  const Placement& p = made.made.placement;
  Lease lease{.lane = d.lane, .channel = d.channel, .tenant = d.tenant, .position = d.id, .id = d.id};
  switch (p.state) {
    case DeliveryState::Queued:
      if (made.own_provider != 0) {
        lease.fence = lease.attempt = 1;
        lease.provider = made.own_provider;
        lease.claimed_at = now_;
        queue_.add(lease, node_, d.guarantee, d.expires_at);
      } else {
        queue_.add(lease, 0, d.guarantee, d.expires_at);
        groups_.insert({d.lane, d.channel, d.tenant});
      }
      return;
    case DeliveryState::Retrying:
      deferred_.add({p.due_at, lease, d.guarantee, p.reason, d.expires_at, p.detail});
      return;
    case DeliveryState::Suppressed:
    case DeliveryState::Expired: settled_.add({d.id, d.tenant, p.state, p.reason, p.detail}, now_); return;
    case DeliveryState::Sending:
    case DeliveryState::Sent:
    case DeliveryState::Delivered:
    case DeliveryState::Parked:
    case DeliveryState::Discarded:
    case DeliveryState::Cancelled: break;
  }
  POSTRIDER_DIE("a new delivery is queued, retrying, suppressed or expired");
}

void ExpansionWriter::queue_expand(const Message& message, const std::optional<Instant>& at) {
  const Lane lane = message.lane.value_or(Lane::Standard);
  if (at && *at > now_) {
    const Lease row{.lane = lane, .channel = Channel::Expand, .tenant = message.tenant, .id = message.id};
    deferred_.add({.due_at = *at, .lease = row});
    return;
  }
  queue_.add({.lane = lane,
              .channel = Channel::Expand,
              .tenant = message.tenant,
              .position = ids_.next(now_),
              .id = message.id},
             0, Guarantee::AtLeastOnce, std::nullopt);
  groups_.insert({lane, Channel::Expand, message.tenant});
}

void ExpansionWriter::add_states() {
  Array message{Type::Int8}, tenant{Type::Int4}, state{Type::Int2}, reason{Type::Int2}, detail{Type::Text},
      at{Type::Int8}, attempts{Type::Int4}, cursor{Type::Int8}, skipped{Type::Text}, as_of{Type::Int8},
      secret_of{Type::Int8}, sealed{Type::Text};
  for (Entry& entry : entries_) {
    const Message& m = entry.decided->message;
    MessageEnd end{entry.decided->state, entry.decided->reason, std::move(entry.decided->detail)};
    if (entry.other) {
      end = {MessageState::Duplicate, Reason::DuplicateMessage, format_uuid(entry.other->uuid.value_or(m.uuid))};
    } else {
      end = after_skipped(std::move(end), entry.made, entry.skipped);
    }
    if (!is_plain(end, entry.made)) {
      message.add_int8(m.id);
      tenant.add_int4(m.tenant);
      state.add_int2(static_cast<int>(end.state));
      reason.add_int2(static_cast<int>(end.reason));
      detail.add(end.detail);
      at.add_time(now_);
      attempts.add_int4(0);
      cursor.add_int8(0);
      skipped.add("");
      as_of.add_null();
    }
    if (!m.sealed.empty() && (entry.live || may_expand_again(end.state))) {
      secret_of.add_int8(m.id);
      sealed.add(m.sealed);
    }
  }
  if (message.size() > 0) {
    c_.query("message_state_put_many", Params{}
                                           .array(message)
                                           .array(tenant)
                                           .array(state)
                                           .array(reason)
                                           .array(detail)
                                           .array(at)
                                           .array(attempts)
                                           .array(cursor)
                                           .array(skipped)
                                           .array(as_of));
  }
  if (secret_of.size() > 0) c_.query("secret_add_many", Params{}.array(secret_of).array(sealed));
}

void ExpansionWriter::write_chunks(std::vector<Chunk>& chunks) {
  std::vector<ExpandedMessage> messages(chunks.size());
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    messages[i].message.id = chunks[i].message;
    messages[i].deliveries = std::move(chunks[i].deliveries);
    for (ExpandedDelivery& made : messages[i].deliveries) made.own_provider = 0;
    entries_.push_back({.decided = &messages[i], .skipped = std::move(chunks[i].skipped)});
  }
  add_deliveries();
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    chunks[i].skipped = std::move(entries_[i].skipped);
    chunks[i].made = entries_[i].made;
  }
  entries_.clear();
}

}  // namespace postrider::postgres
