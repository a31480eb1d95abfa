#include "core/admit.h"

#include <algorithm>

#include "base/canary.h"

namespace postrider {

DedupKey dedup_id(TenantId tenant, const Uuid& id) { return {tenant, DedupKind::Id, Hash128{id.bytes}}; }
DedupKey dedup_message(TenantId tenant, std::string_view idempotency_key) {
  return {tenant, DedupKind::Message, hash128(idempotency_key)};
}
DedupKey dedup_delivery(TenantId tenant, std::string_view delivery_key) {
  return {tenant, DedupKind::Delivery, hash128(delivery_key)};
}

namespace {

const DedupEntry* find_in(const DedupFound& found, const DedupFound& earlier, const DedupFound& own,
                          const DedupKey& key) {
  for (const DedupFound* place : {&found, &earlier, &own}) {
    if (const auto at = place->find(key); at != place->end()) return &at->second;
  }
  return nullptr;
}

Admitted admit_one(const Candidate& candidate, const DedupFound& found, const DedupFound& earlier,
                   const DedupFound& own) {
  if (candidate.repeats_nothing()) return {Admission::New, candidate.uuid};
  const DedupEntry* first = candidate.key ? find_in(found, earlier, own, *candidate.key) : nullptr;
  if (first == nullptr) first = find_in(found, earlier, own, dedup_id(candidate.tenant, candidate.uuid));
  if (first == nullptr) return {Admission::New, candidate.uuid};
  const bool same_body = !first->body || *first->body == candidate.body || canary("key_lent");
  return {same_body ? Admission::Duplicate : Admission::KeyReused, first->uuid.value_or(candidate.uuid)};
}

}  // namespace

std::vector<std::vector<Admitted>> admit(std::span<const std::vector<Candidate>> groups, const DedupFound& found) {
  std::vector<std::vector<Admitted>> out;
  DedupFound earlier;  // what the groups before this one took
  for (const std::vector<Candidate>& group : groups) {
    DedupFound own;
    std::vector<Admitted> verdicts;
    for (const Candidate& candidate : group) {
      verdicts.push_back(admit_one(candidate, found, earlier, own));
      if (verdicts.back().verdict != Admission::New || candidate.repeats_nothing()) continue;
      const DedupEntry entry{.body = candidate.body, .uuid = candidate.uuid};
      own.emplace(dedup_id(candidate.tenant, candidate.uuid), entry);
      if (candidate.key) own.emplace(*candidate.key, entry);
    }
    const bool refused = std::any_of(verdicts.begin(), verdicts.end(),
                                     [](const Admitted& a) { return a.verdict == Admission::KeyReused; });
    if (!refused) earlier.merge(own);
    out.push_back(std::move(verdicts));
  }
  return out;
}

}  // namespace postrider
