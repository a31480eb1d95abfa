#include "api/route.h"

#include <array>

#include "api/resources.h"
#include "base/text.h"

namespace postrider {
namespace {

constexpr std::optional<Role> kNoKey = std::nullopt;
constexpr Does kReads = Does::Reads;
constexpr Does kChanges = Does::Changes;

constexpr std::array kRoutes{
    ApiRoute{"POST", "/api/v1/messages", Role::Producer, kChanges, &post_messages},
    ApiRoute{"POST", "/api/v1/cloudevents", Role::Producer, kChanges, &post_cloudevents},
    ApiRoute{"GET", "/api/v1/seal-key", Role::Producer, kReads, &get_seal_key},
    ApiRoute{"GET", "/api/v1/notifications", Role::Viewer, kReads, &list_notifications},
    ApiRoute{"GET", "/api/v1/notifications/{id}", Role::Producer, kReads, &get_notification},
    ApiRoute{"POST", "/api/v1/notifications/{id}/retry", Role::Operator, kChanges, &retry_notification},
    ApiRoute{"POST", "/api/v1/notifications/{id}/discard", Role::Operator, kChanges, &discard_notification},
    ApiRoute{"POST", "/api/v1/notifications/{id}/cancel", Role::Operator, kChanges, &cancel_notification},
    ApiRoute{"POST", "/api/v1/notifications/{id}/dispatch", Role::Operator, kChanges, &dispatch_notification},
    ApiRoute{"POST", "/api/v1/notifications/{id}/replay", Role::Operator, kChanges, &replay_notification},
    ApiRoute{"POST", "/api/v1/dispatch", Role::Operator, kChanges, &dispatch_all},
    ApiRoute{"POST", "/api/v1/entities/{id}/cancel", Role::Operator, kChanges, &cancel_entity},
    ApiRoute{"GET", "/api/v1/explain", Role::Viewer, kReads, &get_explanation},
    ApiRoute{"GET", "/api/v1/templates", Role::Viewer, kReads, &list_templates},
    ApiRoute{"POST", "/api/v1/templates", Role::Admin, kChanges, &post_template},
    ApiRoute{"GET", "/api/v1/templates/{id}", Role::Viewer, kReads, &get_template},
    ApiRoute{"PUT", "/api/v1/templates/{id}", Role::Admin, kChanges, &put_template},
    ApiRoute{"DELETE", "/api/v1/templates/{id}", Role::Admin, kChanges, &delete_template},
    ApiRoute{"POST", "/api/v1/templates/{id}/preview", Role::Viewer, kReads, &preview_template},
    ApiRoute{"POST", "/api/v1/template-preview", Role::Viewer, kReads, &preview_unsaved},
    ApiRoute{"GET", "/api/message-templates", Role::Viewer, kReads, &s0::list_message_templates},
    ApiRoute{"POST", "/api/message-templates", Role::Admin, kChanges, &s0::post_message_template},
    ApiRoute{"GET", "/api/message-templates/{id}", Role::Viewer, kReads, &s0::get_message_template},
    ApiRoute{"PUT", "/api/message-templates/{id}", Role::Admin, kChanges, &s0::put_message_template},
    ApiRoute{"DELETE", "/api/message-templates/{id}", Role::Admin, kChanges, &s0::delete_message_template},
    ApiRoute{"GET", "/api/communication-logs", Role::Viewer, kReads, &s0::list_communication_logs},
    ApiRoute{"GET", "/api/automation-schedules", Role::Viewer, kReads, &s0::list_automation_schedules},
    ApiRoute{"POST", "/api/bookings/{id}/resend-notification", Role::Operator, kChanges, &s0::resend_notification},
    ApiRoute{"GET", "/ops/outbox", Role::Operator, kReads, &s0::list_outbox},
    ApiRoute{"GET", "/api/v1/sandbox/messages", Role::Viewer, kReads, &list_sandbox},
    ApiRoute{"GET", "/api/v1/contacts", Role::Viewer, kReads, &list_contacts},
    ApiRoute{"PUT", "/api/v1/contacts", Role::Admin, kChanges, &put_contacts},
    ApiRoute{"POST", "/api/v1/contacts", Role::Admin, kChanges, &put_contacts},
    ApiRoute{"GET", "/api/v1/contacts/{id}", Role::Viewer, kReads, &get_contact},
    ApiRoute{"PUT", "/api/v1/contacts/{id}", Role::Admin, kChanges, &put_contact},
    ApiRoute{"DELETE", "/api/v1/contacts/{id}", Role::Admin, kChanges, &delete_contact},
    ApiRoute{"GET", "/api/v1/contacts/{id}/preferences", Role::Viewer, kReads, &get_preferences},
    ApiRoute{"PUT", "/api/v1/contacts/{id}/preferences", Role::Admin, kChanges, &put_preferences},
    ApiRoute{"GET", "/api/v1/lists", Role::Viewer, kReads, &list_lists},
    ApiRoute{"GET", "/api/v1/lists/{id}", Role::Viewer, kReads, &get_list},
    ApiRoute{"PUT", "/api/v1/lists/{id}", Role::Admin, kChanges, &put_list},
    ApiRoute{"DELETE", "/api/v1/lists/{id}", Role::Admin, kChanges, &delete_list},
    ApiRoute{"GET", "/api/v1/lists/{id}/members", Role::Viewer, kReads, &list_members},
    ApiRoute{"POST", "/api/v1/lists/{id}/members", Role::Admin, kChanges, &add_members},
    ApiRoute{"DELETE", "/api/v1/lists/{id}/members", Role::Admin, kChanges, &remove_members},
    ApiRoute{"GET", "/api/v1/suppressions", Role::Viewer, kReads, &list_suppressions},
    ApiRoute{"POST", "/api/v1/suppressions", Role::Operator, kChanges, &add_suppressions},
    ApiRoute{"DELETE", "/api/v1/suppressions", Role::Operator, kChanges, &remove_suppressions},
    ApiRoute{"GET", "/metrics", Role::Viewer, kReads, &get_metrics, Peers::KeyedUnlessLocal},
    ApiRoute{"GET", "/healthz", kNoKey, kReads, &get_healthz},
    ApiRoute{"GET", "/readyz", kNoKey, kReads, &get_readyz},
    ApiRoute{"GET", "/openapi.json", kNoKey, kReads, &get_openapi},
};

}  // namespace

std::span<const ApiRoute> api_routes() { return kRoutes; }

std::optional<std::string_view> fits(std::string_view pattern, std::string_view path) {
  static constexpr std::string_view kId = "{id}";
  const std::size_t at = pattern.find(kId);
  if (at == std::string_view::npos) return pattern == path ? std::optional{std::string_view{}} : std::nullopt;
  const std::string_view head = pattern.substr(0, at);
  const std::string_view tail = pattern.substr(at + kId.size());
  if (path.size() <= head.size() + tail.size() || !path.starts_with(head) || !path.ends_with(tail)) return std::nullopt;
  const std::string_view id = path.substr(head.size(), path.size() - head.size() - tail.size());
  return id.find('/') == std::string_view::npos ? std::optional{id} : std::nullopt;
}

ApiError store_failed(Worker& worker, const Error& error) {
  worker.note(error);
  return from_store(error);
}

std::variant<std::optional<TenantId>, ApiError> tenant_of(const ApiParts& parts, const Caller& caller,
                                                          const std::string* named) {
  if (named == nullptr) return caller.tenant;
  const Tenant* tenant = parts.rules.tenant(*named);
  // A key learns nothing about the names of others: known and unknown ones are refused alike.
  if (caller.tenant && (tenant == nullptr || tenant->id != *caller.tenant)) {
    return ApiError{.code = ApiErrorCode::TenantForbidden,
                    .message = "This key is for another tenant. Leave the tenant out, or use a key of that tenant.",
                    .field = "tenant"};
  }
  if (tenant == nullptr) {
    return ApiError{.code = ApiErrorCode::UnknownTenant,
                    .message = "The tenant \"" + excerpt(*named, 60) + "\" is not configured here.",
                    .field = "tenant"};
  }
  return std::optional{tenant->id};
}

}  // namespace postrider
