#include "store/postgres/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>

namespace postrider::postgres {

namespace {

// As "@" and microseconds since 1970: no text form can be misread. PostgreSQL counts from 2000.
std::string time_text(const Rows& rows, int row, int column) {
  if (rows.is_null(row, column)) return {};
  const std::int64_t since_2000 = rows.number(row, column);
  if (since_2000 == std::numeric_limits<std::int64_t>::max()) return "infinity";
  if (since_2000 == std::numeric_limits<std::int64_t>::min()) return "-infinity";
  return fmt::format("@{}", since_2000 + kFrom1970To2000);
}

}  // namespace

OutboxRow read_outbox_row(const Rows& rows, int row) {
  OutboxRow out;
  out.position = rows.number(row, 0);
  if (!rows.is_null(row, 1)) out.accepted = rows.number(row, 1);
  std::string OutboxRow::*const kColumns[] = {&OutboxRow::id,
                                              &OutboxRow::tenant,
                                              &OutboxRow::topic,
                                              &OutboxRow::type,
                                              &OutboxRow::entity_id,
                                              &OutboxRow::version,
                                              &OutboxRow::idempotency_key,
                                              &OutboxRow::payload,
                                              &OutboxRow::sealed,
                                              &OutboxRow::lane,
                                              &OutboxRow::category,
                                              &OutboxRow::locale,
                                              &OutboxRow::origin,
                                              &OutboxRow::correlation_id,
                                              &OutboxRow::traceparent,
                                              &OutboxRow::schema_version,
                                              &OutboxRow::occurred_at,
                                              &OutboxRow::due_at,
                                              &OutboxRow::expires_at,
                                              &OutboxRow::source_site,
                                              &OutboxRow::source_instance,
                                              &OutboxRow::source_script,
                                              &OutboxRow::site_enqueued_at,
                                              &OutboxRow::type_data,
                                              &OutboxRow::channel,
                                              &OutboxRow::recipient,
                                              &OutboxRow::contact,
                                              &OutboxRow::list,
                                              &OutboxRow::subject,
                                              &OutboxRow::body,
                                              &OutboxRow::template_key};
  constexpr int kFirst = 2;
  for (int i = 0; i < static_cast<int>(std::size(kColumns)); ++i) {
    out.*kColumns[i] = is_time_column(kColumns[i]) ? time_text(rows, row, kFirst + i) : rows.text(row, kFirst + i);
  }
  if (rows.is_null(row, 3)) out.tenant = "default";
  return out;
}

Claim read_held(const Rows& rows, int row, int from) {
  Claim claim;
  Lease& lease = claim.lease;
  lease.lane = static_cast<Lane>(rows.number(row, from));
  lease.channel = static_cast<Channel>(rows.number(row, from + 1));
  lease.tenant = static_cast<TenantId>(rows.number(row, from + 2));
  lease.position = rows.number(row, from + 3);
  lease.id = rows.number(row, from + 4);
  lease.fence = rows.small(row, from + 5);
  lease.attempt = rows.small(row, from + 6);
  lease.provider = static_cast<ProviderId>(rows.number(row, from + 7));
  Delivery& d = claim.delivery;
  d.lane = lease.lane;
  d.channel = lease.channel;
  d.tenant = lease.tenant;
  d.guarantee = static_cast<Guarantee>(rows.number(row, from + 8));
  d.expires_at = rows.optional_time(row, from + 9);
  return claim;
}

void read_delivery(const Rows& rows, int row, int from, Delivery& d) {
  d.id = rows.number(row, from);
  d.message = rows.number(row, from + 1);
  d.message_uuid.bytes = rows.uuid(row, from + 2);
  d.type = rows.text(row, from + 3);
  d.origin = rows.text(row, from + 4);
  d.traceparent = rows.text(row, from + 5);
  d.recipient = rows.text(row, from + 6);
  d.key = rows.text(row, from + 7);
  d.template_key = rows.text(row, from + 8);
  d.template_version = rows.small(row, from + 9);
  d.warnings = rows.text(row, from + 10);
  d.subject = rows.text(row, from + 11);
  d.body = rows.text(row, from + 12);
  d.html = rows.text(row, from + 13);
  d.rendering = static_cast<Rendering>(rows.number(row, from + 14));
  d.quiet = rows.text(row, from + 15);
}

namespace {

struct DedupColumns {
  Array tenant{Type::Int4}, kind{Type::Int2}, hash{Type::Uuid}, id{Type::Int8}, body{Type::Uuid}, uuid{Type::Uuid};

