#include "pipeline/expand.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/canary.h"
#include "base/limits.h"
#include "core/retry.h"
#include "pipeline/outbox_row.h"

namespace postrider {
namespace {

// Ends the store's transaction from inside the decision; what is wrong stands in the stage.
struct CannotDecide : std::runtime_error {
  using std::runtime_error::runtime_error;
};

bool is_live(const NewDelivery& made) {
  return made.placement.state == DeliveryState::Queued || made.placement.state == DeliveryState::Retrying;
}

bool is_about_the_store(const Error& error) {
  return error.code == ErrorCode::Unavailable || error.code == ErrorCode::Exhausted ||
         error.code == ErrorCode::Ambiguous || error.code == ErrorCode::Cancelled;
}

// A replay goes on behind the cursor: what failed as a whole is to be made anew by it.
std::size_t next_cursor(const ExpandWork& work, const Expansion& made, std::size_t behind) {
  return made.state == MessageState::Expanded ? behind : work.cursor;
}

bool lacks_template(const ExpandedMessage& message) {
  return message.reason == Reason::NoRoute || message.reason == Reason::TemplateNotFound;
}

}  // namespace

Result<Done> ExpandStage::keep_up(Instant now) {
  const bool told = parts_.catalog_changed != nullptr && parts_.catalog_changed->load();
  return told ? read_templates_again() : catalog_.refresh_if_due(parts_.store, now);
}

// The flag first: what changes while they are read is told again.
Result<Done> ExpandStage::read_templates_again() {
  if (parts_.catalog_changed == nullptr) return catalog_.refresh(parts_.store);
  parts_.catalog_changed->store(false);
  auto read = catalog_.refresh(parts_.store);
  if (!read) parts_.catalog_changed->store(true);
  return read;
}

Result<ExpandReport> ExpandStage::turn(Instant now) {
  POSTRIDER_TRY_DONE(keep_up(now));
  auto report = take_rows(now);
  for (int again = 0; !report && catalog_stale_ && again < kDecidedAgainMax; ++again) {
    // A template came after we last looked: nothing was written, and everything is decided again with it.
    POSTRIDER_TRY_DONE(read_templates_again());
    report = take_rows(now);
  }
  return report;
}

Result<ExpandReport> ExpandStage::take_rows(Instant now) {
  reserved_.clear();
  look_up_failed_.reset();
  catalog_stale_ = false;
  auto report = parts_.store.expand(now, parts_.node, rows_max_,
                                    [&](std::span<const OutboxRow> rows) { return decide(now, rows); });
  if (report) {
    refused_alone_ = 0;
    rows_max_ = std::min(kRowsPerTurn, rows_max_ * 2);
    give_back_unused(*report);
    return report;
  }
  give_back_unused({});
  if (look_up_failed_) return *look_up_failed_;
  if (!catalog_stale_) note_refusal(report.error());
  return report.error();
}

// A store that cannot be reached or is full has trouble of its own. Anything else may be one bad row: halve until it
// stands alone, and when it is still refused, let it fail by itself.
void ExpandStage::note_refusal(const Error& error) {
  // A batch may also be too large for the time or the memory that the store has: a smaller one is always worth a try.
  const bool alone = rows_max_ == 1;
  rows_max_ = std::max<std::size_t>(1, rows_max_ / 2);
  if (is_about_the_store(error)) return;
  if (alone) ++refused_alone_;
  refusal_ = error.text;
}

// First without deliveries; if not even that can be stored, without everything that the producer wrote but its name.
ExpandedMessage ExpandStage::give_up(Instant now, const OutboxRow& row) {
  ExpandedMessage out = read_one(now, row);
  out.state = MessageState::Failed;
  out.reason = Reason::ExpansionFailed;
  out.detail = refusal_;
  if (refused_alone_ < 2 * kRefusalsMax) return out;
  Message bare;
  bare.id = out.message.id;
  bare.uuid = out.message.uuid;
  bare.tenant = out.message.tenant;
  bare.tenant_name = out.message.tenant_name;
  bare.type = out.message.type;
  bare.payload = "{}";
  bare.accepted_at = now;
  out.message = std::move(bare);
  return out;
}

std::vector<ExpandedMessage> ExpandStage::decide(Instant now, std::span<const OutboxRow> rows) {
  std::vector<ExpandedMessage> out;
  if (rows.size() == 1 && refused_alone_ >= kRefusalsMax) {
    out.push_back(give_up(now, rows.front()));
    return out;
  }
  decide_again_when_templates_changed();
  out.reserve(rows.size());
  for (const OutboxRow& row : rows) out.push_back(read_one(now, row));
  expand_all(now, out);
  look_again_for_templates(out);
  if (catalog_.any_suppression() && !canary("suppression_not_asked")) suppress(out);
  for (ExpandedMessage& each : out) own(each);
  return out;
}

ExpandedMessage ExpandStage::read_one(Instant now, const OutboxRow& row) {
  return message_of_row(row, {parts_.rules, parts_.ids, random_, now});
}

// What the store says inside its own transaction; an error ends that.
template <class T>
T ExpandStage::ask(Result<T> answer) {
  if (answer) return std::move(*answer);
  look_up_failed_ = answer.error();
  throw CannotDecide{answer.error().text};
}

void ExpandStage::expand_all(Instant now, std::vector<ExpandedMessage>& decided) {
  std::vector<ContactRef> wanted;
  for (ExpandedMessage& each : decided) {
    if (each.state == MessageState::Failed) continue;
    ExpandNeeds needs = needs_of(each.message, parts_.rules);
    each.in_chunks = needs.takes_time();
    each.expand_at = needs.not_before;
    for (std::string& key : needs.contacts) wanted.push_back({each.message.tenant, std::move(key)});
  }
  People people;
  if (!wanted.empty()) {
    std::sort(wanted.begin(), wanted.end());
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    for (Contact& contact : ask(parts_.store.find_contacts(wanted))) people.add(std::move(contact));
  }
  for (ExpandedMessage& each : decided) {
    if (each.state != MessageState::Failed) expand_one(now, people, each);
  }
}

void ExpandStage::expand_one(Instant now, const People& people, ExpandedMessage& out) {
  const auto later = [&] {
    out.state = MessageState::Expanding;
    out.reason = out.expand_at && *out.expand_at > now ? Reason::Scheduled : Reason::Expanding;
    out.in_chunks = true;
  };
  // A tenant that nobody knows has no routes and no lists: that is found out at once.
  if (out.in_chunks && parts_.rules.tenant(out.message.tenant) != nullptr) return later();
  out.in_chunks = false;
  const ExpandWith with{.rules = parts_.rules, .templates = catalog_.templates(), .people = people, .now = now};
  Expansion expansion = postrider::expand(out.message, with, {0, kDeliveriesPerExpansionMax});
  if (expansion.recipients_total > kDeliveriesPerExpansionMax) return later();
  out.state = canary("ignored_is_failed") && expansion.deliveries.empty() ? MessageState::Failed : expansion.state;
  out.reason = expansion.reason;
  out.detail = std::move(expansion.detail);
  for (NewDelivery& made : expansion.deliveries) {
    made.delivery.id = parts_.ids.next(now);
    out.deliveries.push_back({std::move(made), 0});
  }
}

// A row that came after the answer to whoever changed a template is written with the new one, also when it is taken by
// a turn that had begun before.
void ExpandStage::decide_again_when_templates_changed() {
  if (parts_.catalog_changed == nullptr || !parts_.catalog_changed->load()) return;
  catalog_stale_ = true;
  throw CannotDecide{"the templates changed"};
}

// Nobody is told "no template" because of a copy that is a second old.
void ExpandStage::look_again_for_templates(const std::vector<ExpandedMessage>& decided) {
  if (std::none_of(decided.begin(), decided.end(), lacks_template)) return;
  catalog_stale_ = ask(catalog_.is_stale(parts_.store));
  if (catalog_stale_) throw CannotDecide{"the templates changed"};
}

void ExpandStage::suppress(std::vector<ExpandedMessage>& decided) {
  std::vector<ExpandedDelivery*> live;
  for (ExpandedMessage& each : decided) {
    for (ExpandedDelivery& delivery : each.deliveries) {
      if (is_live(delivery.made)) live.push_back(&delivery);
    }
  }
  ask(suppress(live));
}

Result<Done> ExpandStage::suppress(const std::vector<ExpandedDelivery*>& live) {
  if (live.empty()) return Done{};
  const auto ref_of = [](const Delivery& d) {
    return SuppressionRef{d.tenant, d.channel, comparable_address(d.channel, d.recipient)};
  };
  std::vector<SuppressionRef> refs;
  for (const ExpandedDelivery* each : live) refs.push_back(ref_of(each->made.delivery));
  std::sort(refs.begin(), refs.end());
  refs.erase(std::unique(refs.begin(), refs.end()), refs.end());
  std::map<SuppressionRef, Suppression> found;
  POSTRIDER_TRY(suppressions, parts_.store.find_suppressions(refs));
  for (Suppression& s : suppressions) {
    SuppressionRef ref{s.tenant, s.channel, comparable_address(s.channel, s.address)};
    found.emplace(std::move(ref), std::move(s));
  }
  for (ExpandedDelivery* each : live) {
    const auto hit = found.find(ref_of(each->made.delivery));
    if (hit != found.end()) apply(hit->second, each->made);
  }
  return Done{};
}

// Rows that can be sent at once are inserted already held by this node: one write less, and no wait for a claim.
void ExpandStage::own(ExpandedMessage& expanded) {
  if (parts_.places == nullptr) return;
  const Tenant* tenant = parts_.rules.tenant(expanded.message.tenant);
  if (tenant == nullptr || tenant->limit.limits()) return;  // What is limited is claimed: only there it is counted.
  for (ExpandedDelivery& entry : expanded.deliveries) {
    const Delivery& d = entry.made.delivery;
    // At-most-once rows are claimed only for a free connection: a crash must leave few of them unclear.
    if (entry.made.placement.state != DeliveryState::Queued || d.guarantee == Guarantee::AtMostOnce) continue;
    const ProviderRule* provider = parts_.rules.first_provider(*tenant, d.channel);
    if (provider == nullptr || provider->limit.limits() || !parts_.places->may_own(provider->id, d.lane)) continue;
    if (parts_.places->reserve(provider->id, 1, d.lane) == 0) continue;
    entry.own_provider = provider->id;
    ++reserved_[provider->id];
  }
}

void ExpandStage::give_back_unused(const ExpandReport& report) {
  for (const Claim& claim : report.owned) --reserved_[claim.lease.provider];
  for (const auto& [provider, count] : reserved_) {
    if (count > 0) parts_.places->give_back(provider, count);
  }
  reserved_.clear();
}

Result<ExpandReport> ExpandStage::work(Instant now) {
  if (!failed_.empty()) POSTRIDER_TRY_DONE(put_off(now));
  POSTRIDER_TRY_DONE(keep_up(now));
  if (begun_.empty()) {
    POSTRIDER_TRY(claimed, parts_.store.claim_expand(now, parts_.node, kWorkAtOnce));
    for (ExpandWork& each : claimed) {
      if (each.dispatched) each.message.due_at = now;
      begun_.push_back(std::move(each));
    }
    if (begun_.empty()) return ExpandReport{};
    // What waited may have waited for a template: nobody is told "no template" because of a copy that is a second old.
    POSTRIDER_TRY_DONE(catalog_.refresh(parts_.store));
  }
  auto report = work_on(now, next_together());
  if (!failed_.empty()) POSTRIDER_TRY_DONE(put_off(now));
  return report;
}

// The first, and with it all that one question to the application's database answers.
std::vector<ExpandWork> ExpandStage::next_together() {
  std::vector<ExpandWork> together;
  together.push_back(std::move(begun_.front()));
  begun_.pop_front();
  const ContextRule* rule = needs_of(together.front().message, parts_.rules).context;
  if (rule == nullptr || !rule->sql.for_many()) return together;
  std::deque<ExpandWork> others;
  for (ExpandWork& each : begun_) {
    const ContextRule* its_rule = needs_of(each.message, parts_.rules).context;
    const bool same = its_rule == rule && each.message.tenant_name == together.front().message.tenant_name;
    same ? together.push_back(std::move(each)) : others.push_back(std::move(each));
  }
  begun_ = std::move(others);
  return together;
}

Result<ExpandReport> ExpandStage::work_on(Instant now, std::vector<ExpandWork> together) {
  std::vector<ContextRecord> records(together.size(), std::string{});
  const ContextRule* rule = needs_of(together.front().message, parts_.rules).context;
  if (rule != nullptr) {
    std::vector<ContextAsk> asks;
    for (const ExpandWork& each : together) {
      asks.push_back({each.message.tenant_name, each.message.entity_id, each.message.payload});
    }
    if (parts_.context != nullptr) {
      records = parts_.context->load(*rule, asks);
    } else {
      records.assign(together.size(), RecordFailed{"no database"});
    }
  }
  auto people = people_of(together);
  if (!people) {
    for (ExpandWork& each : together)
      failed_.push_back({std::move(each), Reason::ExpansionFailed, people.error().text});
    return people.error();
  }
  Writing writing{now};
  for (std::size_t i = 0; i < together.size(); ++i) {
    if (auto late = refusal(together[i], records[i])) {
      late->work = std::move(together[i]);
      failed_.push_back(std::move(*late));
      continue;
    }
    const auto* found = std::get_if<std::string>(&records[i]);
    const std::string_view record = found != nullptr ? std::string_view{*found} : std::string_view{};
    if (const auto until = waits_until(now, together[i], record)) {
      failed_.push_back({.work = std::move(together[i]), .reason = Reason::Scheduled, .until = until});
      continue;
    }
    auto chunk = make_chunk(now, together[i], *people, record);
    if (!chunk) {
      writing.trouble = chunk.error();
      failed_.push_back({std::move(together[i]), Reason::ExpansionFailed, chunk.error().text});
      continue;
    }
    if (writing.deliveries + chunk->deliveries.size() > kDeliveriesPerExpansionMax) write(writing);
    writing.deliveries += chunk->deliveries.size();
    writing.chunks.push_back({together[i].lease, std::move(*chunk)});
    writing.works.push_back(std::move(together[i]));
  }
  write(writing);
  if (writing.trouble) return *writing.trouble;
  return std::move(writing.report);
}

// Why there is no record to go on with; that there is none at all is for the core to judge.
std::optional<ExpandStage::Late> ExpandStage::refusal(const ExpandWork& work, const ContextRecord& record) {
  if (const auto* failed = std::get_if<RecordFailed>(&record))
    return Late{{}, Reason::ContextFailed, failed->text, failed->lasting};
  if (!std::holds_alternative<ManyRecords>(record)) return std::nullopt;
  // Two records stay two, however often one asks.
  return Late{
      {}, Reason::ContextAmbiguous, fmt::format("more than one record of \"{}\"", work.message.entity_id), true};
}

// A list is looked at when its message is due, also where only the record says when that is. What is begun goes on.
std::optional<Instant> ExpandStage::waits_until(Instant now, const ExpandWork& work, std::string_view record) const {
  if (record.empty() || work.as_of) return std::nullopt;
  const ExpandNeeds needs = needs_of(work.message, parts_.rules);
  if (needs.list.empty()) return std::nullopt;
  const auto due = due_by(work.message, parts_.rules, record);
  return due && *due > now ? due : std::nullopt;
}

// Kept until the store took it: a lease that nobody ends would hold the message for as long as this node lives.
Result<Done> ExpandStage::put_off(Instant now) {
  const Policy policy = *preset_policy("booking");
  while (!failed_.empty()) {
    const auto& [failed, reason, why, lasting, until] = failed_.back();
    Result<Done> done = Done{};
    if (until) {
      Lease waiting = failed.lease;
      waiting.attempt = std::max(0, waiting.attempt - 1);  // nothing was tried
      done = parts_.store.defer_expand(now, waiting, *until, reason, why);
    } else if (lasting || failed.lease.attempt >= policy.attempts_max) {
      ExpandChunk end{.cursor = failed.cursor, .finished = true, .state = MessageState::Failed, .reason = reason};
      end.detail = why;
      if (auto ended = parts_.store.expand_chunk(now, failed.lease, end); !ended) done = ended.error();
    } else {
      const Duration wait = retry_delay(policy, std::max(1, failed.lease.attempt), 0);
      done = parts_.store.defer_expand(now, failed.lease, now + wait, reason, why);
    }
    if (!done && done.error().code != ErrorCode::Conflict) return done;
    failed_.pop_back();
  }
  return Done{};
}

// Together; when the store refuses that, one by one, so that a failure stays with its message, which waits under a
// policy, and the others go on.
void ExpandStage::write(Writing& writing) {
  std::vector<ExpandWork> works = std::exchange(writing.works, {});
  const std::vector<ExpandStep> chunks = std::exchange(writing.chunks, {});
  writing.deliveries = 0;
  if (works.empty()) return;
  std::optional<Error> error = write_at_once(writing, works, chunks);
  if (!error) return;
  const bool one_by_one = works.size() > 1 && !is_about_the_store(*error);
  for (std::size_t i = 0; i < works.size(); ++i) {
    if (one_by_one) error = write_at_once(writing, {&works[i], 1}, {&chunks[i], 1});
    if (!error) continue;
    writing.trouble = error;
    failed_.push_back({std::move(works[i]), Reason::ExpansionFailed, error->text});
    if (!is_about_the_store(*error)) continue;
    for (++i; i < works.size(); ++i) begun_.push_back(std::move(works[i]));
  }
}

std::optional<Error> ExpandStage::write_at_once(Writing& writing, std::span<ExpandWork> works,
                                                std::span<const ExpandStep> chunks) {
  auto written = parts_.store.expand_chunks(writing.now, chunks);
  if (!written) return written.error();
  ExpandReport& all = writing.report;
  all.queued.insert(all.queued.end(), written->report.queued.begin(), written->report.queued.end());
  for (std::size_t i = 0; i < works.size(); ++i) {
    if (written->results[i] == Stepped::LeaseLost) continue;  // another node's work now
    const ExpandChunk& chunk = chunks[i].chunk;
    all.rows += chunk.deliveries.size() + 1;
    if (chunk.finished) continue;
    works[i].cursor = chunk.cursor;
    if (chunk.as_of) works[i].as_of = chunk.as_of;
    begun_.push_front(std::move(works[i]));
  }
  return std::nullopt;
}

Result<ExpandChunk> ExpandStage::make_chunk(Instant now, const ExpandWork& work, const People& people,
                                            std::string_view record) {
  const ExpandNeeds needs = needs_of(work.message, parts_.rules);
  if (!needs.list.empty()) return make_list_chunk(now, work, needs, record);
  const ExpandWith with{
      .rules = parts_.rules, .templates = catalog_.templates(), .people = people, .now = now, .record = record};
  Expansion expansion = postrider::expand(work.message, with, {work.cursor, kDeliveriesPerExpansionMax});
  ExpandChunk chunk;
  chunk.cursor = next_cursor(work, expansion, work.cursor + expansion.deliveries.size());
  chunk.finished = chunk.cursor == work.cursor || chunk.cursor >= expansion.recipients_total;
  POSTRIDER_TRY_DONE(add_deliveries(now, expansion, chunk));
  return chunk;
}

// The list as it was when the message was first looked at: who joins later is not written to, and a chunk that is made
// again after a crash is the same.
Result<ExpandChunk> ExpandStage::make_list_chunk(Instant now, const ExpandWork& work, const ExpandNeeds& needs,
                                                 std::string_view record) {
  const Message& m = work.message;
  const auto end = [&](Reason reason, std::string detail) {
    return ExpandChunk{.cursor = work.cursor,
                       .finished = true,
                       .state = MessageState::Failed,
                       .reason = reason,
                       .detail = std::move(detail)};
  };
  const Instant as_of = work.as_of.value_or(now);
  std::size_t templates = 1;
  if (!m.is_direct()) {
    templates = std::max(templates, catalog_.templates().for_event(m.tenant_name, m.type, {}).size());
  }
  const MemberRange range{.as_of = as_of,
                          .after = static_cast<std::int64_t>(work.cursor),
                          .count_max = std::max<std::size_t>(1, kDeliveriesPerExpansionMax / templates)};
  auto members = parts_.store.members(m.tenant, needs.list, range);
  if (!members && members.error().code == ErrorCode::NotFound) {
    return end(Reason::UnknownList, fmt::format("list \"{}\"", needs.list));
  }
  if (!members) return members.error();
  if (members->empty() && work.cursor == 0) {
    return end(Reason::NoRecipient, fmt::format("nobody is on the list \"{}\"", needs.list));
  }
  std::vector<ContactRef> refs;
  for (const ListMember& member : *members) {
    if (!member.contact.empty()) refs.push_back({m.tenant, member.contact});
  }
  POSTRIDER_TRY(people, people_of(std::move(refs)));
  const ExpandWith with{.rules = parts_.rules,
                        .templates = catalog_.templates(),
                        .people = people,
                        .now = now,
                        .record = record,
                        .members = std::span<const ListMember>{*members},
                        .members_are_all = work.cursor == 0 && members->size() < range.count_max};
  Expansion expansion = postrider::expand(m, with, {0, kDeliveriesPerExpansionMax + templates});
  ExpandChunk chunk;
  chunk.as_of = as_of;
  chunk.cursor =
      members->empty() ? work.cursor : next_cursor(work, expansion, static_cast<std::size_t>(members->back().id));
  chunk.finished = members->size() < range.count_max || expansion.state != MessageState::Expanded;
  POSTRIDER_TRY_DONE(add_deliveries(now, expansion, chunk));
  return chunk;
}

Result<Done> ExpandStage::add_deliveries(Instant now, Expansion& expansion, ExpandChunk& chunk) {
  chunk.state = expansion.state;
  chunk.reason = expansion.reason;
  chunk.detail = std::move(expansion.detail);
  for (NewDelivery& made : expansion.deliveries) {
    made.delivery.id = parts_.ids.next(now);
    chunk.deliveries.push_back({std::move(made), 0});
  }
  if (!catalog_.any_suppression()) return Done{};
  std::vector<ExpandedDelivery*> live;
  for (ExpandedDelivery& each : chunk.deliveries) {
    if (is_live(each.made)) live.push_back(&each);
  }
  return suppress(live);
}

Result<People> ExpandStage::people_of(const std::vector<ExpandWork>& together) {
  std::vector<ContactRef> refs;
  for (const ExpandWork& each : together) {
    for (std::string& key : needs_of(each.message, parts_.rules).contacts)
      refs.push_back({each.message.tenant, std::move(key)});
  }
  return people_of(std::move(refs));
}

Result<People> ExpandStage::people_of(std::vector<ContactRef> refs) {
  People people;
  if (refs.empty()) return people;
  std::sort(refs.begin(), refs.end());
  refs.erase(std::unique(refs.begin(), refs.end()), refs.end());
  POSTRIDER_TRY(found, parts_.store.find_contacts(refs));
  for (Contact& contact : found) people.add(std::move(contact));
  return people;
}

}  // namespace postrider
