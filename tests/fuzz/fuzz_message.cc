// A message, as JSON from the API or as a row of the outbox: what is accepted is read again and comes out equal, what
// is refused can still be stored and shown, and every delivery made of it can be put on the wire or says why not.
#include <algorithm>

#include "api/message_reader.h"
#include "base/prng.h"
#include "fuzz/input.h"
#include "fuzz/messages.h"
#include "pipeline/accept.h"
#include "pipeline/dispatch.h"
#include "providers/registry.h"
#include "transport/http_request.h"
#include "transport/smtp_text.h"

namespace postrider {
namespace {

const Rules& rules() {
  static const Rules kRules = fuzz::make_rules();
  return kRules;
}

std::vector<OutboxRow> read(std::string_view json) {
  auto body = read_body(json);
  if (const auto* wrong = std::get_if<ApiError>(&body)) {
    POSTRIDER_CHECK(JsonDocument::parse(to_answer(*wrong).body));
    return {};
  }
  auto rows = read_messages(std::get<JsonDocument>(body).root());
  if (const auto* wrong = std::get_if<ApiError>(&rows)) {
    POSTRIDER_CHECK(JsonDocument::parse(to_answer(*wrong).body));
    return {};
  }
  return std::get<std::vector<OutboxRow>>(std::move(rows));
}

void check_on_the_wire(const Delivery& d) {
  static const auto mail =
      find_adapter("smtp")->make({.name = "mail", .values = {{"from", "Shop <shop@example.org>"}}}).value();
  static const auto hook = find_adapter("webhook")->make({.name = "hook"}).value();
  const std::string key = provider_key(d, "provider");
  if (d.channel == Channel::Email) {
    const auto request = std::get<MailRequest>(mail->compose(d, key, fuzz::kNow));
    POSTRIDER_CHECK(net::check_mail(request));  // An address that passed at the door must not fail at the wire.
  } else if (d.channel == Channel::Webhook) {
    const auto request = std::get<HttpRequest>(hook->compose(d, key, fuzz::kNow));
    const auto url = net::parse_url(request.url);
    if (url) POSTRIDER_CHECK(net::compose_head(request, *url));
  }
}

void check_expansion(Message message, bool refused) {
  const Tenant* tenant = rules().tenant(message.tenant_name);
  if (tenant != nullptr) message.tenant = tenant->id;
  message.accepted_at = fuzz::kNow;
  const Expansion all = expand(message, rules(), fuzz::kNow, {0, kDeliveriesPerExpansionMax});
  POSTRIDER_CHECK(fuzz::is_storable(all.detail) && all.deliveries.size() <= kDeliveriesPerExpansionMax);
  if (tenant == nullptr) POSTRIDER_CHECK(all.state == MessageState::Failed && all.reason == Reason::UnknownTenant);
  std::vector<std::string> keys;
  for (const NewDelivery& made : all.deliveries) {
    const Delivery& d = made.delivery;
    for (const std::string* text : {&d.type, &d.origin, &d.traceparent, &d.recipient, &d.key, &d.template_key,
                                    &d.subject, &d.body, &d.html, &d.warnings, &made.placement.detail}) {
      POSTRIDER_CHECK(fuzz::is_storable(*text));
    }
    POSTRIDER_CHECK(!has_control(d.subject));
    keys.push_back(d.key);
    if (made.placement.state == DeliveryState::Suppressed) continue;
    POSTRIDER_CHECK(address_problem(d.channel, d.recipient).empty());
    if (!refused) check_on_the_wire(d);
  }
  std::sort(keys.begin(), keys.end());
  POSTRIDER_CHECK(std::adjacent_find(keys.begin(), keys.end()) == keys.end());
  // In chunks it is the same.
  const Expansion tail = expand(message, rules(), fuzz::kNow, {1, kDeliveriesPerExpansionMax});
  const bool whole = !all.deliveries.empty() && all.deliveries.size() < kDeliveriesPerExpansionMax;
  if (whole) POSTRIDER_CHECK(tail.deliveries.size() + 1 == all.deliveries.size());
}

void check_row(const OutboxRow& row) {
  const Reading reading = read_row(row);
  fuzz::check_storable(reading.message);
  if (reading.refusal) POSTRIDER_CHECK(fuzz::is_storable(reading.refusal->detail));
  POSTRIDER_CHECK(body_hash(row) == body_hash(OutboxRow{row}));
  check_expansion(reading.message, reading.refusal.has_value());
}

void check_accepted(const std::vector<OutboxRow>& rows) {
  Prng random{1};
  const auto prepared = prepare(rows, rules(), fuzz::kNow, random);
  const auto* group = std::get_if<IntakeGroup>(&prepared);
  if (group == nullptr) return;
  POSTRIDER_CHECK(group->size() == rows.size());
  std::string all = "[";
  for (const NewMessage& message : *group) {
    POSTRIDER_CHECK(!read_row(message.row).refusal && parse_uuid(message.row.id) == message.candidate.uuid);
    all += (all.size() > 1 ? "," : "") + fuzz::as_json(message.row);
  }
  const std::vector<OutboxRow> again = read(all + "]");
  POSTRIDER_CHECK(again.size() == group->size());
  for (std::size_t i = 0; i < again.size(); ++i) {
    POSTRIDER_CHECK(fuzz::is_same(again[i], (*group)[i].row));
    const NewMessage& made = (*group)[i];
    // What waits without an entry is compared by its row, what has one by what was kept there.
    POSTRIDER_CHECK(body_hash(again[i]) == body_hash(made.row));
    POSTRIDER_CHECK(made.candidate.fresh == rows[i].id.empty() &&
                    (!made.candidate.fresh || is_checked(made.candidate.uuid)));
    if (!made.candidate.repeats_nothing()) POSTRIDER_CHECK(body_hash(again[i]) == made.candidate.body);
  }
}

// "{" or "[": as the API reads it. Otherwise the columns of a row, one after the other.
void run(fuzz::Input input) {
  const std::string_view bytes = input.rest();
  if (bytes.starts_with('{') || bytes.starts_with('[')) {
    std::vector<OutboxRow> rows = read(bytes);
    for (OutboxRow& row : rows) {
      if (row.tenant.empty()) row.tenant = "default";
      check_row(row);
    }
    if (!rows.empty()) check_accepted(rows);
    return;
  }
  input.byte();
  OutboxRow row;
  for (const char* first : {"type", "payload", "channel", "recipient", "subject", "body", "due_at", "expires_at"}) {
    for (const auto& [name, place] : fuzz::kColumns) {
      if (std::string_view{name} == first) row.*place = input.field();
    }
  }
  for (const auto& [name, place] : fuzz::kColumns) {
    if (!input.rest().empty() && (row.*place).empty()) row.*place = input.field();
  }
  check_row(row);
}

}  // namespace
}  // namespace postrider

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  postrider::run({data, size});
  return 0;
}