  explicit DedupColumns(const std::vector<NewDedup>& entries) {
    for (const NewDedup& each : entries) {
      tenant.add_int4(each.key.tenant);
      kind.add_int2(static_cast<int>(each.key.kind));
      hash.add(each.key.hash.bytes);
      id.add_int8(each.entry.id);
      each.entry.body ? body.add(each.entry.body->bytes) : body.add_null();
      each.entry.uuid ? uuid.add(each.entry.uuid->bytes) : uuid.add_null();
    }
  }
  Params params() { return Params{}.array(tenant).array(kind).array(hash).array(id).array(body).array(uuid); }
};

}  // namespace

void add_new_dedups(Connection& c, const std::vector<NewDedup>& entries) {
  if (!entries.empty()) c.later("dedup_add_new", DedupColumns{entries}.params());
}

void copy_new_dedups(Connection& c, std::vector<NewDedup> entries) {
  const auto order = [](const NewDedup& e) { return std::tie(e.key.kind, e.key.tenant, e.key.hash.bytes); };
  std::sort(entries.begin(), entries.end(), [&](const NewDedup& a, const NewDedup& b) { return order(a) < order(b); });
  const auto hash = [](CopyRows& to, const auto& value) { value ? to.uuid(value->bytes) : to.null(); };
  CopyRows rows;
  for (const NewDedup& each : entries) {
    rows.row(6);
    rows.int4(each.key.tenant).int2(static_cast<int>(each.key.kind)).uuid(each.key.hash.bytes).int8(each.entry.id);
    hash(rows, each.entry.body);
    hash(rows, each.entry.uuid);
  }
  c.copy("dedup_copy", rows);
}

std::set<DedupKey> add_dedups(Connection& c, const std::vector<NewDedup>& entries) {
  std::set<DedupKey> existed;
  if (entries.empty()) return existed;
  for (const NewDedup& each : entries) existed.insert(each.key);
  DedupColumns columns{entries};
  const Rows added = c.query("dedup_add", columns.params());
  for (int i = 0; i < added.count(); ++i) {
    existed.erase({static_cast<TenantId>(added.number(i, 0)), static_cast<DedupKind>(added.number(i, 1)),
                   Hash128{added.uuid(i, 2)}});
  }
  return existed;
}

DedupFound find_dedups(Connection& c, const std::set<DedupKey>& keys) {
  DedupFound found;
  if (keys.empty()) return found;
  Array tenant{Type::Int4}, kind{Type::Int2}, hash{Type::Uuid};
  for (const DedupKey& key : keys) {
    tenant.add_int4(key.tenant);
    kind.add_int2(static_cast<int>(key.kind));
    hash.add(key.hash.bytes);
  }
  const Rows rows = c.query("dedup_find", Params{}.array(tenant).array(kind).array(hash));
  for (int i = 0; i < rows.count(); ++i) {
    const DedupKey key{static_cast<TenantId>(rows.number(i, 0)), static_cast<DedupKind>(rows.number(i, 1)),
                       Hash128{rows.uuid(i, 2)}};
    DedupEntry entry{.id = rows.number(i, 3)};
    if (!rows.is_null(i, 4)) entry.body = Hash128{rows.uuid(i, 4)};
    if (!rows.is_null(i, 5)) entry.uuid = Uuid{rows.uuid(i, 5)};
    found.emplace(key, entry);
  }
  return found;
}

void LeaseColumns::add(const Lease& lease) {
  lane_.add_int2(static_cast<int>(lease.lane));
  channel_.add_int2(static_cast<int>(lease.channel));
  tenant_.add_int4(lease.tenant);
  position_.add_int8(lease.position);
  id_.add_int8(lease.id);
  fence_.add_int4(lease.fence);
}

Params LeaseColumns::params() {
  Params p;
  p.array(lane_).array(channel_).array(tenant_).array(position_).array(id_).array(fence_);
  return p;
}

void QueueRows::add(const Lease& lease, NodeId node, Guarantee guarantee, const std::optional<Instant>& expires_at) {
  rows_.push_back({lease, node, guarantee, expires_at});
}
void QueueRows::write(Connection& c) {
  const auto put = [](auto& to, const Row& row) {
    const Lease& l = row.lease;
    to.int2(static_cast<int>(l.lane)).int2(static_cast<int>(l.channel)).int4(l.tenant).int8(l.position).int8(l.id);
    to.int4(row.node).int4(l.fence).int2(l.attempt).int2(l.provider).int2(static_cast<int>(row.guarantee));
    to.time(row.node != 0 ? std::optional{l.claimed_at} : std::nullopt).time(row.expires_at);
  };
  write_rows(c, rows_, {"queue_add", "queue_copy", 12}, put);
}

void DeferredRows::add(const DeferredRow& row) {
  due_.add_time(row.due_at);
  id_.add_int8(row.lease.id);
  lane_.add_int2(static_cast<int>(row.lease.lane));
  channel_.add_int2(static_cast<int>(row.lease.channel));
  tenant_.add_int4(row.lease.tenant);
  fence_.add_int4(row.lease.fence);
  attempt_.add_int2(row.lease.attempt);
  guarantee_.add_int2(static_cast<int>(row.guarantee));
  reason_.add_int2(static_cast<int>(row.reason));
  expires_.add_time(row.expires_at);
  detail_.add(row.detail);
}
void DeferredRows::write(Connection& c) {
  if (id_.size() == 0) return;
  c.query("deferred_add_many", Params{}
                                   .array(due_)
                                   .array(id_)
                                   .array(lane_)
                                   .array(channel_)
                                   .array(tenant_)
                                   .array(fence_)
                                   .array(attempt_)
                                   .array(guarantee_)
                                   .array(reason_)
                                   .array(expires_)
                                   .array(detail_));
}

void SettledRows::add(const SettledRow& row, Instant at) {
  id_.add_int8(row.id);
  tenant_.add_int4(row.tenant);
  state_.add_int2(static_cast<int>(row.state));
  reason_.add_int2(static_cast<int>(row.reason));
  detail_.add(row.detail);
  at_.add_time(at);
}
void SettledRows::write(Connection& c) {
  if (id_.size() == 0) return;
  c.query("settled_add_many",
          Params{}.array(id_).array(tenant_).array(state_).array(reason_).array(detail_).array(at_));
}

}  // namespace postrider::postgres
