#include <algorithm>

#include "base/fault.h"
#include "base/json.h"
#include "store/common/rows.h"
#include "store/sqlite/rows.h"
#include "store/sqlite/session.h"

namespace postrider::sqlite {
namespace {

void find_into(Connection& c, const DedupKey& key, DedupFound& found) {
  if (const auto entry = find_dedup(c, key)) found.emplace(key, *entry);
}

DedupFound find_all(Connection& c, std::span<const IntakeGroup> groups) {
  DedupFound found;
  for (const IntakeGroup& group : groups) {
    for (const NewMessage& made : group) {
      const Candidate& candidate = made.candidate;
      if (candidate.repeats_nothing()) continue;
      find_into(c, dedup_id(candidate.tenant, candidate.uuid), found);
      if (candidate.key) find_into(c, *candidate.key, found);
    }
  }
  return found;
}

// Rows without an entry, read before the writer's turn begins: the walk may take a while. One that is expanded until
// then has its entry.
DedupFound find_waiting(Connection& c, const std::vector<const NewMessage*>& may_wait) {
  DedupFound found;
  JsonWriter ids;
  ids.begin_array();
  bool some = false;
  for (const NewMessage* made : may_wait) {
    if (find_dedup(c, dedup_id(made->candidate.tenant, made->candidate.uuid))) continue;
    ids.value(format_uuid(made->candidate.uuid));
    some = true;
  }
  if (!some) return found;
  Rows rows = c.use("outbox_waiting").query(ids.end_array().take());
  while (rows.next()) {
    const OutboxRow row = common::read_outbox_row(rows);
    for (const NewMessage* made : may_wait) add_waiting(row, *made, found);
  }
  return found;
}

bool is_refused(const std::vector<Admitted>& verdicts) {
  return std::any_of(verdicts.begin(), verdicts.end(),
                     [](const Admitted& a) { return a.verdict == Admission::KeyReused; });
}

void store_new(Connection& c, Instant now, RowId id, const NewMessage& made) {
  if (made.is_row_only()) return add_outbox_row(c, std::nullopt, made.row);
  const Candidate& candidate = made.candidate;
  const DedupEntry entry{.id = id, .body = candidate.body, .uuid = candidate.uuid};
  add_outbox_row(c, id, made.row);
  add_dedup(c, dedup_id(candidate.tenant, candidate.uuid), entry);
  if (candidate.key) add_dedup(c, *candidate.key, entry);
  if (const auto& note = made.note) {
    c.use("audit_add").run(now, note->by.actor, note->action, note->by.why, id, note->delivery, note->detail);
  }
}

}  // namespace

Result<std::vector<std::vector<Admitted>>> SqliteSession::accept(Instant now, std::span<const IntakeGroup> groups) {
  if (groups.empty()) return std::vector<std::vector<Admitted>>{};
  std::vector<std::vector<Candidate>> candidates;
  std::vector<const NewMessage*> may_wait;
  candidates.reserve(groups.size());
  for (const IntakeGroup& group : groups) {
    auto& own = candidates.emplace_back();
    own.reserve(group.size());
    for (const NewMessage& made : group) {
      own.push_back(made.candidate);
      if (made.candidate.may_repeat_a_waiting_one()) may_wait.push_back(&made);
    }
  }
  DedupFound waiting;
  if (!may_wait.empty()) {
    POSTRIDER_TRY(found, read([&](Connection& c) { return find_waiting(c, may_wait); }));
    waiting = std::move(found);
  }
  return writer_.transact([&](Connection& c) {
    DedupFound found = find_all(c, groups);
    found.insert(waiting.begin(), waiting.end());  // entries come first; kept for the case that this is tried again
    auto verdicts = admit(candidates, found);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (is_refused(verdicts[g])) continue;
      for (std::size_t i = 0; i < groups[g].size(); ++i) {
        if (verdicts[g][i].verdict == Admission::New) store_new(c, now, ids().next(now), groups[g][i]);
      }
    }
    POSTRIDER_FAULT_POINT("in_accept");
    return verdicts;
  });
}

}  // namespace postrider::sqlite
