#include "pipeline/prepare.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/canary.h"
#include "base/limits.h"
#include "base/secret_text.h"
#include "base/text.h"
#include "base/wiped_json.h"
#include "core/expand.h"

namespace postrider {
namespace {

constexpr JsonLimits kLateDataLimits{.bytes_max = 4 * kPayloadBytesMax, .depth_max = kJsonDepthMax + 2};
constexpr std::size_t kSecretWordMin = 4;  // shorter ones would blacken innocent words of an answer

// What an operator had sent again is told as the event's route says.
bool goes_by_route(const Message& message) { return !message.is_direct() || message.is_resend(); }

const ContextRule* rule_of(const LateDelivery& late, const Rules& rules) {
  if (late.delivery.rendering == Rendering::Early || !goes_by_route(late.message)) return nullptr;
  const Route* route = rules.route(late.message.tenant_name, late.message.type);
  return route != nullptr && route->context ? &*route->context : nullptr;
}

std::vector<std::string> words_in(std::string_view secret) {
  std::vector<std::string> words;
  const WipedJson wiped;
  const auto document = JsonDocument::parse(secret);
  if (!document) return words;
  for (const auto& [name, value] : document->root().members()) {
    std::string word = value.spoken();
    if (word.size() >= kSecretWordMin) words.push_back(std::move(word));
  }
  return words;
}

}  // namespace

Result<Done> PrepareStage::keep_up(Instant now) {
  if (!catalog_changed_) return catalog_.refresh_if_due(parts_.store, now);
  POSTRIDER_TRY_DONE(catalog_.refresh(parts_.store));
  catalog_changed_ = false;
  return Done{};
}

std::vector<LateAnswer> PrepareStage::turn(Instant now, const std::vector<LateJob>& jobs) {
  std::vector<LateAnswer> answers;
  const auto all_not_now = [&](const Error& error) {
    for (const LateJob& job : jobs) {
      LateAnswer& answer = answers.emplace_back();
      answer.id = job.id;
      answer.what = NotNow{Reason::ContextFailed, error.text};
    }
    return answers;
  };
  if (const auto kept = keep_up(now); !kept) return all_not_now(kept.error());
  std::vector<RowId> ids;
  for (const LateJob& job : jobs) ids.push_back(job.delivery);
  auto found = parts_.store.late_deliveries(ids);
  if (!found) return all_not_now(found.error());
  std::vector<ContactRef> refs;
  for (const LateDelivery& each : *found) {
    if (!each.delivery.contact.empty()) refs.push_back({each.delivery.tenant, each.delivery.contact});
  }
  std::sort(refs.begin(), refs.end());
  refs.erase(std::unique(refs.begin(), refs.end()), refs.end());
  People people;
  if (!refs.empty()) {
    auto contacts = parts_.store.find_contacts(refs);
    if (!contacts) return all_not_now(contacts.error());
    for (Contact& contact : *contacts) people.add(std::move(contact));
  }
  const std::vector<ContextRecord> records = records_of(*found);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const std::size_t whose = canary("mixed_texts") ? jobs.size() - 1 - i : i;
    answers.push_back({jobs[i].id, prepare((*found)[whose], records[whose], people)});
  }
  return answers;
}

// One question for all that one query answers.
std::vector<ContextRecord> PrepareStage::records_of(const std::vector<LateDelivery>& all) {
  std::vector<ContextRecord> records(all.size(), std::string{});
  std::map<const ContextRule*, std::vector<std::size_t>> by_rule;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (const ContextRule* rule = rule_of(all[i], parts_.rules)) by_rule[rule].push_back(i);
  }
  for (const auto& [rule, places] : by_rule) {
    std::vector<ContextAsk> asks;
    for (const std::size_t i : places) {
      asks.push_back({all[i].message.tenant_name, all[i].message.entity_id, all[i].message.payload});
    }
    auto loaded = parts_.context != nullptr
                      ? parts_.context->load(*rule, asks)
                      : std::vector<ContextRecord>(asks.size(), RecordFailed{.text = "no database"});
    for (std::size_t i = 0; i < places.size(); ++i) records[places[i]] = std::move(loaded[i]);
  }
  return records;
}

