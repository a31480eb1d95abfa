// Rows of the tables as values of the core, for every dialect whose connection offers use(name).query(…) and .run(…).
// Column orders are those of the statements in each dialect's sql/.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ports/store.h"
#include "store/rules.h"

namespace postrider::common {

struct StoredState {
  TenantId tenant = 0;
  MessageState state = MessageState::Expanded;
  Reason reason = Reason::Expanded;
  std::string detail = {};
  Instant at = {};
  int attempts = 0;
  std::size_t cursor = 0;
  std::string skipped = {};
  std::optional<Instant> as_of = {};
};
struct QueueRow {
  Lane lane = Lane::Standard;
  Channel channel = Channel::Email;
  TenantId tenant = 0;
  std::int64_t position = 0;
  RowId id = 0;
  NodeId node = 0;
  int fence = 0;
  int attempt = 0;
  ProviderId provider = 0;
  Guarantee guarantee = Guarantee::AtLeastOnce;
  std::optional<Instant> claimed_at = {};
  std::optional<Instant> expires_at = {};
};
struct Settling {
  RowId id = 0;
  TenantId tenant = 0;
  DeliveryState state = DeliveryState::Delivered;
  Reason reason = Reason::AcceptedByProvider;
  std::string_view detail = {};
};
/// Writes settled rows of one transaction and erases the secrets of messages whose last delivery that was.
template <class Connection>
class Settler {
 public:
  Settler(Connection& c, Instant now) : c_(c), now_(now), secrets_(c.use("secret_any").any()) {}
  void settle(const Settling& end);
  /// The second half of settle(), for a row that was written otherwise.
  void erase_secret(RowId delivery);

