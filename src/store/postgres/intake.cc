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
  std::optional<RowId> accepted = {};
  Uuid uuid = {};
  const OutboxRow* row = nullptr;
};

std::int64_t postgres_time(const std::string& text) {
  const auto at = read_row_time(text);
  if (!at) throw Failure{ErrorCode::Invalid, "a time that cannot be read"};
  return to_us(*at) - kFrom1970To2000;
}

std::string sealed_bytes(const std::string& base64) {
  auto bytes = from_base64(base64);
  if (!bytes) throw Failure{ErrorCode::Invalid, "a sealed value that is not base64"};
  return std::move(*bytes);
}

// So many messages still go column by column, with the COMMIT; more of them by COPY.
constexpr std::size_t kTogether = 64;

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
  each.accepted ? to.int8(*each.accepted) : to.null();
  to.uuid(each.uuid.bytes);
  for (std::string OutboxRow::*const field : kFields) {
    const std::string& value = row.*field;
    if (value.empty()) {
      to.null();
    } else if (is_time_column(field)) {
      to.int8(postgres_time(value));
    } else if (field == &OutboxRow::sealed) {
      to.bytes(sealed_bytes(value));
    } else {
      to.text(value);
    }
  }
}

// A column of the outbox for several rows; NULL as a whole when none of them says anything.
void put_column(Params& params, std::vector<Array>& arrays, const std::vector<AcceptedRow>& rows,
                std::string OutboxRow::*field) {
  const auto silent = [field](const AcceptedRow& each) { return (each.row->*field).empty(); };
  if (std::all_of(rows.begin(), rows.end(), silent)) {
    params.null();
    return;
  }
  const bool json = field == &OutboxRow::payload || field == &OutboxRow::type_data;
  Array& column = arrays.emplace_back(is_time_column(field)         ? Type::TimestampTz
                                      : field == &OutboxRow::sealed ? Type::Bytes
                                      : json                        ? Type::Json
                                                                    : Type::Text);
  for (const AcceptedRow& each : rows) {
    const std::string& value = each.row->*field;
    if (value.empty()) {
      column.add_null();
    } else if (is_time_column(field)) {
      column.add_int8(postgres_time(value));
    } else {
      column.add(field == &OutboxRow::sealed ? sealed_bytes(value) : value);
    }
  }
  params.array(column);
}

// With the COMMIT, in one round trip.
void write_outbox_later(Connection& c, const std::vector<AcceptedRow>& rows) {
  if (rows.empty()) return;
  std::vector<Array> arrays;
  arrays.reserve(2 + kFields.size());
  Array& accepted = arrays.emplace_back(Type::Int8);
  Array& id = arrays.emplace_back(Type::Uuid);
  for (const AcceptedRow& each : rows) {
    each.accepted ? accepted.add_int8(*each.accepted) : accepted.add_null();
    id.add(each.uuid.bytes);
  }
  Params params;
  params.array(accepted).array(id);
  for (std::string OutboxRow::*const field : kFields) put_column(params, arrays, rows, field);
  c.later("outbox_add_many", std::move(params));
}

void write_outbox(Connection& c, const std::vector<AcceptedRow>& rows) {
  write_rows(c, rows, {"outbox_add", "outbox_copy", 2 + static_cast<int>(kFields.size())},
             [](auto& to, const AcceptedRow& row) { put_outbox(to, row); });
}

struct Offered {
  std::vector<std::vector<Candidate>> candidates = {};
  std::set<DedupKey> wanted = {};  // keys that may exist
  std::vector<const NewMessage*> may_wait = {};
  std::size_t messages = 0;
};

Offered offered(std::span<const IntakeGroup> groups) {
  Offered all;
  all.candidates.reserve(groups.size());
  for (const IntakeGroup& group : groups) {
    all.messages += group.size();
    auto& own = all.candidates.emplace_back();
    own.reserve(group.size());
    for (const NewMessage& made : group) {
      own.push_back(made.candidate);
      if (!made.candidate.fresh) all.wanted.insert(dedup_id(made.candidate.tenant, made.candidate.uuid));
      if (made.candidate.key) all.wanted.insert(*made.candidate.key);
      if (made.candidate.may_repeat_a_waiting_one()) all.may_wait.push_back(&made);
    }
  }
  return all;
}

// Only what has no entry is looked for in the outbox, in one walk. A row that is expanded between the two looks is in
// neither: then its entry is met when ours is written, and everything is looked at again.
DedupFound find_all(Connection& c, const Offered& all) {
  DedupFound found = find_dedups(c, all.wanted);
  Array ids{Type::Uuid};
  for (const NewMessage* made : all.may_wait) {
    if (!found.contains(dedup_id(made->candidate.tenant, made->candidate.uuid))) ids.add(made->candidate.uuid.bytes);
  }
  if (ids.size() == 0) return found;
  const Rows rows = c.query("outbox_waiting", Params{}.array(ids));
  for (int i = 0; i < rows.count(); ++i) {
    const OutboxRow row = read_outbox_row(rows, i);
    for (const NewMessage* made : all.may_wait) add_waiting(row, *made, found);
  }
  return found;
}

}  // namespace

Result<std::vector<std::vector<Admitted>>> PostgresSession::accept(Instant now, std::span<const IntakeGroup> groups) {
  if (groups.empty()) return std::vector<std::vector<Admitted>>{};
  const Offered all = offered(groups);
  std::vector<RowId> drawn;  // ids, used again when the first try was in vain
  const auto once = [&](Connection& c, bool ask_first) {
    Transaction transaction{c};
    auto verdicts = admit(all.candidates, ask_first ? find_all(c, all) : DedupFound{});
    std::vector<AcceptedRow> rows;
    std::vector<NewDedup> entries;
    std::size_t with_entry = 0;
    const auto add = [&](const NewMessage& made) {
      const Candidate& candidate = made.candidate;
      if (made.is_row_only()) return rows.push_back({std::nullopt, candidate.uuid, &made.row});
      if (with_entry == drawn.size()) drawn.push_back(ids().next(now));
      const DedupEntry entry{.id = drawn[with_entry++], .body = candidate.body, .uuid = candidate.uuid};
      entries.push_back({dedup_id(candidate.tenant, candidate.uuid), entry});
      if (candidate.key) entries.push_back({*candidate.key, entry});
      rows.push_back({entry.id, candidate.uuid, &made.row});
      if (const auto& note = made.note) {
        c.use("audit_add").run(now, note->by.actor, note->action, note->by.why, entry.id, note->delivery, note->detail);
      }
    };
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (is_refused(verdicts[g])) continue;
      for (std::size_t i = 0; i < groups[g].size(); ++i) {
        if (verdicts[g][i].verdict == Admission::New) add(groups[g][i]);
      }
    }
    if (ask_first) {
      // Another node took one of the keys since we looked: nothing is written, and the next look sees it.
      if (!add_dedups(c, entries).empty())
        throw Failure{ErrorCode::Unavailable, "a key was taken at the same moment", true};
      write_outbox(c, rows);
    } else {
      add_new_dedups(c, entries);
      write_outbox_later(c, rows);
    }
    POSTRIDER_FAULT_POINT("in_accept");
    transaction.commit();
    return verdicts;
  };
  return run([&](Connection& c) {
    try {
      const bool hopes = all.wanted.empty() || (all.may_wait.empty() && hope_.holds());
      if (all.messages <= kTogether && hopes) return once(c, false);
    } catch (const Failure& failure) {
      if (failure.error().code != ErrorCode::Conflict) throw;
      hope_.fails();
    }
    return once(c, true);
  });
}

}  // namespace postrider::postgres