// What an operator can mend (a template, a query, a tenant that is configured again) is parked: it can be retried. What
// the application has taken back (no record, a condition) has ended.
PrepareStage::Answer PrepareStage::prepare(const LateDelivery& late, const ContextRecord& record,
                                           const People& people) {
  if (const auto* failed = std::get_if<RecordFailed>(&record)) {
    if (!failed->lasting) return NotNow{Reason::ContextFailed, failed->text};
    return NotToBeSent{DeliveryState::Parked, Reason::ContextFailed, failed->text};  // for an operator to try again
  }
  if (std::holds_alternative<ManyRecords>(record)) {
    return NotToBeSent{DeliveryState::Parked, Reason::ContextAmbiguous,
                       fmt::format("more than one record of \"{}\"", late.message.entity_id)};
  }
  if (std::holds_alternative<NoRecord>(record)) {
    return NotToBeSent{DeliveryState::Suppressed, Reason::MissingData,
                       fmt::format("no record of \"{}\"", late.message.entity_id)};
  }
  const Contact* contact =
      late.delivery.contact.empty() ? nullptr : people.contact(late.delivery.tenant, late.delivery.contact);
  return write(late, std::get<std::string>(record), contact);
}

PrepareStage::Answer PrepareStage::write(const LateDelivery& late, std::string_view record, const Contact* contact) {
  const Delivery& d = late.delivery;
  const Message& m = late.message;
  // It was written long ago; only the message's key was asked for.
  if (d.rendering == Rendering::Early)
    return LateText{{d.subject, d.body, d.html, d.warnings}, d.template_version, {}, false, m.idempotency_key};
  const Rules& rules = parts_.rules;
  const Tenant* tenant = rules.tenant(d.tenant);
  if (tenant == nullptr) return NotToBeSent{DeliveryState::Parked, Reason::UnknownTenant, m.tenant_name};
  const Route* route = rules.route(m.tenant_name, m.type);
  const TemplateSet& templates = catalog_.templates();
  const Template* content = d.template_id != 0 ? templates.by_id(d.template_id)
                                               : templates.by_key(m.tenant_name, d.template_key, d.channel, {});
  if (content == nullptr) {
    return NotToBeSent{DeliveryState::Parked, Reason::TemplateNotFound,
                       fmt::format("template \"{}\" is gone", d.template_key)};
  }
  std::string secret;
  const SecretUse use = templates.secret_use(*content, tenant->name, d.locale);
  if (use == SecretUse::Certain || (use == SecretUse::Perhaps && !m.sealed.empty())) {
    auto opened = m.sealed.empty() || parts_.secrets == nullptr
                      ? Result<std::string>{Error{ErrorCode::NotFound, "there is none, or no key for it"}}
                      : parts_.secrets->open(m.sealed);
    // Parked: the box stays, for an operator who brings the key.
    if (!opened) return NotToBeSent{DeliveryState::Parked, Reason::SecretMissing, opened.error().text};
    secret = std::move(*opened);
  }
  std::string known = contact != nullptr ? contact_data(*contact) : "";
  std::string data = merged_data({.payload = m.payload, .record = record, .contact = known, .secret = secret});
  Answer answer = NotNow{};
  {
    std::optional<WipedJson> wiped;
    if (!secret.empty()) wiped.emplace();
    const auto document = JsonDocument::parse(data, kLateDataLimits);
    if (!document) {
      answer = NotToBeSent{DeliveryState::Parked, Reason::InvalidPayload, "the data cannot be read"};
    } else if (auto because = route != nullptr && goes_by_route(m) && !canary("late_cancel_ignored")
                                  ? cancelled_because(route->cancel_when, document->root())
                                  : std::nullopt) {
      answer = NotToBeSent{DeliveryState::Cancelled, Reason::CancelledByCondition, std::move(*because)};
    } else {
      const std::string_view zone = contact != nullptr ? contact->timezone : std::string_view{};
      auto written =
          write_content(*content, document->root(), {rules, templates, *tenant, route, d.channel, d.locale, zone});
      if (auto* refused = std::get_if<Unwritable>(&written)) {
        answer =
            NotToBeSent{DeliveryState::Parked, refused->reason, printable(excerpt(refused->detail, kExcerptBytesMax))};
      } else {
        answer = LateText{std::get<Content>(std::move(written)), content->version, words_in(secret), secret.empty(),
                          m.idempotency_key};
      }
    }
  }
  wipe(data);
  wipe(secret);
  return answer;
}

}  // namespace postrider
