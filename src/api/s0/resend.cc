// POST /api/bookings/{id}/resend-notification: the newest of what was told about a booking by a channel is told once
// more, beside the first, under a key of its own.
#include "pipeline/resend.h"

#include <fmt/format.h>

#include "api/people.h"
#include "api/resources.h"
#include "api/s0/words.h"
#include "base/limits.h"
#include "base/prng.h"
#include "base/text.h"

namespace postrider::s0 {
namespace {

constexpr std::string_view kFields = "channel, templateId, requestId and reason";

/// What a body asks for.
struct Wish {
  std::optional<Channel> channel = {};
  std::string template_name = {};  // a number of the store, or a key; empty: the one that is in force
  std::string request_id = {};
  std::string why = {};
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

ApiError refusal(const Refusal& refused) {
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

ApiError not_resent(Worker& worker, const NotResent& why, Channel channel) {
  switch (why.why) {
    case NotResent::Why::NothingTold:
      return {.code = ApiErrorCode::NotFound,
              .message = "Nothing that could be sent again is known about this booking."};
    case NotResent::Why::NoTemplate:
      return {.code = ApiErrorCode::NotApplicable,
              .message = fmt::format("No template for {} by {} is active; name one, or activate one.", why.type,
                                     word_of(channel))};
    case NotResent::Why::UnknownTemplate:
      return {.code = ApiErrorCode::NotFound,
              .message = fmt::format("There is no such template for {}.", word_of(channel)),
              .field = "templateId"};
    case NotResent::Why::InactiveTemplate:
      return {.code = ApiErrorCode::NotApplicable, .message = "This template is not active.", .field = "templateId"};
    case NotResent::Why::Refused: return refusal(why.refusal);
    case NotResent::Why::Store: return store_failed(worker, why.error);
  }
  POSTRIDER_DIE("a cause outside its enum");
}

HttpOut resent_answer(const Resent& resent, const ResendWish& wish) {
  JsonWriter json;
  json.begin_object();
  json.member("id", format_uuid(resent.admitted.first)).member("requestId", wish.request_id);
  json.member("bookingId", wish.entity).member("channel", word_of(wish.channel));
  json.key("templateId");
  resent.template_id != 0 ? json.value(resent.template_id) : json.null();
  json.member("idempotencyKey", resent.key);
  text_or_null(json, "resendOf", resent.original ? std::to_string(*resent.original) : "");
  json.member("status", "Pending").member("duplicate", resent.repeated());
  json.end_object();
  return json_answer(json.take(), resent.repeated() ? 200 : 202);
}

}  // namespace

Answered resend_notification(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  const auto about = read_people_request(parts, request, {"tenant"});
  if (const auto* wrong = std::get_if<ApiError>(&about)) return *wrong;
  const auto wish = read_wish(request, parts.clock.now());
  if (const auto* wrong = std::get_if<ApiError>(&wish)) return *wrong;
  const auto session = worker.session();
  if (!session) return store_failed(worker, session.error());
  const auto& who = std::get<PeopleRequest>(about);
  const auto& asked = std::get<Wish>(wish);
  const ResendWish wanted{.tenant = *who.tenant,
                          .entity = who.name,
                          .channel = *asked.channel,
                          .template_name = asked.template_name,
                          .request_id = asked.request_id,
                          .by = {.actor = who.by.actor, .why = asked.why, .tenant = who.tenant->id}};
  Prng random{request.draw};
  const auto done = resend(**session, parts.rules, wanted, parts.clock.now(), random);
  if (const auto* why = std::get_if<NotResent>(&done)) return not_resent(worker, *why, wanted.channel);
  parts.work_appeared({{Lane::Standard, Channel::Expand, who.tenant->id}});
  return resent_answer(std::get<Resent>(done), wanted);
}

}  // namespace postrider::s0
