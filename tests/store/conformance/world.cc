#include "store/conformance/world.h"

#include <fmt/format.h>

namespace postrider::conformance {

World::World(const StoreFactory& factory) : database(factory.make()) {
  a = join("a");
  const auto tenants = must(a->tenants(std::vector<std::string>{"acme", "other"}));
  acme = tenants[0];
  other = tenants[1];
  const auto providers = must(a->providers(std::vector<std::string>{"mail", "sandbox"}));
  mail = providers[0];
  sandbox = providers[1];
}

Node World::join(const std::string& name) {
  Node node;
  node.session = must(database->store().open_session());
  const NodeLease lease = must(node->join(now, name));
  node.id = lease.node;
  node.slot = lease.slot;
  node.ids = std::make_shared<IdSource>(lease.slot);
  node->use_ids(*node.ids);
  return node;
}

Uuid World::uuid() {
  ++drawn_;
  return make_uuid7(now, drawn_, drawn_ * 7919);
}

Uuid World::checked_uuid() {
  ++drawn_;
  return make_checked_uuid7(now, drawn_, drawn_ * 7919 << 20U);
}

OutboxRow World::row(const std::string& type, const std::string& tenant) {
  OutboxRow row;
  row.id = format_uuid(uuid());
  row.tenant = tenant;
  row.type = type;
  row.payload = R"({"name":"Ada"})";
  return row;
}

NewMessage World::offered(OutboxRow row) {
  const TenantId tenant = row.tenant == "acme" ? acme : row.tenant == "other" ? other : 0;
  NewMessage made{std::move(row), tenant, {}};
  made.candidate.tenant = tenant;
  made.candidate.uuid = parse_uuid(made.row.id).value();
  made.candidate.body = body_hash(made.row);
  if (!made.row.idempotency_key.empty()) made.candidate.key = dedup_message(tenant, made.row.idempotency_key);
  return made;
}

ExpandedDelivery World::delivery(const Node& node, const Message& message, const Plan& plan, int number) {
  ExpandedDelivery made;
  Delivery& d = made.made.delivery;
  d.id = node.ids->next(now);
  d.message = message.id;
  d.message_uuid = message.uuid;
  d.tenant = message.tenant;
  d.channel = plan.channel;
  d.lane = plan.lane;
  d.guarantee = plan.guarantee;
  d.type = message.type;
  d.origin = "shop";
  d.traceparent = "00-1";
  d.recipient = plan.recipient;
  made.made.key_is_own = plan.key.empty();
  d.key = plan.key.empty() ? fmt::format("{}:{}", format_uuid(message.uuid), number)
          : number == 1    ? plan.key
                           : fmt::format("{}:{}", plan.key, number);
  d.template_key = "welcome";
  d.template_version = 3;
  d.subject = "Hello";
  d.body = "Dear Ada";
  d.html = "<p>Dear Ada</p>";
  d.warnings = "no value for x";
  d.expires_at = plan.expires_at;
  d.contact = plan.contact;
  d.rendering = plan.rendering;
  d.category = plan.category;
  made.made.placement = plan.placement;
  made.own_provider = plan.placement.state == DeliveryState::Queued ? plan.own_provider : ProviderId{0};
  return made;
}

ExpandedMessage World::expanded(const Node& node, const OutboxRow& row, const Plan& plan) {
  ExpandedMessage out;
  out.message = read_row(row).message;
  out.message.id = row.accepted ? *row.accepted : node.ids->next(now);
  if (out.message.uuid == Uuid{}) out.message.uuid = uuid();
  out.message.tenant = row.tenant == "acme" ? acme : row.tenant == "other" ? other : 0;
  out.message.accepted_at = now;
  out.state = plan.state;
  out.reason = plan.reason;
  out.detail = plan.detail;
  out.body = body_hash(row);
  out.in_chunks = plan.in_chunks;
  if (!row.idempotency_key.empty()) out.key = dedup_message(out.message.tenant, row.idempotency_key);
  for (int i = 1; i <= plan.deliveries; ++i) out.deliveries.push_back(delivery(node, out.message, plan, i));
  return out;
}

ExpandDecision World::decide(const Node& node, Plan plan) {
  return [this, &node, plan](std::span<const OutboxRow> rows) {
    decided.clear();
    for (const OutboxRow& row : rows) decided.push_back(expanded(node, row, plan));
    return decided;
  };
}

std::vector<Sent> World::send(int count, Plan plan, const OutboxRow& like) {
  for (int i = 0; i < count; ++i) {
    OutboxRow made = like.type.empty() ? row() : like;
    if (i > 0 || made.id.empty()) made.id = format_uuid(uuid());
    database->insert(made);
  }
  std::vector<Sent> sent;
  while (sent.size() < static_cast<std::size_t>(count)) {  // a store may take fewer rows at once than it was asked to
    if (must(a->expand(now, a.id, static_cast<std::size_t>(count) - sent.size(), decide(a, plan))).rows == 0) break;
    for (const ExpandedMessage& m : decided) {
      Sent& one = sent.emplace_back();
      one.uuid = m.message.uuid;
      one.id = m.message.id;
      for (const ExpandedDelivery& d : m.deliveries) one.deliveries.push_back(d.made.delivery.id);
    }
  }
  return sent;
}

Sent World::send_one(Plan plan, const OutboxRow& like) { return send(1, std::move(plan), like).at(0); }

ClaimRequest World::request(int quota, const Plan& plan, ClaimWhat what) const {
  return {a.id, plan.lane, plan.channel, what, {{acme, quota, mail}}};
}

std::vector<Claim> World::claim(int quota, const Plan& plan, ClaimWhat what) {
  return must(a->claim(now, request(quota, plan, what)));
}

Claim World::claim_one(const Plan& plan) { return claim(1, plan).at(0); }

AttemptEnd World::attempt(OutcomeKind outcome, Reason reason) const {
  return {outcome, reason, "provider-1", "250 ok", now, now + std::chrono::milliseconds{20}};
}

Completion World::completion(const Claim& claim, DeliveryState state) const {
  Completion c;
  c.lease = claim.lease;
  c.verdict.state = state;
  c.verdict.attempt = claim.lease.attempt;
  c.guarantee = claim.delivery.guarantee;
  c.expires_at = claim.delivery.expires_at;
  c.attempt_fence = claim.lease.fence;
  if (state == DeliveryState::Retrying) {
    c.verdict.reason = Reason::ServerBusy;
    c.verdict.due_at = now + std::chrono::minutes{1};
    c.attempt = attempt(OutcomeKind::Transient, Reason::ServerBusy);
    c.detail = "503";
  } else if (state == DeliveryState::Parked) {
    c.verdict.reason = Reason::InvalidRecipient;
    c.attempt = attempt(OutcomeKind::Permanent, Reason::InvalidRecipient);
    c.detail = "no such user";
  } else if (state == DeliveryState::Sent || state == DeliveryState::Delivered) {
    c.verdict.reason = state == DeliveryState::Sent ? Reason::AcceptedByProvider : Reason::AcceptanceIsTheEnd;
    c.attempt = attempt(OutcomeKind::Accepted);
  } else {
    c.verdict.reason = Reason::Expired;
    c.detail = "before the call";
  }
  return c;
}

Recorded World::record(const Completion& completion) { return must(a->record(now, std::span{&completion, 1})).at(0); }

void World::park(const Claim& claim) {
  if (record(completion(claim, DeliveryState::Parked)) != Recorded::Applied) throw std::runtime_error{"not parked"};
}

}  // namespace postrider::conformance
