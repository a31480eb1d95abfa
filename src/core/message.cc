#include "core/message.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "base/json.h"
#include "base/limits.h"
#include "base/text.h"

namespace postrider {

std::optional<Instant> read_row_time(std::string_view text) {
  if (!text.starts_with('@')) return parse_instant(text);
  std::int64_t us = 0;
  const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), us);
  if (error != std::errc{} || end != text.data() + text.size() || us < 0) return std::nullopt;
  const Instant at = instant_from_us(us);
  return at <= kLastInstant ? std::optional{at} : std::nullopt;
}

namespace {

// Whoever only wants to know whether a row can be read needs no copies of its texts.
enum class Texts : bool { LeftOut, Kept };

class Reader {
 public:
  Reader(const OutboxRow& row, Texts texts) : row_(row), keeps_(texts == Texts::Kept) {}

  Reading read() {
    Message& m = reading_.message;
    read_id();
    m.tenant_name = short_text("tenant", row_.tenant);
    m.type = short_text("type", row_.type);
    if (row_.type.empty()) refuse(Reason::InvalidField, "type", "is required");
    m.topic = short_text("topic", row_.topic);
    m.entity_id = short_text("entity_id", row_.entity_id);
    m.version = short_text("version", row_.version);
    m.idempotency_key = short_text("idempotency_key", row_.idempotency_key);
    m.category = short_text("category", row_.category);
    m.locale = short_text("locale", row_.locale);
    m.origin = short_text("origin", row_.origin);
    m.correlation_id = short_text("correlation_id", row_.correlation_id);
    m.traceparent = short_text("traceparent", row_.traceparent);
    m.schema_version = short_text("schema_version", row_.schema_version);
    m.source_site = short_text("source_site", row_.source_site);
    m.source_instance = short_text("source_instance", row_.source_instance);
    m.source_script = short_text("source_script", row_.source_script);
    m.contact = short_text("contact", row_.contact);
    m.list = short_text("list", row_.list);
    m.template_key = short_text("template", row_.template_key);
    m.recipient = address_text(row_.recipient);
    m.subject = short_text("subject", row_.subject);
    m.body = long_text("body", row_.body);
    m.sealed = long_text("sealed", row_.sealed);
    read_lane_and_channel();
    m.occurred_at = time("occurred_at", row_.occurred_at);
    m.due_at = time("due_at", row_.due_at);
    m.expires_at = time("expires_at", row_.expires_at);
    m.site_enqueued_at = time("site_enqueued_at", row_.site_enqueued_at);
    read_payload();
    return std::move(reading_);
  }

 private:
  void refuse(Reason reason, std::string_view field, std::string detail) {
    if (!reading_.refusal) reading_.refusal = Refusal{reason, std::string{field}, std::move(detail)};
  }

  void read_id() {
    if (row_.id.empty()) return;
    if (const auto id = parse_uuid(row_.id)) {
      reading_.message.uuid = *id;
    } else {
      refuse(Reason::InvalidField, "id", fmt::format("\"{}\" is not a UUID", printable(excerpt(row_.id, 60))));
    }
  }

  [[nodiscard]] std::string kept(const std::string& value) const { return keeps_ ? value : std::string{}; }

  std::string text(std::string_view field, const std::string& value, std::size_t bytes_max) {
    if (value.empty()) return {};
    if (value.size() > bytes_max) {
      refuse(Reason::InvalidField, field, fmt::format("is longer than {} bytes", bytes_max));
      return excerpt(printable(value), bytes_max);
    }
    if (!is_utf8(value)) {
      refuse(Reason::InvalidField, field, "is not UTF-8");
      return printable(value);
    }
    return kept(value);
  }
  std::string short_text(std::string_view field, const std::string& value) {
    if (has_control(value)) {
      refuse(Reason::InvalidField, field, "contains a control character");
      return excerpt(printable(value), kTextFieldBytesMax);
    }
    return text(field, value, kTextFieldBytesMax);
  }
  // A wrong address is the delivery's matter (No recipient), so it is only made safe to store here.
  std::string address_text(const std::string& value) { return text_without_nul("recipient", value, 2048); }
  std::string long_text(std::string_view field, const std::string& value) {
    return text_without_nul(field, value, kContentBytesMax);
  }
  // PostgreSQL cannot keep a NUL in a text.
  std::string text_without_nul(std::string_view field, const std::string& value, std::size_t bytes_max) {
    if (value.find('\0') == std::string::npos) return text(field, value, bytes_max);
    refuse(Reason::InvalidField, field, "contains a NUL");
    return excerpt(printable(value), bytes_max);
  }

