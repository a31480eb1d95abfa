#include "store/conformance/describe.h"

#include <fmt/format.h>

namespace postrider::conformance {
namespace {

std::string at(const std::optional<Instant>& time) { return time ? std::to_string(to_us(*time)) : "-"; }

}  // namespace

std::string describe(const QueueGroup& g) {
  return fmt::format("[{} {} {}]", static_cast<int>(g.lane), static_cast<int>(g.channel), g.tenant);
}
std::string describe(const std::vector<QueueGroup>& groups) {
  std::string out;
  for (const QueueGroup& g : groups) out += describe(g);
  return out;
}
std::string describe(const Lease& l) {
  return fmt::format("lease {} id {} fence {} attempt {} provider {} at {}\n",
                     describe(QueueGroup{l.lane, l.channel, l.tenant}), l.id, l.fence, l.attempt, l.provider,
                     to_us(l.claimed_at));
}
std::string describe(const Delivery& d) {
  return fmt::format("delivery {} of {} {} {} {} {} key {} to {} {} {} {} {} {} {} {} v{} expires {} {}\n", d.id,
                     d.message, format_uuid(d.message_uuid), describe(QueueGroup{d.lane, d.channel, d.tenant}),
                     to_text(d.guarantee), d.type, d.key, d.recipient, d.origin, d.traceparent, d.subject, d.body,
                     d.html, d.warnings, d.template_key, d.template_version, at(d.expires_at), d.recipient);
}
std::string describe(const Message& m) {
  return fmt::format("message {} {} tenant {} {} type {} key {} payload {} sealed {} at {}\n", m.id,
                     format_uuid(m.uuid), m.tenant, m.tenant_name, m.type, m.idempotency_key, m.payload, m.sealed,
                     to_us(m.accepted_at));
}

std::string describe(const std::vector<std::vector<Admitted>>& answers) {
  std::string out;
  for (const auto& group : answers) {
    for (const Admitted& a : group) out += fmt::format("{} {}\n", static_cast<int>(a.verdict), format_uuid(a.first));
    out += "--\n";
  }
  return out;
}
std::string describe(const Claim& claim) { return describe(claim.lease) + describe(claim.delivery); }
std::string describe(const std::vector<Claim>& claims) {
  std::string out;
  for (const Claim& claim : claims) out += describe(claim);
  return out;
}
std::string describe(const ExpandReport& report) {
  return fmt::format("{} rows, queued {}\n{}", report.rows, describe(report.queued), describe(report.owned));
}
std::string describe(const ExpandWork& work) {
  return fmt::format("{}{}cursor {} dispatched {}\n", describe(work.lease), describe(work.message), work.cursor,
                     work.dispatched);
}
std::string describe(const std::vector<Recorded>& answers) {
  std::string out;
  for (const Recorded r : answers) out += r == Recorded::Applied ? "applied " : "stale ";
  return out;
}
std::string describe(const QueueStore::Promoted& p) {
  return fmt::format("{} promoted to {}, next {}\n", p.rows, describe(p.groups), at(p.next_due));
}
std::string describe(const Acted& acted) {
  return fmt::format("{} changed {} marked {}\n", acted.changed, acted.marked, describe(acted.groups));
}
std::string describe(const CancelledEntity& c) {
  std::string out = fmt::format("{} messages {} deliveries cancelled {} marked", c.messages, c.deliveries, c.marked);
  for (const auto& [state, count] : c.left) out += fmt::format(", {} {}", count, to_text(state));
  return out + '\n';
}
std::string describe(const std::vector<QueueHead>& heads) {
  std::string out;
  for (const QueueHead& h : heads) out += fmt::format("{} since {}\n", describe(h.group), to_us(h.oldest));
  return out;
}
std::string describe(const QueueStats& s) {
  return fmt::format("outbox {} queued {} sending {} retrying {} parked {} oldest {}\n", s.outbox, s.queued, s.sending,
                     s.retrying, s.parked, at(s.oldest));
}
std::string describe(const ListItem& i) {
  return fmt::format("item {} {} tenant {} type {} about {} {} {} {} at {}\n{}{}", i.id, format_uuid(i.message_uuid),
                     i.tenant, i.type, i.entity_id, to_text(i.message_state), code_of(i.reason), i.detail,
                     to_us(i.accepted_at), i.delivery ? describe(*i.delivery) : "",
                     i.message != nullptr ? describe(*i.message) : "");
}
std::string describe(const SandboxItem& i) {
  return fmt::format("{} by {} at {} calls {}\n{}", i.id, i.provider, to_us(i.sent_at), i.calls, describe(i.delivery));
}
std::string describe(const DeliveryView& v) {
  std::string out =
      fmt::format("{}  {} {} {} attempts {} due {} since {} through {}\n", describe(v.delivery), to_text(v.state),
                  code_of(v.reason), v.detail, v.attempts, at(v.due_at), at(v.since), v.provider);
  for (const AttemptView& t : v.tries) {
    out += fmt::format("    try {} fence {} late {} {} {} {} {} {} {} {}\n", t.number, t.fence, t.late, t.provider,
                       to_text(t.outcome), code_of(t.reason), t.provider_message_id, t.excerpt, to_us(t.started_at),
                       to_us(t.ended_at));
  }
  return out;
}
std::string describe(const MessageView& v) {
  std::string out = fmt::format("{} {} {} {} attempts {} next {} since {}\n", describe(v.message), to_text(v.state),
                                code_of(v.reason), v.detail, v.attempts, at(v.next_attempt), at(v.since));
  out += fmt::format("{} deliveries, {} scheduled", v.counts.total, v.counts.scheduled);
  for (const auto& [state, count] : v.counts.by_state) out += fmt::format(", {} {}", count, to_text(state));
  out += '\n';
  for (const DeliveryView& d : v.deliveries) out += describe(d);
  return out;
}

}  // namespace postrider::conformance
