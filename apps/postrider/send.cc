#include <fmt/format.h>

#include "base/json.h"
#include "commands.h"
#include "pipeline/accept.h"
#include "runtime/clock.h"

namespace postrider::app {

int run_send(const Common& common, const SendOptions& options) {
  OutboxRow row;
  row.tenant = options.tenant;
  row.type = options.type;
  row.payload = options.payload;
  if (!options.payload_file.empty()) {
    auto text = read_file(options.payload_file == "-" ? "/dev/stdin" : options.payload_file);
    if (!text) return fail(text.error());
    row.payload = std::move(*text);
  }
  row.entity_id = options.entity_id;
  row.version = options.version;
  row.idempotency_key = options.key;
  row.lane = options.lane;
  row.channel = options.channel;
  row.recipient = options.to;
  row.contact = options.contact;
  row.list = options.list;
  row.category = options.category;
  row.subject = options.subject;
  row.body = options.body;
  row.template_key = options.template_key;
  row.due_at = options.due_at;
  row.expires_at = options.expires_at;
  auto v = visit(common, Ids::Needed);
  if (!v) return fail(v.error());
  auto now = (*v)->session->database_now();
  if (!now) return fail(now.error());
  Prng random{entropy()};
  auto prepared = prepare({std::move(row)}, (*v)->rules, *now, random);
  if (const auto* refused = std::get_if<RefusedMessage>(&prepared)) {
    return fail(fmt::format("{} {}", refused->refusal.field, refused->refusal.detail));
  }
  const std::vector<IntakeGroup> groups{std::move(std::get<IntakeGroup>(prepared))};
  auto admitted = (*v)->session->accept(*now, groups);
  if (!admitted) return fail(admitted.error());
  const Admitted& verdict = admitted->front().front();
  const std::string id = format_uuid(verdict.first);
  if (verdict.verdict == Admission::KeyReused)
    return fail(fmt::format("this idempotency key was used for another message, {}", id));
  const bool duplicate = verdict.verdict == Admission::Duplicate;
  if (common.json) {
    fmt::print("{}\n", JsonWriter{}.begin_object().member("id", id).member("duplicate", duplicate).end_object().take());
  } else {
    fmt::print("{}\n", id);
    if (duplicate) fmt::print(stderr, "the same message came before; nothing new was made\n");
  }
  return 0;
}

}  // namespace postrider::app
