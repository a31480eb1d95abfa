// Telling once more what was told about an entity, as the portal's button does.
#include "pipeline/resend.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/text.h"
#include "commands.h"
#include "runtime/clock.h"

namespace postrider::app {
namespace {

std::string why_not(const NotResent& why, const ResendWish& wish) {
  const std::string_view channel = to_text(wish.channel);
  switch (why.why) {
    case NotResent::Why::NothingTold:
      return fmt::format("nothing that could be sent again is known about {}", wish.entity);
    case NotResent::Why::NoTemplate:
      return fmt::format("no template for {} by {} is active; name one, or activate one", why.type, channel);
    case NotResent::Why::UnknownTemplate:
      return fmt::format("there is no template \"{}\" for {}", wish.template_name, channel);
    case NotResent::Why::InactiveTemplate: return fmt::format("template \"{}\" is not active", wish.template_name);
    case NotResent::Why::Refused:
      if (why.refusal.reason == Reason::Expired) return "what was told has expired: it is not told again";
      return fmt::format("{} {}", why.refusal.field, why.refusal.detail);
    case NotResent::Why::Store: return why.error.text;
  }
  POSTRIDER_DIE("a cause outside its enum");
}

void print_resent(const Common& common, const Resent& resent, const ResendWish& wish) {
  const std::string id = format_uuid(resent.admitted.first);
  if (common.json) {
    JsonWriter json;
    json.begin_object().member("id", id).member("request_id", wish.request_id).member("idempotency_key", resent.key);
    json.key("resend_of");
    resent.original ? json.value(std::to_string(*resent.original)) : json.null();
    json.member("duplicate", resent.repeated());
    fmt::print("{}\n", json.end_object().take());
    return;
  }
  fmt::print("{}\n", id);
  if (resent.repeated()) fmt::print(stderr, "the same request came before; nothing new was made\n");
}

}  // namespace

int run_resend(const Common& common, const ResendOptions& options) {
  const auto channel = parse_channel(options.channel);
  if (!channel) return fail(fmt::format("\"{}\" is not a channel", options.channel));
  if (options.request_id.size() > kRequestIdBytesMax || has_control(options.request_id))
    return fail(fmt::format("--request-id must be a text of up to {} bytes on one line", kRequestIdBytesMax));
  auto v = visit(common, Ids::Needed);
  if (!v) return fail(v.error());
  const Tenant* tenant = (*v)->rules.tenant(options.tenant);
  if (tenant == nullptr) return fail(fmt::format("there is no tenant \"{}\" in the configuration", options.tenant));
  const auto now = (*v)->session->database_now();
  if (!now) return fail(now.error());
  Prng random{entropy()};
  ResendWish wish{.tenant = *tenant,
                  .entity = options.entity,
                  .channel = *channel,
                  .template_name = options.template_name,
                  .request_id = options.request_id,
                  .by = operator_of(options.why, tenant->id)};
  if (wish.request_id.empty()) wish.request_id = format_uuid(make_uuid7(*now, random.next(), random.next()));
  const auto done = resend(*(*v)->session, (*v)->rules, wish, *now, random);
  if (const auto* why = std::get_if<NotResent>(&done)) return fail(why_not(*why, wish));
  print_resent(common, std::get<Resent>(done), wish);
  return 0;
}

}  // namespace postrider::app
