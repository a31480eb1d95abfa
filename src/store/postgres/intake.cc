#include <algorithm>

#include "base/fault.h"
#include "base/text.h"
#include "store/postgres/rows.h"

namespace postrider::postgres {
namespace {

bool is_refused(const std::vector<Admitted>& verdicts) {
  return std::any_of(verdicts.begin(), verdicts.end(),
                     [](const Admitted& a) { return a.verdict == Admission::KeyReused; });
}

struct AcceptedRow {
  RowId accepted = 0;
  const OutboxRow* row = nullptr;
};

std::int64_t postgres_time(const std::string& text) {
  const bool ours =
      text.starts_with('@') && text.size() < 20 && text.find_first_not_of("0123456789", 1) == std::string::npos;
  const auto at = ours ? std::optional{instant_from_us(std::stoll(text.substr(1)))} : parse_instant(text);
  if (!at) throw Failure{ErrorCode::Invalid, "a time that cannot be read"};
  return to_us(*at) - kFrom1970To2000;
}

constexpr std::array<std::string OutboxRow::*, 30> kFields{&OutboxRow::tenant,         &OutboxRow::topic,
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

// The outbox takes NULL where nothing was said, so that both ways into it look the same.
template <class To>
void put_outbox(To& to, const AcceptedRow& each) {
  const OutboxRow& row = *each.row;
  to.int8(each.accepted).uuid(parse_uuid(row.id)->bytes);
  for (std::string OutboxRow::*const field : kFields) {
    const std::string& value = row.*field;
    if (value.empty()) {
      to.null();
    } else if (is_time_column(field)) {
      to.int8(postgres_time(value));
    } else if (field == &OutboxRow::sealed) {
      const auto bytes = from_base64(value);
      if (!bytes) throw Failure{ErrorCode::Invalid, "a sealed value that is not base64"};
      to.bytes(*bytes);
    } else {
      to.text(value);
    }
  }
}

void write_outbox(Connection& c, const std::vector<AcceptedRow>& rows) {
  write_rows(c, rows, {"outbox_add", "outbox_copy", 2 + static_cast<int>(kFields.size())},
             [](auto& to, const AcceptedRow& row) { put_outbox(to, row); });
}

}  // namespace

Result<std::vector<std::vector<Admitted>>> PostgresSession::accept(Instant now, std::span<const IntakeGroup> groups) {
  if (groups.empty()) return std::vector<std::vector<Admitted>>{};
  std::vector<std::vector<Candidate>> candidates;
  std::set<DedupKey> wanted;
  for (const IntakeGroup& group : groups) {
    auto& own = candidates.emplace_back();
    for (const NewMessage& made : group) {
      own.push_back(made.candidate);
      if (!made.candidate.fresh) wanted.insert(dedup_id(made.candidate.tenant, made.candidate.uuid));
      if (made.candidate.key) wanted.insert(*made.candidate.key);
    }
  }
  return transact([&](Connection& c) {
    auto verdicts = admit(candidates, find_dedups(c, wanted));
    std::vector<AcceptedRow> rows;
    std::vector<NewDedup> entries;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (is_refused(verdicts[g])) continue;
      for (std::size_t i = 0; i < groups[g].size(); ++i) {
        if (verdicts[g][i].verdict != Admission::New) continue;
        const Candidate& candidate = groups[g][i].candidate;
        const DedupEntry entry{.id = ids().next(now), .body = candidate.body, .uuid = candidate.uuid};
        entries.push_back({dedup_id(candidate.tenant, candidate.uuid), entry});
        if (candidate.key) entries.push_back({*candidate.key, entry});
        rows.push_back({entry.id, &groups[g][i].row});
      }
    }
    // Another node took one of the keys since we looked: nothing is written, and the next look sees it.
    if (!add_dedups(c, entries).empty())
      throw Failure{ErrorCode::Unavailable, "a key was taken at the same moment", true};
    write_outbox(c, rows);
    POSTRIDER_FAULT_POINT("in_accept");
    return verdicts;
  });
}

}  // namespace postrider::postgres
