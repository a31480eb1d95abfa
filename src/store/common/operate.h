// What operators do, for every dialect.
#pragma once
#include <fmt/format.h>

#include "base/limits.h"
#include "store/common/call_off.h"
#include "store/common/look.h"
#include "store/common/people.h"

namespace postrider::common {

/// What an operator does to one transaction's deliveries and messages, with an audit row for each change.
template <class Connection>
class Operation {
 public:
  Operation(Connection& c, Instant now, const OperatorAction& action, IdSource& ids)
      : c_(c), now_(now), action_(action), ids_(ids), settler_(c, now) {}

  void retry(RowId id) {
    const auto parked = find_parked(id);
    if (!parked) return;
    c_.use("parked_drop").run(id);
    QueueRow row = parked->row;
    if (const auto unwanted = find_suppression(row)) {
      settler_.settle(called_off(id, row.tenant, {Reason::SuppressedAddress, words_of(*unwanted)}));
      note("retry", nullptr, id, parked->was + kNotRetried);
      return;
    }
    row.attempt = 0;
    row.position = ids_.next(now_);
    add_queue_row(c_, row);
    appeared(row);
    note("retry", nullptr, id, parked->was);
  }

  void discard(RowId id) {
    const auto parked = find_parked(id);
    if (!parked) return;
    c_.use("parked_drop").run(id);
    settler_.settle({id, parked->row.tenant, DeliveryState::Discarded, Reason::DiscardedByOperator, action_.why});
    note("discard", nullptr, id, parked->was);
  }

  void cancel(RowId id) { (void)end_delivery(id, Reason::CancelledByOperator); }

  CalledOff end_delivery(RowId id, Reason reason) {
    const auto group = find_group(id);
    if (!group || !allows(group->tenant) || c_.use("is_settled").any(id)) return CalledOff::No;
    const CalledOff where = call_off(c_, settler_, *group, id, {reason, action_.why});
    if (where == CalledOff::No) return where;
    note("cancel", nullptr, id, words_of(where));
    if (where == CalledOff::WasHeld) ++acted_.marked;
    return where;
  }

  /// A message that is still to be expanded. Whoever holds that work loses it: a chunk is written under its lease or
  /// not at all.
  bool end_expansion(RowId message, TenantId tenant, Reason reason) {
    // It goes from deferred to queue when it is due and back when it failed: looked at twice, it cannot slip by.
    const auto put_off = [&] { return c_.use("deferred_drop_expand").run(message) == 1; };
    if (!put_off() && c_.use("queue_drop_expand").run(tenant, message) == 0 && !put_off()) return false;
    auto state = find_state(c_, message, "message_state_locked").value_or(StoredState{.tenant = tenant});
    const std::string was = fmt::format("was {}", to_text(state.state));
    state.state = MessageState::Cancelled;
    state.reason = reason;
    state.detail = action_.why;
    state.at = now_;
    put_state(c_, message, state);
    c_.use("secret_drop_if_done").run(message);
    note("cancel", message, nullptr, was);
    return true;
  }

  /// A message that was cancelled while it was taken from the outbox.
  void note_taken(RowId message) { note("cancel", message, nullptr, "was in the outbox"); }

  void dispatch(RowId id) {
    QueueRow row;
    {
      auto rows = c_.use("deferred_of").query(id);
      if (!rows.next() || rows.instant(0) <= now_ || !allows(rows.template number<TenantId>(1))) return;
      row = read_waiting(rows, 1, id);
    }
    c_.use("deferred_drop").run(id);
    c_.use("deferred_add")
        .run(now_, id, row.lane, row.channel, row.tenant, row.fence, row.attempt, row.guarantee,
             Reason::DispatchedByOperator, row.expires_at, "");
    appeared(row);
    note("dispatch", nullptr, id, "was retrying");
  }

  void dispatch_expand(const Uuid& uuid) {
    const auto found = find_message(c_, action_.tenant, uuid);
    if (!found) return;
    QueueRow row{.channel = Channel::Expand, .id = found->id};
    std::string detail;
    {
      auto rows = c_.use("deferred_expand_of").query(found->id);
      if (!rows.next() || rows.instant(0) <= now_) return;
      row.lane = rows.one_of(1, Lane::Priority, Lane::Bulk);
      row.tenant = rows.template number<TenantId>(2);
      row.fence = rows.template number<int>(3);
      row.attempt = rows.template number<int>(4);
      detail = rows.text(5);
    }
    c_.use("deferred_drop_expand").run(found->id);
    c_.use("deferred_add")
        .run(now_, row.id, row.lane, row.channel, row.tenant, row.fence, row.attempt, row.guarantee,
             Reason::DispatchedByOperator, nullptr, detail);
    auto state = find_state(c_, found->id, "message_state_locked").value_or(StoredState{.tenant = row.tenant});
    const std::string was = fmt::format("was {}: {}", to_text(state.state), code_of(state.reason));
    state.reason = Reason::DispatchedByOperator;
    put_state(c_, found->id, state);
    appeared(row);
    note("dispatch", found->id, nullptr, was);
  }

