// One row of the outbox: as the producer wrote it (OutboxRow), and as the engine understands it (Message).
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/crypto.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/channel.h"
#include "core/lane.h"
#include "core/reason.h"

namespace postrider {

/// The public contract's columns, as text. Nothing is judged yet. Times are RFC 3339, or "@" and microseconds since
/// 1970.
struct OutboxRow {
  std::int64_t position = 0;           // 0 until the store gave one
  std::optional<RowId> accepted = {};  // set when the HTTP API admitted this row: its message's inner id
  std::string id = {};                 // UUID text; empty: the engine makes one
  std::string tenant = "default";
  std::string topic = {};
  std::string type = {};
  std::string entity_id = {};
  std::string version = {};
  std::string idempotency_key = {};
  std::string payload = "{}";
  std::string sealed = {};  // base64 of a sealed box
  std::string lane = {};    // empty: the route decides
  std::string category = {};
  std::string locale = {};
  std::string origin = {};
  std::string correlation_id = {};
  std::string traceparent = {};
  std::string schema_version = {};
  std::string occurred_at = {};
  std::string due_at = {};
  std::string expires_at = {};
  std::string source_site = {};
  std::string source_instance = {};
  std::string source_script = {};
  std::string site_enqueued_at = {};
  std::string type_data = {};
  std::string channel = {};
  std::string recipient = {};
  std::string contact = {};
  std::string list = {};
  std::string subject = {};
  std::string body = {};
  std::string template_key = {};
};

struct Message {
  RowId id = 0;
  Uuid uuid = {};
  TenantId tenant = 0;
  std::string tenant_name = {};
  std::string topic = {}, type = {}, entity_id = {}, version = {}, idempotency_key = {};
  std::string payload = {};
  std::string sealed = {};
  std::optional<Lane> lane = {};
  std::string category = {}, locale = {}, origin = {}, correlation_id = {}, traceparent = {}, schema_version = {};
  std::optional<Instant> occurred_at = {}, due_at = {}, expires_at = {};
  std::string source_site = {}, source_instance = {}, source_script = {};
  std::optional<Instant> site_enqueued_at = {};
  std::string type_data = {};
  std::optional<Channel> channel = {};
  std::string recipient = {}, contact = {}, list = {}, subject = {}, body = {}, template_key = {};
  Instant accepted_at = {};

  /// A direct message names its channel (and a recipient); everything else is an event that a route expands.
  [[nodiscard]] bool is_direct() const { return channel.has_value(); }
  /// What an operator had sent again: direct, yet about the same entity and with the record of the event's route. Its
  /// key is its delivery's key too.
  [[nodiscard]] bool is_resend() const {
    return is_direct() && list.empty() && !entity_id.empty() && idempotency_key.starts_with(kResendPrefix);
  }
  static constexpr std::string_view kResendPrefix = "manual:";
};

/// Why a row cannot be taken: `field` as in the contract, `detail` with the value that led to it.
struct Refusal {
  Reason reason = Reason::InvalidField;
  std::string field = {};
  std::string detail = {};
};

struct Reading {
  Message message = {};  // filled as far as it could be read, so that a refused row is still visible
  std::optional<Refusal> refusal = {};
};

/// A time of a row in either of its forms: RFC 3339, or @ and microseconds since 1970.
std::optional<Instant> read_row_time(std::string_view text);

/// Judges one row, field by field; the first problem found is the refusal. Ids are not given here: `message.id` stays
/// 0, and a missing `id` leaves `uuid` zero. The tenant's number is the caller's to look up.
Reading read_row(const OutboxRow& row);

/// What read_row finds wrong, without the message.
struct Judgement {
  std::optional<Instant> expires_at = {};
  std::optional<Refusal> refusal = {};
};
Judgement judge_row(const OutboxRow& row);

/// What makes two messages with one key the same: every field that the producer chose, but for the id, the key, and
/// what differs from one try to the next by itself (occurred_at, correlation_id, traceparent).
Hash128 body_hash(const OutboxRow& row);

}  // namespace postrider
