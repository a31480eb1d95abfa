// Which of several new messages are new, which repeat an earlier one, and which misuse a key. Pure: what the store
// found comes in.
#pragma once
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "base/crypto.h"
#include "base/ids.h"

namespace postrider {

enum class DedupKind : std::uint8_t { Id = 1, Message = 2, Delivery = 3 };  // stored: never reuse a number

struct DedupKey {
  TenantId tenant = 0;
  DedupKind kind = DedupKind::Id;
  Hash128 hash = {};
  auto operator<=>(const DedupKey&) const = default;
};
struct DedupEntry {
  RowId id = 0;
  std::optional<Hash128> body = {};  // what the first one said
  std::optional<Uuid> uuid = {};     // the first message's outer id (kinds Id and Message)
};
using DedupFound = std::map<DedupKey, DedupEntry>;

DedupKey dedup_id(TenantId tenant, const Uuid& id);
DedupKey dedup_message(TenantId tenant, std::string_view idempotency_key);
DedupKey dedup_delivery(TenantId tenant, std::string_view delivery_key);

struct Candidate {
  TenantId tenant = 0;
  Uuid uuid = {};
  std::optional<DedupKey> key = {};  // its idempotency key, when it has one
  Hash128 body = {};
  bool fresh = false;  // its id was made here (make_checked_uuid7): no earlier message has it
  /// It can repeat nothing, so there is nothing to decide before it is expanded: its id's entry is made then.
  [[nodiscard]] bool repeats_nothing() const { return fresh && !key; }
  /// Whoever gives an id that was made here may mean a message that waits without an entry.
  [[nodiscard]] bool may_repeat_a_waiting_one() const { return !fresh && is_checked(uuid); }
};
enum class Admission : std::uint8_t { New, Duplicate, KeyReused };
struct Admitted {
  Admission verdict = Admission::New;
  Uuid first = {};  // the message that counts: itself when new
};

/// `found` has the entries of these candidates' keys and ids; where one `may_repeat_a_waiting_one`, also such a one.
/// Requests are all-or-nothing: one reused key refuses the whole group, and a refused group leaves no trace for those
/// behind it. `groups` are candidates request by request, in order of arrival.
std::vector<std::vector<Admitted>> admit(std::span<const std::vector<Candidate>> groups, const DedupFound& found);

}  // namespace postrider
