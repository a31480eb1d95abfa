// The tables of the model store, in memory. What stands here is "on disk": a crash is the loss of sessions, not of
// this.
#pragma once
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "ports/store.h"
#include "store/rules.h"

namespace postrider::model {

struct StateRow {
  TenantId tenant = 0;
  MessageState state = MessageState::Expanded;
  Reason reason = Reason::Expanded;
  std::string detail = {};
  Instant at = {};
  int attempts = 0;
  std::size_t cursor = 0;
  std::string skipped = {};
  std::optional<Instant> as_of = {};
};

struct QueueKey {
  QueueGroup group = {};
  std::int64_t position = 0;
  auto operator<=>(const QueueKey&) const = default;
};
struct QueueRow {
  RowId id = 0;
  NodeId node = 0;
  int fence = 0;
  int attempt = 0;
  ProviderId provider = 0;
  Guarantee guarantee = Guarantee::AtLeastOnce;
  std::optional<Instant> claimed_at = {};
  std::optional<Instant> expires_at = {};
  std::optional<CancelMark> cancelled = {};  // while a node held it
};
using DeferredKey = std::pair<Instant, RowId>;
/// A row of `deferred` and of `parked`; they differ in their key and in what `at` is.
struct WaitingRow {
  QueueGroup group = {};
  int fence = 0;
  int attempt = 0;
  Guarantee guarantee = Guarantee::AtLeastOnce;
  Reason reason = Reason::Waiting;
  std::string detail = {};
  Instant at = {};  // parked: since when
  std::optional<Instant> expires_at = {};
};
struct SettledRow {
  TenantId tenant = 0;
  DeliveryState state = DeliveryState::Delivered;
  Reason reason = Reason::AcceptedByProvider;
  std::string detail = {};
  Instant at = {};
};
struct AttemptKey {
  RowId delivery = 0;
  int fence = 0;
  int seq = 0;
  auto operator<=>(const AttemptKey&) const = default;
};
struct AttemptRow {
  int attempt = 0;
  NodeId node = 0;
  ProviderId provider = 0;
  AttemptEnd end = {};
};
struct NodeRow {
  int slot = 0;
  std::string name = {};
  std::int64_t beats = 0;
};
struct DutyRow {
  NodeId node = 0;
  std::int64_t epoch = 0;
  Instant expires_at = {};
};
struct AuditRow {
  Instant at = {};
  std::string actor = {};
  std::string action = {};
  std::string why = {};
  std::optional<RowId> message = {};
  std::optional<RowId> delivery = {};
  std::string detail = {};
};

struct TemplateRow {
  StoredTemplate now = {};
  bool used = false;                          // a delivery refers to it
  std::vector<StoredTemplate> versions = {};  // all, oldest first
};
struct ListRow {
  RecipientList list = {};  // its count is made when it is asked for
  Instant made_at = {};
  std::optional<Instant> ended_at = {};
};
struct MemberRow {
  std::int64_t list = 0;
  ListMember member = {};
  std::optional<Instant> left_at = {};
};

struct ModelDatabase {
  std::recursive_mutex mutex;  // each verb holds it: sessions of several threads see whole verbs
  Instant clock = {};          // what database_now() answers; the owner moves it

  std::int64_t last_position = 0;
  std::map<std::int64_t, OutboxRow> outbox;
  std::map<RowId, Message> messages;  // `sealed` is empty: see secrets
  std::map<RowId, StateRow> states;   // none: expanded, with deliveries, nothing more to say
  std::map<RowId, std::string> secrets;
  std::map<RowId, Delivery> deliveries;
  std::multimap<RowId, RowId> deliveries_of;  // message -> delivery
  std::map<RowId, LateRendering> renderings;

  std::map<QueueKey, QueueRow> queue;
  std::map<DeferredKey, WaitingRow> deferred;
  std::map<RowId, Instant> due_of;  // deferred, by id
  std::map<RowId, WaitingRow> parked;
  std::map<RowId, SettledRow> settled;
  std::map<AttemptKey, AttemptRow> attempts;

  DedupFound dedup;
  NodeId last_node = 0;
  std::map<NodeId, NodeRow> nodes;
  std::map<std::string, DutyRow, std::less<>> duties;
  std::vector<std::string> tenants;    // number = place + 1
  std::vector<std::string> providers;  // number = place + 1
  std::vector<ApiKey> keys;
  std::vector<AuditRow> audit;
  std::int64_t catalog_version = 1;
  std::int64_t last_template = 0;
  std::map<std::int64_t, TemplateRow> templates;

  std::int64_t last_contact = 0;
  std::map<ContactRef, Contact> contacts;
  std::vector<ListRow> lists;  // number = place + 1; those that ended too
  std::vector<MemberRow> members;
  std::map<SuppressionRef, Suppression> suppressions;

  /// A plain INSERT of a producer.
  void insert_outbox(OutboxRow row);

  // Moves between the places, used by several verbs.
  [[nodiscard]] TenantId tenant_number(std::string_view name) const;
  [[nodiscard]] std::string provider_name(ProviderId id) const;
  void defer(Instant due_at, RowId id, WaitingRow row);
  std::optional<WaitingRow> take_deferred(RowId id);  // deliveries only, not expand work
  std::map<QueueKey, QueueRow>::iterator find_queued(RowId id);
  std::map<QueueKey, QueueRow>::iterator find_held(const Lease& lease);  // end() when the lease was lost
  bool drop_waiting(RowId id);                                           // from the queue, when nobody holds it
  CalledOff call_off(Instant now, RowId id, const CancelMark& mark);
  bool drop_expansion(RowId message);  // whoever holds it
  [[nodiscard]] DeliveryState state_of(RowId delivery);
  void settle(RowId id, SettledRow row);
  void settle_called_off(Instant now, RowId id, const CancelMark& mark);
  void drop_secret_if_done(RowId message);
};

}  // namespace postrider::model
