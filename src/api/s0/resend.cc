// POST /api/bookings/{id}/resend-notification: the newest of what was told about a booking by a channel is told once
// more, beside the first, under a key of its own.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "api/people.h"
#include "api/resources.h"
#include "api/s0/words.h"
#include "base/limits.h"
#include "base/prng.h"
#include "base/text.h"
#include "pipeline/accept.h"

namespace postrider::s0 {
namespace {

constexpr std::size_t kRequestIdBytesMax = 100;
constexpr std::size_t kLookedAtMax = 50;  // deliveries of the booking, newest first
constexpr std::string_view kFields = "channel, templateId, requestId and reason";

/// What a body asks for.
struct Wish {
  std::optional<Channel> channel = {};
  std::string template_name = {};  // a number of the store, or a key; empty: the one that is in force
  std::string request_id = {};
  std::string why = {};
};
/// What is written with: a template of the store or of the configuration file, or the first one's own content.
struct Chosen {
  std::string name = {};         // as a message names it; empty: its own content
  std::string id_in_keys = {};   // in the delivery's key
  std::int64_t template_id = 0;  // of the store
};

ApiError wrong_field(std::string_view field, std::string_view what) {
  return wrong_item({std::string{field}, std::string{what}});
}

std::optional<ApiError> read_member(std::string_view name, JsonView value, Wish& wish) {
  if (value.kind() == JsonKind::Null) return std::nullopt;
  const bool text_or_number = value.kind() == JsonKind::Text || value.kind() == JsonKind::Number;
  const std::string text = text_or_number ? value.spoken() : "";
  const bool fits = text_or_number && text.size() <= kTextFieldBytesMax && !has_control(text);
  if (name == "channel") {
    wish.channel = fits ? channel_of(text) : std::nullopt;
    if (!wish.channel) return wrong_field("channel", fmt::format("must be one of {}", kChannelWords));
  } else if (name == "templateId") {
    if (!fits || text.empty()) return wrong_field("templateId", "must be a template's number, or its key");
    wish.template_name = text;
  } else if (name == "requestId") {
    if (!fits || text.empty() || text.size() > kRequestIdBytesMax) {
      return wrong_field("requestId", fmt::format("must be a text of 1 to {} bytes on one line", kRequestIdBytesMax));
    }
    wish.request_id = text;
  } else if (name == "reason") {
    if (!fits)
      return wrong_field("reason", fmt::format("must be a text of up to {} bytes on one line", kTextFieldBytesMax));
    wish.why = text;
  } else {
    return unknown_item_field(name, kFields);
  }
  return std::nullopt;
}

// Who repeats a request gives it a name, in the body or in the header; else it gets one, and is another each time.
std::optional<ApiError> read_request_id(const ApiRequest& request, Instant now, Wish& wish) {
  if (const std::string* header = request.in.header("idempotency-key")) {
    std::string_view key = trim(*header);
    if (key.size() >= 2 && key.front() == '"' && key.back() == '"') key = key.substr(1, key.size() - 2);
    if (key.empty() || key.size() > kRequestIdBytesMax || has_control(key) || !is_utf8(key)) {
      return ApiError{.code = ApiErrorCode::InvalidHeader,
                      .message = fmt::format("The header Idempotency-Key must have 1 to {} bytes.", kRequestIdBytesMax),
                      .field = "Idempotency-Key"};
    }
    if (!wish.request_id.empty() && wish.request_id != key) {
      return ApiError{.code = ApiErrorCode::InvalidHeader,
                      .message = "The header Idempotency-Key and requestId are not the same.",
                      .field = "Idempotency-Key"};
    }
    wish.request_id = key;
  }
  if (wish.request_id.empty()) {
    Prng random{request.draw};
    wish.request_id = format_uuid(make_uuid7(now, random.next(), random.next()));
  }
  return std::nullopt;
}

std::variant<Wish, ApiError> read_wish(const ApiRequest& request, Instant now) {
  const auto body = read_json(request.in);
  if (const auto* wrong = std::get_if<ApiError>(&body)) return *wrong;
  const JsonView root = std::get<JsonDocument>(body).root();
  if (!root.is_object()) return wrong_field("The body", "must be a JSON object");
  Wish wish;
  for (const auto& [name, value] : root.members()) {
    if (auto wrong = read_member(name, value, wish)) return std::move(*wrong);
  }
  if (!wish.channel) return wrong_field("channel", fmt::format("is missing; it is one of {}", kChannelWords));
  if (auto wrong = read_request_id(request, now, wish)) return std::move(*wrong);
  return wish;
}

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() && number > 0 ? std::optional{number} : std::nullopt;
}

/// One request's way from the booking to the message that repeats it.
class Resend {
 public:
  Resend(const ApiParts& parts, Worker& worker, StoreSession& store, const PeopleRequest& about, const Wish& wish)
      : parts_(parts), worker_(worker), store_(store), about_(about), wish_(wish) {}