  std::optional<Instant> time(std::string_view field, const std::string& value) {
    if (value.empty()) return std::nullopt;
    const auto at = read_row_time(value);
    if (!at)
      refuse(Reason::InvalidTime, field, fmt::format("\"{}\" is not an RFC 3339 time", printable(excerpt(value, 60))));
    return at;
  }

  void read_lane_and_channel() {
    if (!row_.lane.empty()) {
      reading_.message.lane = parse_lane(row_.lane);
      if (!reading_.message.lane) {
        refuse(Reason::InvalidLane, "lane",
               fmt::format("\"{}\" is not one of priority, standard, bulk", printable(excerpt(row_.lane, 60))));
      }
    }
    if (!row_.channel.empty()) {
      reading_.message.channel = parse_channel(row_.channel);
      if (!reading_.message.channel) {
        refuse(Reason::InvalidChannel, "channel",
               fmt::format("\"{}\" is not a known channel", printable(excerpt(row_.channel, 60))));
      }
    }
  }

  void read_payload() {
    const JsonLimits limits{.bytes_max = kPayloadBytesMax, .depth_max = kJsonDepthMax};
    const auto payload = JsonDocument::parse(row_.payload, limits);
    if (!payload) {
      refuse(Reason::InvalidPayload, "payload", payload.error().text);
    } else if (!payload->root().is_object()) {
      refuse(Reason::InvalidPayload, "payload", "is not a JSON object");
    }
    // A payload that cannot be read is kept as far as it can be shown: the producer will want to see it.
    reading_.message.payload =
        payload ? kept(row_.payload) : fmt::format("{{\"unreadable\":{}}}", quoted(row_.payload));
    if (row_.type_data.empty()) return;
    const auto type_data = JsonDocument::parse(row_.type_data, limits);
    if (!type_data) refuse(Reason::InvalidField, "type_data", type_data.error().text);
    reading_.message.type_data = type_data ? kept(row_.type_data) : "";
  }

  static std::string quoted(std::string_view text) {
    std::string out;
    append_json_string(out, printable(excerpt(text, 2000)));
    return out;
  }

  const OutboxRow& row_;
  const bool keeps_;
  Reading reading_;
};

}  // namespace

Reading read_row(const OutboxRow& row) { return Reader{row, Texts::Kept}.read(); }

Judgement judge_row(const OutboxRow& row) {
  Reading reading = Reader{row, Texts::LeftOut}.read();
  return {reading.message.expires_at, std::move(reading.refusal)};
}

Hash128 body_hash(const OutboxRow& row) {
  // A box is another one each time it is made, and a hash of what is inside would give a short code away: only that
  // there is one counts.
  const std::string sealed = row.sealed.empty() ? "" : "sealed";
  const std::array<const std::string*, 22> fields{&row.tenant,
                                                  &row.topic,
                                                  &row.type,
                                                  &row.entity_id,
                                                  &row.version,
                                                  &row.payload,
                                                  &sealed,
                                                  &row.lane,
                                                  &row.category,
                                                  &row.locale,
                                                  &row.origin,
                                                  &row.schema_version,
                                                  &row.source_site,
                                                  &row.source_instance,
                                                  &row.source_script,
                                                  &row.type_data,
                                                  &row.channel,
                                                  &row.recipient,
                                                  &row.contact,
                                                  &row.list,
                                                  &row.subject,
                                                  &row.template_key};
  std::string all;
  constexpr std::size_t kLengths = 192;  // and short texts
  all.reserve(kLengths + row.payload.size() + row.type_data.size() + row.subject.size() + row.body.size());
  const auto add = [&](std::string_view field) {
    all += std::to_string(field.size());
    all += ':';
    all += field;
  };
  for (const std::string* field : fields) add(*field);
  add(row.body);
  // A time is the same time in whichever form it was written.
  for (const std::string* field : {&row.due_at, &row.expires_at, &row.site_enqueued_at}) {
    const auto at = field->empty() ? std::nullopt : read_row_time(*field);
    add(at ? std::to_string(to_us(*at)) : *field);
  }
  return hash128(all);
}

}  // namespace postrider
