// The answers, one file per resource.
#pragma once
#include "api/route.h"

namespace postrider {

// messages.cc
void post_messages(const ApiParts& parts, const ApiRequest& request, const Respond& respond);
/// Judges the rows, has them made durable and answers; shared with cloudevents.cc.
enum class AnswerForm : bool { One, List };
void accept_rows(const ApiParts& parts, const ApiRequest& request, std::vector<OutboxRow> rows, AnswerForm form,
                 const Respond& respond);

// seal_key.cc
void get_seal_key(const ApiParts& parts, const ApiRequest& request, const Respond& respond);

// cloudevents.cc
void post_cloudevents(const ApiParts& parts, const ApiRequest& request, const Respond& respond);

// notifications.cc
Answered get_notification(const ApiParts& parts, Worker& worker, const ApiRequest& request);
Answered list_notifications(const ApiParts& parts, Worker& worker, const ApiRequest& request);
Answered get_explanation(const ApiParts& parts, Worker& worker, const ApiRequest& request);

// operate.cc
Answered retry_notification(const ApiParts& parts, Worker& worker, const ApiRequest& request);
Answered discard_notification(const ApiParts& parts, Worker& worker, const ApiRequest& request);
Answered cancel_notification(const ApiParts& parts, Worker& worker, const ApiRequest& request);
Answered dispatch_notification(const ApiParts& parts, Worker& worker, const ApiRequest& request);
Answered replay_notification(const ApiParts& parts, Worker& worker, const ApiRequest& request);
Answered dispatch_all(const ApiParts& parts, Worker& worker, const ApiRequest& request);
Answered cancel_entity(const ApiParts& parts, Worker& worker, const ApiRequest& request);

// templates.cc
Answered list_templates(const ApiParts& parts, Worker& worker, const ApiRequest& request);
Answered get_template(const ApiParts& parts, Worker& worker, const ApiRequest& request);
Answered post_template(const ApiParts& parts, Worker& worker, const ApiRequest& request);
Answered put_template(const ApiParts& parts, Worker& worker, const ApiRequest& request);
Answered delete_template(const ApiParts& parts, Worker& worker, const ApiRequest& request);
Answered preview_template(const ApiParts& parts, Worker& worker, const ApiRequest& request);
Answered preview_unsaved(const ApiParts& parts, Worker& worker, const ApiRequest& request);

// contacts.cc
Answered list_contacts(const ApiParts& parts, Worker& worker, const ApiRequest& request);
Answered put_contacts(const ApiParts& parts, Worker& worker, const ApiRequest& request);
Answered get_contact(const ApiParts& parts, Worker& worker, const ApiRequest& request);
Answered put_contact(const ApiParts& parts, Worker& worker, const ApiRequest& request);
Answered delete_contact(const ApiParts& parts, Worker& worker, const ApiRequest& request);
Answered get_preferences(const ApiParts& parts, Worker& worker, const ApiRequest& request);
Answered put_preferences(const ApiParts& parts, Worker& worker, const ApiRequest& request);

// lists.cc
Answered list_lists(const ApiParts& parts, Worker& worker, const ApiRequest& request);
Answered get_list(const ApiParts& parts, Worker& worker, const ApiRequest& request);
Answered put_list(const ApiParts& parts, Worker& worker, const ApiRequest& request);
Answered delete_list(const ApiParts& parts, Worker& worker, const ApiRequest& request);
Answered list_members(const ApiParts& parts, Worker& worker, const ApiRequest& request);
Answered add_members(const ApiParts& parts, Worker& worker, const ApiRequest& request);
Answered remove_members(const ApiParts& parts, Worker& worker, const ApiRequest& request);

// suppressions.cc
Answered list_suppressions(const ApiParts& parts, Worker& worker, const ApiRequest& request);
Answered add_suppressions(const ApiParts& parts, Worker& worker, const ApiRequest& request);
Answered remove_suppressions(const ApiParts& parts, Worker& worker, const ApiRequest& request);

// sandbox.cc
Answered list_sandbox(const ApiParts& parts, Worker& worker, const ApiRequest& request);

// s0/: a booking system's portal, in its own words
namespace s0 {

// s0/templates.cc
Answered list_message_templates(const ApiParts& parts, Worker& worker, const ApiRequest& request);
Answered get_message_template(const ApiParts& parts, Worker& worker, const ApiRequest& request);
Answered post_message_template(const ApiParts& parts, Worker& worker, const ApiRequest& request);
Answered put_message_template(const ApiParts& parts, Worker& worker, const ApiRequest& request);
Answered delete_message_template(const ApiParts& parts, Worker& worker, const ApiRequest& request);

// s0/communications.cc
Answered list_communication_logs(const ApiParts& parts, Worker& worker, const ApiRequest& request);
Answered list_automation_schedules(const ApiParts& parts, Worker& worker, const ApiRequest& request);

// s0/outbox.cc
Answered list_outbox(const ApiParts& parts, Worker& worker, const ApiRequest& request);

// s0/resend.cc
Answered resend_notification(const ApiParts& parts, Worker& worker, const ApiRequest& request);

}  // namespace s0

// health.cc
void get_healthz(const ApiParts& parts, const ApiRequest& request, const Respond& respond);
void get_readyz(const ApiParts& parts, const ApiRequest& request, const Respond& respond);
void get_openapi(const ApiParts& parts, const ApiRequest& request, const Respond& respond);
Answered get_metrics(const ApiParts& parts, Worker& worker, const ApiRequest& request);

}  // namespace postrider