  Answered run(const ApiRequest& request) {
    if (auto wrong = find_original()) return std::move(*wrong);
    auto chosen = choose();
    if (const auto* wrong = std::get_if<ApiError>(&chosen)) return *wrong;
    chosen_ = std::get<Chosen>(std::move(chosen));
    Prng random{request.draw};
    std::vector<OutboxRow> rows;
    rows.push_back(row());
    auto prepared = prepare(std::move(rows), parts_.rules, parts_.clock.now(), random);
    if (const auto* refused = std::get_if<RefusedMessage>(&prepared)) return refusal(refused->refusal);
    IntakeGroup group = std::get<IntakeGroup>(std::move(prepared));
    group.front().note = AuditNote{.by = {.actor = about_.by.actor, .why = wish_.why, .tenant = about_.tenant->id},
                                   .action = "resend",
                                   .delivery = original_.delivery->delivery.id,
                                   .detail = key()};
    const std::vector<IntakeGroup> groups{std::move(group)};
    const auto admitted = store_.accept(parts_.clock.now(), groups);
    if (!admitted) return store_failed(worker_, admitted.error());
    parts_.work_appeared({{Lane::Standard, Channel::Expand, about_.tenant->id}});
    return answer(admitted->front().front());
  }

 private:
  // Written with the template that is asked for, if there is one; else the newest by the channel. Not what was itself
  // told again: the first one stays the first.
  std::optional<ApiError> find_original() {
    auto items = store_.list({.tenant = about_.tenant->id,
                              .channel = wish_.channel,
                              .entity = about_.name,
                              .count_max = kLookedAtMax,
                              .whole = true});
    if (!items) return store_failed(worker_, items.error());
    const auto usable = [](const ListItem& item) {
      return item.delivery && item.message != nullptr && !item.message->is_resend() &&
             !(item.delivery->delivery.recipient.empty() && item.delivery->delivery.contact.empty());
    };
    const auto number = number_in(wish_.template_name);
    const auto same_template = [&](const ListItem& item) {
      if (!usable(item)) return false;
      const Delivery& d = item.delivery->delivery;
      return number ? d.template_id == *number : d.template_key == wish_.template_name;
    };
    auto found = items->end();
    if (!wish_.template_name.empty()) found = std::find_if(items->begin(), items->end(), same_template);
    if (found == items->end()) found = std::find_if(items->begin(), items->end(), usable);
    if (found == items->end()) {
      return ApiError{
          .code = ApiErrorCode::NotFound,
          .message = fmt::format("Nothing was written about this booking by {} to an address that is known.",
                                 word_of(*wish_.channel))};
    }
    original_ = std::move(*found);
    return std::nullopt;
  }

  std::variant<Chosen, ApiError> choose() {
    if (!wish_.template_name.empty()) return choose_named();
    const Delivery& d = original_.delivery->delivery;
    const Message& m = *original_.message;
    if (m.is_direct() && m.template_key.empty() && !m.body.empty()) return Chosen{.id_in_keys = "direct"};
    if (d.template_id != 0) {
      const auto stored = store_.template_version(about_.tenant->id, d.template_id, 0);
      if (stored && stored->active) return of_store(*stored);
      if (!stored && stored.error().code != ErrorCode::NotFound) return store_failed(worker_, stored.error());
    }
    auto in_force = find_stored({.type = d.type});
    if (const auto* wrong = std::get_if<ApiError>(&in_force)) return *wrong;
    if (const auto& found = std::get<std::optional<StoredTemplate>>(in_force)) return of_store(*found);
    if (const Template* of_file = find_in_file()) return Chosen{.name = of_file->key, .id_in_keys = of_file->key};
    if (d.channel == Channel::Webhook) return Chosen{.id_in_keys = "event"};  // as it was: the event itself
    return ApiError{.code = ApiErrorCode::NotApplicable,
                    .message = fmt::format("No template for {} by {} is active; name one, or activate one.", d.type,
                                           word_of(d.channel))};
  }

  std::variant<Chosen, ApiError> choose_named() {
    const auto number = number_in(wish_.template_name);
    std::optional<StoredTemplate> found;
    if (number) {
      auto stored = store_.template_version(about_.tenant->id, *number, 0);
      if (!stored && stored.error().code != ErrorCode::NotFound) return store_failed(worker_, stored.error());
      if (stored && stored->channel == wish_.channel) found = std::move(*stored);
    } else {
      auto stored = find_stored({.key = wish_.template_name});
      if (const auto* wrong = std::get_if<ApiError>(&stored)) return *wrong;
      found = std::get<std::optional<StoredTemplate>>(std::move(stored));
      const Template* of_file =
          found ? nullptr : parts_.rules.templates.by_key(about_.tenant->name, wish_.template_name, *wish_.channel, {});
      if (of_file != nullptr) return Chosen{.name = of_file->key, .id_in_keys = of_file->key};
    }
    if (!found) {
      return ApiError{.code = ApiErrorCode::NotFound,
                      .message = fmt::format("There is no such template for {}.", word_of(*wish_.channel)),
                      .field = "templateId"};
    }
    if (!found->active) {
      return ApiError{
          .code = ApiErrorCode::NotApplicable, .message = "This template is not active.", .field = "templateId"};
    }
    return of_store(*found);
  }