 private:
  Connection& c_;
  Instant now_;
  bool secrets_;  // most databases hold none: then nothing is looked up
};

using Groups = std::set<QueueGroup>;
inline std::vector<QueueGroup> as_list(const Groups& groups) { return {groups.begin(), groups.end()}; }

template <class Rows>
OutboxRow read_outbox_row(const Rows& rows) {
  OutboxRow row;
  row.position = rows.integer(0);
  row.accepted = rows.maybe_integer(1);
  row.id = rows.text(2);
  if (!rows.is_null(3)) row.tenant = rows.text(3);
  int column = 4;
  for (std::string* field : {&row.topic,
                             &row.type,
                             &row.entity_id,
                             &row.version,
                             &row.idempotency_key,
                             &row.payload,
                             &row.sealed,
                             &row.lane,
                             &row.category,
                             &row.locale,
                             &row.origin,
                             &row.correlation_id,
                             &row.traceparent,
                             &row.schema_version,
                             &row.occurred_at,
                             &row.due_at,
                             &row.expires_at,
                             &row.source_site,
                             &row.source_instance,
                             &row.source_script,
                             &row.site_enqueued_at,
                             &row.type_data,
                             &row.channel,
                             &row.recipient,
                             &row.contact,
                             &row.list,
                             &row.subject,
                             &row.body,
                             &row.template_key}) {
    *field = rows.text(column++);
  }
  return row;
}

/// Into a new one where it stands: moving two dozen fields costs a part of what reading them does.
template <class Rows>
void read_delivery(const Rows& rows, int from, Delivery& d) {
  int column = from;
  d.id = rows.integer(column++);
  d.message = rows.integer(column++);
  d.message_uuid = rows.uuid(column++);
  d.tenant = rows.template number<TenantId>(column++);
  d.channel = rows.one_of(column++, Channel::Email, Channel::InApp);
  d.lane = rows.one_of(column++, Lane::Priority, Lane::Bulk);
  d.guarantee = rows.one_of(column++, Guarantee::AtLeastOnce, Guarantee::Reconcile);
  d.type = rows.text(column++);
  d.origin = rows.text(column++);
  d.traceparent = rows.text(column++);
  d.recipient = rows.text(column++);
  d.key = rows.text(column++);
  d.template_key = rows.text(column++);
  d.template_version = rows.template number<int>(column++);
  d.expires_at = rows.maybe_instant(column++);
  d.warnings = rows.text(column++);
  d.subject = rows.text(column++);
  d.body = rows.text(column++);
  d.html = rows.text(column++);
  d.rendering = rows.one_of(column++, Rendering::Early, Rendering::Late);
  d.quiet = rows.text(column++);
}
template <class Rows>
Delivery read_delivery(const Rows& rows, int from) {
  Delivery d;
  read_delivery(rows, from, d);
  return d;
}

/// A whole row of `delivery_of`: with what only people ask for.
template <class Rows>
Delivery read_whole_delivery(const Rows& rows) {
  Delivery d = read_delivery(rows, 0);
  int column = 21;
  d.template_id = rows.integer(column++);
  d.contact = rows.text(column++);
  d.category = rows.text(column++);
  d.locale = rows.text(column++);
  return d;
}

template <class Rows>
Message read_message(const Rows& rows) {
  int column = 0;
  Message m;
  m.id = rows.integer(column++);
  m.uuid = rows.uuid(column++);
  m.tenant = rows.template number<TenantId>(column++);
  m.accepted_at = rows.instant(column++);
  for (std::string* field : {&m.tenant_name, &m.topic, &m.type, &m.entity_id, &m.version, &m.idempotency_key}) {
    *field = rows.text(column++);
  }
  if (!rows.is_null(column)) m.lane = rows.one_of(column, Lane::Priority, Lane::Bulk);
  ++column;
  for (std::string* field : {&m.category, &m.locale, &m.origin, &m.correlation_id, &m.traceparent, &m.schema_version}) {
    *field = rows.text(column++);
  }
  m.occurred_at = rows.maybe_instant(column++);
  m.due_at = rows.maybe_instant(column++);
  m.expires_at = rows.maybe_instant(column++);
  for (std::string* field : {&m.source_site, &m.source_instance, &m.source_script}) *field = rows.text(column++);
  m.site_enqueued_at = rows.maybe_instant(column++);
  if (!rows.is_null(column)) m.channel = rows.one_of(column, Channel::Email, Channel::InApp);
  ++column;
  for (std::string* field :
       {&m.recipient, &m.contact, &m.list, &m.template_key, &m.subject, &m.type_data, &m.body, &m.payload, &m.sealed}) {
    *field = rows.text(column++);
  }
  return m;
}

template <class Connection>
void put_rendering(Connection& c, RowId delivery, Instant now, const LateRendering& r) {
  c.use("rendering_put").run(delivery, now, r.template_version, r.locale, r.subject, r.body, r.html, r.warnings);
}

/// Puts what was sent into a delivery that was written late; one that held a secret stays empty.
template <class Connection>
void add_rendering(Connection& c, Delivery& d) {
  if (d.rendering != Rendering::Late) return;
  auto rows = c.use("rendering_of").query(d.id);
  if (!rows.next()) return;
  d.template_version = rows.template number<int>(0);
  d.locale = rows.text(1);
  d.subject = rows.text(2);
  d.body = rows.text(3);
  d.html = rows.text(4);
  d.warnings = rows.text(5);
}

template <class Rows>
StoredState read_state(const Rows& rows, int from = 0) {
  return {.tenant = rows.template number<TenantId>(from),
          .state = rows.one_of(from + 1, MessageState::Pending, MessageState::Cancelled),
          .reason = rows.reason(from + 2),
          .detail = rows.text(from + 3),
          .at = rows.instant(from + 4),
          .attempts = rows.template number<int>(from + 5),
          .cursor = rows.template number<std::size_t>(from + 6),
          .skipped = rows.text(from + 7),
          .as_of = rows.maybe_instant(from + 8)};
}

template <class Connection>
std::optional<StoredState> find_state(Connection& c, RowId message, std::string_view statement = "message_state_of") {
  auto rows = c.use(statement).query(message);
  if (!rows.next()) return std::nullopt;
  return read_state(rows);
}

/// What a chunk makes of its message's state; a message that simply became deliveries needs no row.
enum class StateRow : bool { Dropped, Kept };
inline StateRow advance(StoredState& state, const ExpandStep& step, Made made, Instant now) {
  const ExpandChunk& chunk = step.chunk;
  state.cursor = std::max(state.cursor, chunk.cursor);  // never back: those pairs are made
  if (chunk.as_of) state.as_of = chunk.as_of;
  state.at = now;
  if (!chunk.finished) return StateRow::Kept;
  MessageEnd end{chunk.state, chunk.reason, chunk.detail};
  if (end.state == MessageState::Expanded) end = after_skipped(std::move(end), made, state.skipped);
  state.state = end.state;
  state.reason = end.reason;
  state.detail = end.detail;
  state.attempts = step.lease.attempt;
  return is_plain(end, made) ? StateRow::Dropped : StateRow::Kept;
}

template <class Connection>
void put_state(Connection& c, RowId message, const StoredState& s) {
  c.use("message_state_put")
      .run(message, s.tenant, s.state, s.reason, s.detail, s.at, s.attempts, s.cursor, s.skipped, s.as_of);
}

template <class Connection>
void add_queue_row(Connection& c, const QueueRow& r) {
  c.use("queue_add")
      .run(r.lane, r.channel, r.tenant, r.position, r.id, r.node, r.fence, r.attempt, r.provider, r.guarantee,
           r.claimed_at, r.expires_at);
}

template <class Connection>
bool drop_waiting(Connection& c, const QueueGroup& group, RowId id) {
  if (c.use("queue_drop_at_id").run(group.lane, group.channel, group.tenant, id) == 1) return true;
  const auto position = c.use("queue_find_waiting").integer(group.lane, group.channel, group.tenant, id);
  return position && c.use("queue_drop_waiting").run(group.lane, group.channel, group.tenant, *position) == 1;
}

template <class Connection>
void Settler<Connection>::settle(const Settling& end) {
  c_.use("settled_add").run(end.id, end.tenant, end.state, end.reason, end.detail, now_);
  erase_secret(end.id);
}

template <class Connection>
void Settler<Connection>::erase_secret(RowId delivery) {
  if (!secrets_) return;
  if (const auto message = c_.use("message_of_delivery").integer(delivery)) c_.use("secret_drop_if_done").run(*message);
}

}  // namespace postrider::common
