#include <algorithm>

#include "store/postgres/rows.h"

namespace postrider::postgres {
namespace {

bool is_refused(const std::vector<Admitted>& verdicts) {
  return std::any_of(verdicts.begin(), verdicts.end(),
                     [](const Admitted& a) { return a.verdict == Admission::KeyReused; });
}

// The outbox takes NULL where nothing was said, so that both ways into it look the same.
class OutboxRows {
 public:
  void add(RowId accepted, const OutboxRow& row) {
    accepted_.add_int8(accepted);
    id_.add(parse_uuid(row.id)->bytes);
    for (std::size_t i = 0; i < kFields.size(); ++i) {
      const std::string& value = row.*kFields[i];
      value.empty() ? text_[i].add_null() : text_[i].add(time_text(value));
    }
  }
  void write(Connection& c) {
    if (accepted_.size() == 0) return;
    Params params;
    params.array(accepted_).array(id_);
    for (Array& column : text_) params.array(column);
    c.query("outbox_add", params);
  }

 private:
  // "@" and microseconds is our own form; PostgreSQL wants a time.
  static std::string time_text(const std::string& value) {
    if (!value.starts_with('@') || value.size() > 20 || value.find_first_not_of("0123456789", 1) != std::string::npos)
      return value;
    return format_instant(instant_from_us(std::stoll(value.substr(1))));
  }
  static constexpr std::array<std::string OutboxRow::*, 30> kFields{
      &OutboxRow::tenant,         &OutboxRow::topic,
      &OutboxRow::type,           &OutboxRow::entity_id,
      &OutboxRow::version,        &OutboxRow::idempotency_key,
      &OutboxRow::payload,        &OutboxRow::sealed,
      &OutboxRow::lane,           &OutboxRow::category,
      &OutboxRow::locale,         &OutboxRow::origin,
      &OutboxRow::correlation_id, &OutboxRow::traceparent,
      &OutboxRow::schema_version, &OutboxRow::occurred_at,
      &OutboxRow::due_at,         &OutboxRow::expires_at,
      &OutboxRow::source_site,    &OutboxRow::source_instance,
      &OutboxRow::source_script,  &OutboxRow::site_enqueued_at,
      &OutboxRow::type_data,      &OutboxRow::channel,
      &OutboxRow::recipient,      &OutboxRow::contact,
      &OutboxRow::list,           &OutboxRow::subject,
      &OutboxRow::body,           &OutboxRow::template_key};
  Array accepted_{Type::Int8}, id_{Type::Uuid};
  std::vector<Array> text_ = std::vector<Array>(kFields.size(), Array{Type::Text});
};

}  // namespace

Result<std::vector<std::vector<Admitted>>> PostgresSession::accept(Instant now, std::span<const IntakeGroup> groups) {
  if (groups.empty()) return std::vector<std::vector<Admitted>>{};
  std::vector<std::vector<Candidate>> candidates;
  std::set<DedupKey> wanted;
  for (const IntakeGroup& group : groups) {
    auto& own = candidates.emplace_back();
    for (const NewMessage& made : group) {
      own.push_back(made.candidate);
      wanted.insert(dedup_id(made.candidate.tenant, made.candidate.uuid));
      if (made.candidate.key) wanted.insert(*made.candidate.key);
    }
  }
  return transact([&](Connection& c) {
    auto verdicts = admit(candidates, find_dedups(c, wanted));
    OutboxRows rows;
    std::vector<NewDedup> entries;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (is_refused(verdicts[g])) continue;
      for (std::size_t i = 0; i < groups[g].size(); ++i) {
        if (verdicts[g][i].verdict != Admission::New) continue;
        const Candidate& candidate = groups[g][i].candidate;
        const DedupEntry entry{.id = ids().next(now), .body = candidate.body, .uuid = candidate.uuid};
        entries.push_back({dedup_id(candidate.tenant, candidate.uuid), entry});
        if (candidate.key) entries.push_back({*candidate.key, entry});
        rows.add(entry.id, groups[g][i].row);
      }
    }
    // Another node took one of the keys since we looked: nothing is written, and the next look sees it.
    if (!add_dedups(c, entries).empty())
      throw Failure{ErrorCode::Unavailable, "a key was taken at the same moment", true};
    rows.write(c);
    return verdicts;
  });
}

}  // namespace postrider::postgres