  void replay(const Uuid& uuid) {
    const auto found = find_message(c_, action_.tenant, uuid);
    if (!found) return;
    // Locked: of two that replay one message at once, the second sees what the first did.
    auto state = find_state(c_, found->id, "message_state_locked");
    if (!state || (state->state != MessageState::Failed && state->state != MessageState::Ignored)) return;
    std::optional<Lane> lane;
    {
      auto rows = c_.use("message_of").query(found->id);
      if (!rows.next()) return;
      lane = read_message(rows).lane;
    }
    free_suppressed_keys(found->id);
    const std::string was = fmt::format("was {}: {}", to_text(state->state), code_of(state->reason));
    // The cursor stays: what a chunk made before the failure is not made again.
    *state = {.tenant = found->tenant,
              .state = MessageState::Pending,
              .reason = Reason::Replayed,
              .at = now_,
              .cursor = state->cursor,
              .skipped = std::move(state->skipped),
              .as_of = state->cursor > 0 ? state->as_of : std::nullopt};
    put_state(c_, found->id, *state);
    const QueueRow row{.lane = lane.value_or(Lane::Standard),
                       .channel = Channel::Expand,
                       .tenant = found->tenant,
                       .position = ids_.next(now_),
                       .id = found->id};
    add_queue_row(c_, row);
    appeared(row);
    note("replay", found->id, nullptr, was);
  }

  Acted take() {
    acted_.groups = as_list(groups_);
    return std::move(acted_);
  }

 private:
  struct Parked {
    QueueRow row = {};
    std::string was = {};
  };

  [[nodiscard]] bool allows(TenantId tenant) const { return !action_.tenant || *action_.tenant == tenant; }

  // Columns from `from`: tenant, lane, channel, fence, attempt, guarantee, reason, detail, expires_at.
  template <class Rows>
  static QueueRow read_waiting(const Rows& rows, int from, RowId id) {
    return {.lane = rows.one_of(from + 1, Lane::Priority, Lane::Bulk),
            .channel = rows.one_of(from + 2, Channel::Email, Channel::InApp),
            .tenant = rows.template number<TenantId>(from),
            .id = id,
            .fence = rows.template number<int>(from + 3),
            .attempt = rows.template number<int>(from + 4),
            .guarantee = rows.one_of(from + 5, Guarantee::AtLeastOnce, Guarantee::Reconcile),
            .expires_at = rows.maybe_instant(from + 8)};
  }

  std::optional<Parked> find_parked(RowId id) {
    auto rows = c_.use("parked_of").query(id);
    if (!rows.next() || !allows(rows.template number<TenantId>(0))) return std::nullopt;
    const std::string detail = rows.text(7);
    return Parked{read_waiting(rows, 0, id),
                  fmt::format("was parked: {}{}{}", code_of(rows.reason(6)), detail.empty() ? "" : ", ", detail)};
  }

  std::optional<Suppression> find_suppression(const QueueRow& row) {
    std::string recipient;
    {
      auto rows = c_.use("recipient_of").query(row.id);
      if (rows.next()) recipient = rows.text(0);
    }
    std::vector<Suppression> found;
    auto rows = c_.use("suppression_find").query(row.tenant, row.channel, comparable_address(row.channel, recipient));
    read_suppressions(rows, found);
    return found.empty() ? std::nullopt : std::optional{std::move(found.front())};
  }

  std::optional<QueueGroup> find_group(RowId id) {
    auto rows = c_.use("delivery_group").query(id);
    if (!rows.next()) return std::nullopt;
    return QueueGroup{rows.one_of(0, Lane::Priority, Lane::Bulk), rows.one_of(1, Channel::Email, Channel::InApp),
                      rows.template number<TenantId>(2)};
  }

  // A delivery that was suppressed for want of an address holds its key; replaying must be able to make it anew.
  void free_suppressed_keys(RowId message) {
    struct Held {
      RowId id;
      DedupKey key;
    };
    std::vector<Held> held;
    {
      auto rows = c_.use("suppressed_keys").query(message);
      while (rows.next()) {
        held.push_back({rows.integer(0), dedup_delivery(rows.template number<TenantId>(1), rows.text(2))});
      }
    }
    for (const Held& h : held) c_.use("dedup_drop").run(h.key.tenant, h.key.kind, h.key.hash, h.id);
  }

  void appeared(const QueueRow& row) { groups_.insert({row.lane, row.channel, row.tenant}); }

  template <class Message, class Delivery>
  void note(std::string_view what, Message message, Delivery delivery, std::string_view detail) {
    c_.use("audit_add").run(now_, action_.actor, what, action_.why, message, delivery, detail);
    ++acted_.changed;
  }

  Connection& c_;
  Instant now_;
  const OperatorAction& action_;
  IdSource& ids_;
  Settler<Connection> settler_;
  Groups groups_;
  Acted acted_;
};

}  // namespace postrider::common