  static Chosen of_store(const StoredTemplate& stored) {
    return {.name = fmt::format("#{}", stored.id), .id_in_keys = std::to_string(stored.id), .template_id = stored.id};
  }

  // For all of the tenant's, not for one thing: the tenant's own before the common one.
  std::variant<std::optional<StoredTemplate>, ApiError> find_stored(TemplateFilter filter) {
    filter.tenant = about_.tenant->id;
    filter.channel = wish_.channel;
    filter.active = true;
    auto stored = store_.templates(filter);
    if (!stored) return store_failed(worker_, stored.error());
    std::optional<StoredTemplate> best;
    for (StoredTemplate& each : *stored) {
      if (each.scope_type.empty() && (!best || each.tenant != 0)) best = std::move(each);
    }
    return best;
  }

  [[nodiscard]] const Template* find_in_file() const {
    const Delivery& d = original_.delivery->delivery;
    const TemplateSet& all = parts_.rules.templates;
    if (const Template* same = all.by_key(about_.tenant->name, d.template_key, d.channel, {})) return same;
    const auto known = all.for_event(about_.tenant->name, d.type, {});
    const auto found =
        std::find_if(known.begin(), known.end(), [&](const Template* t) { return t->channel == d.channel; });
    return found == known.end() ? nullptr : *found;
  }

  [[nodiscard]] std::string key() const {
    return fmt::format("{}{}:{}:{}:{}", Message::kResendPrefix, about_.name, to_text(*wish_.channel),
                       chosen_.id_in_keys, wish_.request_id);
  }

  // What was told, to whom it was told; when is now.
  [[nodiscard]] OutboxRow row() const {
    const Message& m = *original_.message;
    const Delivery& d = original_.delivery->delivery;
    OutboxRow row;
    row.tenant = about_.tenant->name;
    row.topic = m.topic;
    row.type = m.type;
    row.entity_id = m.entity_id;
    row.version = m.version;
    row.idempotency_key = key();
    row.payload = m.payload;
    row.lane = m.lane ? to_text(*m.lane) : "";
    row.category = m.category;
    row.locale = m.locale;
    row.origin = m.origin;
    row.correlation_id = m.correlation_id;
    row.schema_version = m.schema_version;
    row.expires_at = m.expires_at ? format_instant(*m.expires_at) : "";
    row.type_data = m.type_data;
    row.channel = to_text(d.channel);
    row.recipient = d.recipient;
    row.contact = d.contact;
    row.template_key = chosen_.name;
    if (chosen_.name.empty()) {
      row.subject = m.subject;
      row.body = m.body;
    }
    return row;
  }

  static ApiError refusal(const Refusal& refused) {
    if (refused.reason == Reason::Expired) {
      return {.code = ApiErrorCode::Expired,
              .message = "What was told has expired: it is not told again.",
              .reason = std::string{code_of(refused.reason)}};
    }
    return {.code = ApiErrorCode::InvalidMessage,
            .message = fmt::format("{} {}. Nothing was stored.", refused.field, refused.detail),
            .field = refused.field,
            .reason = std::string{code_of(refused.reason)}};
  }

  // The key has everything in it that was asked for: the same one again is the same request, whatever came between.
  [[nodiscard]] HttpOut answer(const Admitted& admitted) const {
    const bool repeated = admitted.verdict != Admission::New;
    JsonWriter json;
    json.begin_object();
    json.member("id", format_uuid(admitted.first)).member("requestId", wish_.request_id);
    json.member("bookingId", about_.name).member("channel", word_of(*wish_.channel));
    json.key("templateId");
    chosen_.template_id != 0 ? json.value(chosen_.template_id) : json.null();
    json.member("idempotencyKey", key());
    json.member("resendOf", std::to_string(original_.delivery->delivery.id));
    json.member("status", "Pending").member("duplicate", repeated);
    json.end_object();
    return json_answer(json.take(), repeated ? 200 : 202);
  }

  const ApiParts& parts_;
  Worker& worker_;
  StoreSession& store_;
  const PeopleRequest& about_;
  const Wish& wish_;
  ListItem original_;
  Chosen chosen_;
};

}  // namespace

Answered resend_notification(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  const auto about = read_people_request(parts, request, {"tenant"});
  if (const auto* wrong = std::get_if<ApiError>(&about)) return *wrong;
  const auto wish = read_wish(request, parts.clock.now());
  if (const auto* wrong = std::get_if<ApiError>(&wish)) return *wrong;
  const auto session = worker.session();
  if (!session) return store_failed(worker, session.error());
  return Resend{parts, worker, **session, std::get<PeopleRequest>(about), std::get<Wish>(wish)}.run(request);
}

}  // namespace postrider::s0
