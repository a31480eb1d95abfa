#include "core/expand.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/check.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/text.h"
#include "core/content.h"
#include "core/scopes.h"

namespace postrider {
namespace {

constexpr std::string_view kBuiltInWebhookTemplate =
    "event";  // posts the event itself where no template says otherwise
constexpr JsonLimits kDataLimits{.bytes_max = 4 * kPayloadBytesMax, .depth_max = kJsonDepthMax + 2};
constexpr std::string_view kTooMuchData = "payload, record and contact together cannot be read";

// One thing to make: a template (or the message's own content) for one recipient.
struct Plan {
  const Template* content = nullptr;  // null: the message's own content, or the built-in webhook body
  Channel channel = Channel::Email;
  std::string recipient = {};
  bool recipient_in_key = false;
  const Contact* contact = nullptr;  // whose address, language and wishes
  std::string gone = {};             // the key of a member that was a contact when the list was looked at
};

// Quiet hours are for people; a program does not sleep.
bool reaches_a_person(Channel channel) {
  switch (channel) {
    case Channel::Email:
    case Channel::Sms:
    case Channel::WhatsApp:
    case Channel::Push:
    case Channel::InApp: return true;
    case Channel::Webhook:
    case Channel::Teams:
    case Channel::Slack:
    case Channel::Expand: return false;
  }
  POSTRIDER_DIE("a Channel outside its enum");
}

/// When the route says that an event is due, or what is wrong with the date that it names.
struct ByDate {
  Instant at = {};
  std::string wrong = {};
};
ByDate by_date(const Route& route, const Tenant& tenant, const Zones* zones, JsonView data) {
  const auto wrong = [&](std::string_view what) {
    return ByDate{.wrong = fmt::format("{} {}", route.schedule.field, what)};
  };
  const auto value = find_field(data, route.schedule.field);
  if (!value) return wrong("is missing");
  const auto written = parse_written_time(value->spoken());
  if (!written) return wrong(fmt::format("is \"{}\"", printable(excerpt(value->spoken(), kTextFieldBytesMax))));
  Instant at = instant_from_us(written->us);
  if (written->form != WrittenTime::Form::Moment && zones != nullptr) {
    at = zones->moment_of(written->us, tenant.writing.timezone).value_or(at);
  }
  at += route.schedule.offset;
  if (at < Instant{} || at > kLastInstant) return wrong("leaves the calendar");
  return {.at = at};
}

class Expander {
 public:
  Expander(const Message& message, const ExpandWith& with)
      : message_(message), with_(with), rules_(with.rules), now_(with.now) {}

  Expansion run(ExpandRange range) {
    tenant_ = rules_.tenant(message_.tenant);
    if (tenant_ == nullptr) return fail(Reason::UnknownTenant, fmt::format("tenant \"{}\"", message_.tenant_name));
    auto payload = JsonDocument::parse(message_.payload, {.bytes_max = kPayloadBytesMax, .depth_max = kJsonDepthMax});
    if (!payload) return fail(Reason::InvalidPayload, payload.error().text);
    data_ = payload->root();
    route_ = rules_.route(message_.tenant_name, message_.type);
    std::optional<JsonDocument> merged;
    if (!with_.record.empty()) {
      merged = merge({.payload = message_.payload, .record = with_.record});
      if (!merged) return fail(Reason::InvalidPayload, std::string{kTooMuchData});
      data_ = merged->root();
    }
    if (auto refused = judge_event()) return std::move(*refused);
    if (auto refused = message_.is_direct() ? plan_direct() : plan_event()) return std::move(*refused);
    Expansion out;
    out.recipients_total = plans_.size();
    const std::size_t end = std::min(plans_.size(), range.from + range.count);
    for (std::size_t i = range.from; i < end; ++i) out.deliveries.push_back(make(plans_[i]));
    if (message_.is_resend()) out.reason = Reason::ResentByOperator;
    const bool all = range.from == 0 && end == plans_.size() && (!with_.members || with_.members_are_all);
    if (all) conclude(out);
    return out;
  }

 private:
  static Expansion fail(Reason reason, std::string detail) {
    return {.state = reason == Reason::NoRoute ? MessageState::Ignored : MessageState::Failed,
            .reason = reason,
            .detail = std::move(detail)};
  }

  static std::optional<JsonDocument> merge(const TemplateData& parts) {
    auto parsed = JsonDocument::parse(merged_data(parts), kDataLimits);
    if (!parsed) return std::nullopt;
    return std::move(*parsed);
  }

  // What the event itself says about whether and when.
  std::optional<Expansion> judge_event() {
    due_at_ = message_.due_at;
    if (route_ == nullptr || (message_.is_direct() && !message_.is_resend())) return std::nullopt;
    if (route_->context && with_.record.empty()) {
      return fail(Reason::MissingData, fmt::format("no record of \"{}\"", message_.entity_id));
    }
    if (auto because = cancelled_because(route_->cancel_when, data_)) {
      return Expansion{
          .state = MessageState::Cancelled, .reason = Reason::CancelledByCondition, .detail = std::move(*because)};
    }
    for (const ScopeSource& source : route_->scopes) {
      const auto value = find_field(data_, source.field);
      if (value) scopes_.emplace_back(source.type, value->spoken());
    }
    const bool now = due_at_ || message_.is_resend() || route_->schedule.field.empty();
    return now ? std::nullopt : schedule();
  }

  std::optional<Expansion> schedule() {
    ByDate due = by_date(*route_, *tenant_, rules_.zones, data_);
    if (!due.wrong.empty()) return fail(Reason::InvalidSchedule, std::move(due.wrong));
    due_at_ = due.at;
    return std::nullopt;
  }

  std::optional<Expansion> plan_direct() {
    const Channel channel = *message_.channel;
    const Template* content = nullptr;
    if (!message_.template_key.empty()) {
      content = named_template(channel);
      if (content == nullptr) {
        return fail(Reason::TemplateNotFound,
                    fmt::format("template \"{}\" for {}", message_.template_key, to_text(channel)));
      }
    } else if (message_.body.empty() && channel != Channel::Webhook) {
      return fail(Reason::NoContent, fmt::format("no body and no template for {}", to_text(channel)));
    }
    if (auto refused = find_contact(message_.is_resend() ? contact_key() : message_.contact)) return refused;
    if (with_.members) return plan_members(content, channel);
    std::string recipient = message_.recipient;
    if (recipient.empty() && contact_ != nullptr) recipient = contact_->address(channel);
    if (recipient.empty() && contact_ == nullptr) {
      recipient = message_.is_resend() ? routed_recipient(channel) : fixed_recipient(channel);
    }
    plans_.push_back({content, channel, std::move(recipient), false, contact_});
    return std::nullopt;
  }

  // Of an event that is told by a channel for the first time because somebody asks for it.
  [[nodiscard]] std::string routed_recipient(Channel channel) const {
    const RecipientSource* source = source_for(channel);
    const auto value =
        find_field(data_, source != nullptr ? std::string_view{source->field} : default_recipient_field(channel));
    return value ? address_in(*value) : fixed_recipient(channel);
  }

  // By its key, or, as "#7", by the number that the store gave it.
  [[nodiscard]] const Template* named_template(Channel channel) const {
    const std::string& name = message_.template_key;
    const Template* found = with_.templates.by_key(message_.tenant_name, name, channel, scopes_);
    if (found != nullptr || !name.starts_with('#')) return found;
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), number);
    if (error != std::errc{} || end != name.data() + name.size()) return nullptr;
    found = with_.templates.by_id(number);
    const bool fits = found != nullptr && found->active && found->channel == channel &&
                      (found->tenant.empty() || found->tenant == message_.tenant_name);
    return fits ? found : nullptr;
  }

  std::optional<Expansion> plan_event() {
    const auto templates = with_.templates.for_event(message_.tenant_name, message_.type, scopes_);
    if (route_ == nullptr && templates.empty()) return fail(Reason::NoRoute, fmt::format("type \"{}\"", message_.type));
    if (auto refused = find_contact(contact_key())) return refused;
    bool written = false;  // Something is to be written, to whomever.
    for (const Template* content : templates) {
      const RecipientSource* source = source_for(content->channel);
      // A route that lists its recipients says which channels it uses; a template for another one is not for this
      // route.
      if (source == nullptr && route_ != nullptr && !route_->recipients.empty()) continue;
      written = true;
      if (auto refused = plan_recipients(content, content->channel, source)) return refused;
    }
    if (const RecipientSource* hook = source_for(Channel::Webhook); hook != nullptr || wants_fixed_webhook()) {
      const bool has_template = std::any_of(templates.begin(), templates.end(),
                                            [](const Template* t) { return t->channel == Channel::Webhook; });
      if (!has_template) {
        written = true;
        if (auto refused = plan_recipients(nullptr, Channel::Webhook, hook)) return refused;
      }
    }
    if (!written) return fail(Reason::TemplateNotFound, fmt::format("type \"{}\"", message_.type));
    return std::nullopt;
  }

  [[nodiscard]] std::string contact_key() const {
    if (!message_.contact.empty() || route_ == nullptr || route_->contact_field.empty()) return message_.contact;
    const auto value = find_field(data_, route_->contact_field);
    return value ? value->spoken() : "";
  }

  // Who is named but not known stops the message, unless an address is given anyway.
  std::optional<Expansion> find_contact(const std::string& key) {
    if (key.empty()) return std::nullopt;
    contact_ = with_.people.contact(message_.tenant, key);
    if (contact_ != nullptr || !message_.recipient.empty()) return std::nullopt;
    return fail(Reason::UnknownContact, fmt::format("contact \"{}\"", printable(excerpt(key, kTextFieldBytesMax))));
  }

  [[nodiscard]] const RecipientSource* source_for(Channel channel) const {
    if (route_ == nullptr) return nullptr;
    const auto found = std::find_if(route_->recipients.begin(), route_->recipients.end(),
                                    [&](const RecipientSource& s) { return s.channel == channel; });
    return found == route_->recipients.end() ? nullptr : &*found;
  }
  [[nodiscard]] bool wants_fixed_webhook() const {
    return route_ != nullptr && route_->recipients.empty() && !fixed_recipient(Channel::Webhook).empty();
  }
  [[nodiscard]] std::string fixed_recipient(Channel channel) const {
    const ProviderRule* provider = rules_.first_provider(*tenant_, channel);
    return provider == nullptr ? "" : provider->fixed_recipient;
  }

  std::optional<Expansion> plan_recipients(const Template* content, Channel channel, const RecipientSource* source) {
    if (!message_.recipient.empty()) {
      plans_.push_back({content, channel, message_.recipient, false, contact_});
      return std::nullopt;
    }
    std::string fixed = fixed_recipient(channel);
    if (contact_ != nullptr && reaches_a_person(channel)) {
      plans_.push_back({content, channel, std::string{contact_->address(channel)}, false, contact_});
      return std::nullopt;
    }
    if (with_.members && reaches_a_person(channel)) return plan_members(content, channel);
    const std::string_view field =
        source != nullptr ? std::string_view{source->field} : default_recipient_field(channel);
    // A configured URL yields only to a field that a route names: no payload sends an event elsewhere by chance.
    const bool looks = !field.empty() && (source != nullptr || fixed.empty());
    const auto value = looks ? find_field(data_, field) : std::nullopt;
    if (value && value->is_array()) return plan_array(content, channel, *value);
    const bool in_key = source != nullptr && source->shape == RecipientShape::Array;
    plans_.push_back({content, channel, value ? address_in(*value) : std::move(fixed), in_key});
    return std::nullopt;
  }

  // It may become part of a key, and PostgreSQL cannot keep a NUL. No address has either byte, so it is suppressed
  // later.
  static std::string address_in(JsonView value) {
    std::string text = value.spoken();
    std::replace(text.begin(), text.end(), '\0', '\x01');
    return text;
  }

  std::optional<Expansion> plan_array(const Template* content, Channel channel, JsonView array) {
    const auto items = array.items();
    if (items.size() > kRecipientsMax) {
      return fail(Reason::TooManyRecipients, fmt::format("{} recipients, at most {}", items.size(), kRecipientsMax));
    }
    std::set<std::string> seen;  // A member named twice gets one delivery.
    for (const JsonView& item : items) {
      std::string recipient = address_in(item);
      if (seen.insert(recipient).second) plans_.push_back({content, channel, std::move(recipient), true});
    }
    if (items.empty()) plans_.push_back({content, channel, "", true});
    return std::nullopt;
  }

  std::optional<Expansion> plan_members(const Template* content, Channel channel) {
    for (const ListMember& member : *with_.members) {
      if (member.contact.empty()) {
        if (member.channel == channel) plans_.push_back({content, channel, member.address, true});
        continue;
      }
      const Contact* contact = with_.people.contact(message_.tenant, member.contact);
      const std::string_view address = contact != nullptr ? contact->address(channel) : std::string_view{};
      plans_.push_back(
          {content, channel, std::string{address}, true, contact, contact != nullptr ? std::string{} : member.contact});
    }
    return std::nullopt;
  }

  NewDelivery make(const Plan& plan) {
    NewDelivery made;
    Delivery& d = made.delivery;
    d.message = message_.id;
    d.message_uuid = message_.uuid;
    d.tenant = message_.tenant;
    d.channel = plan.channel;
    d.lane = message_.lane.value_or(route_ != nullptr ? route_->lane.value_or(Lane::Standard) : Lane::Standard);
    d.guarantee = route_ != nullptr ? route_->guarantee : Guarantee::AtLeastOnce;
    d.type = message_.type;
    d.origin = message_.origin;
    d.traceparent = message_.traceparent;
    d.recipient = plan.recipient;
    d.expires_at = message_.expires_at;
    d.category = !message_.category.empty() || route_ == nullptr ? message_.category : route_->category;
    d.contact = plan.contact != nullptr ? plan.contact->key : plan.gone;
    d.template_key = plan.content != nullptr ? plan.content->key
                                             : std::string{message_.is_direct() ? "direct" : kBuiltInWebhookTemplate};
    d.template_version = plan.content != nullptr ? plan.content->version : 0;
    d.template_id = plan.content != nullptr ? plan.content->id : 0;
    // Two on a list may share an address: they get one delivery, and only the key can tell over all chunks.
    made.key_is_own = (message_.is_direct() || message_.entity_id.empty()) && !message_.is_resend() && !with_.members;
    const std::string who = plan.recipient.empty() ? d.contact
                            : with_.members        ? comparable_address(plan.channel, plan.recipient)
                                                   : plan.recipient;
    d.key = delivery_key(message_, plan.channel, plan.content != nullptr ? plan.content->id_in_keys() : d.template_key,
                         plan.recipient_in_key ? who : "");
    place(made, plan);
    if (made.placement.state != DeliveryState::Suppressed) fill(made, plan);
    return made;
  }

  void place(NewDelivery& made, const Plan& plan) const {
    Delivery& d = made.delivery;
    if (const std::string_view problem = address_problem(d.channel, d.recipient); !problem.empty()) {
      made.placement = {DeliveryState::Suppressed, Reason::NoRecipient, no_recipient(d, plan, problem)};
      made.delivery.recipient = printable(excerpt(d.recipient, kTextFieldBytesMax));
      return;
    }
    if (plan.contact != nullptr) {
      if (const Preference* wish =
              forbidding(plan.contact->preferences, d.channel, d.category, tenant_->exempt_categories)) {
        made.placement = {DeliveryState::Suppressed, Reason::OptedOut, words_of(*wish, plan.contact->key)};
        return;
      }
    }
    if (d.expires_at && *d.expires_at <= now_) {
      made.placement = {DeliveryState::Expired, Reason::Expired, "it had expired when it was expanded"};
      return;
    }
    place_in_time(made, plan);
  }

  static std::string no_recipient(const Delivery& d, const Plan& plan, std::string_view problem) {
    if (!d.recipient.empty()) return fmt::format("the {} address {}", to_text(d.channel), problem);
    if (!plan.gone.empty()) return fmt::format("contact \"{}\" was removed", plan.gone);
    if (plan.contact == nullptr) return fmt::format("no {} address", to_text(d.channel));
    return fmt::format("contact \"{}\" has no {} address", plan.contact->key, to_text(d.channel));
  }

  void place_in_time(NewDelivery& made, const Plan& plan) const {
    Delivery& d = made.delivery;
    Instant due = std::max(due_at_.value_or(now_), now_);
    Reason why = Reason::Scheduled;
    std::string detail;
    if (const auto window = quiet_window(d, plan)) {
      d.quiet = to_text(*window);
      if (const auto until = quiet_until(window->hours, window->zone, due, *rules_.zones)) {
        due = *until;
        why = Reason::QuietHours;
        detail = d.quiet;
      }
    }
    if (due <= now_) return;
    if (d.expires_at && due >= *d.expires_at) {
      made.placement = {
          DeliveryState::Expired, Reason::Expired,
          why == Reason::QuietHours ? "quiet hours end only after it expires" : "it is due only after it expires"};
      return;
    }
    made.placement = {DeliveryState::Retrying, why, std::move(detail), due};
  }

  [[nodiscard]] std::optional<QuietWindow> quiet_window(const Delivery& d, const Plan& plan) const {
    if (rules_.zones == nullptr || !reaches_a_person(d.channel) || tenant_->exempts(d.category)) return std::nullopt;
    const auto hours =
        plan.contact != nullptr && plan.contact->quiet_hours ? plan.contact->quiet_hours : tenant_->quiet_hours;
    if (!hours) return std::nullopt;
    const bool own_zone = plan.contact != nullptr && rules_.zones->knows(plan.contact->timezone);
    return QuietWindow{*hours, own_zone ? plan.contact->timezone : tenant_->writing.timezone};
  }

  void fill(NewDelivery& made, const Plan& plan) {
    Delivery& d = made.delivery;
    if (plan.content == nullptr) return fill_without_template(made);
    d.locale = locale_for(*tenant_, plan.contact, message_.locale);
    const auto text = plan.content->text(d.locale, tenant_->writing.fallbacks);
    if (!text) return suppress(made, {Reason::TemplateNotFound, text.error().text});
    if (!(*text)->locale.empty()) d.locale = (*text)->locale;
    const SecretUse secret = with_.templates.secret_use(*plan.content, tenant_->name, d.locale);
    if (secret == SecretUse::Certain && message_.sealed.empty())
      return suppress(made, {Reason::SecretMissing, "the message carries none"});
    if (is_late(made, secret)) {
      d.rendering = Rendering::Late;
      return;
    }
    const std::string_view zone = plan.contact != nullptr ? plan.contact->timezone : std::string_view{};
    const Author author{rules_, with_.templates, *tenant_, route_, d.channel, d.locale, zone};
    std::optional<JsonDocument> own_data;
    if (plan.contact != nullptr) {
      const std::string known = contact_data(*plan.contact);
      own_data = merge({.payload = message_.payload, .record = with_.record, .contact = known});
      if (!own_data) return suppress(made, {Reason::InvalidPayload, std::string{kTooMuchData}});
    }
    auto written = write_content(*plan.content, own_data ? own_data->root() : data_, author);
    if (const auto* refused = std::get_if<Unwritable>(&written)) return suppress(made, *refused);
    take(made.delivery, std::get<Content>(std::move(written)));
  }

  [[nodiscard]] bool is_late(const NewDelivery& made, SecretUse secret) const {
    if (secret != SecretUse::None && !message_.sealed.empty()) return true;
    if (route_ != nullptr && route_->rendering == Rendering::Late) return true;
    // What waits is written from the record as it is then.
    return route_ != nullptr && route_->context && made.placement.state == DeliveryState::Retrying;
  }

  void fill_without_template(NewDelivery& made) {
    Content content;
    if (message_.is_direct() && !message_.body.empty()) {
      content.subject = message_.subject;
      content.body = message_.body;
    } else {
      content.body = event_body();
    }
    if (auto refused = make_sendable(content)) return suppress(made, *refused);
    take(made.delivery, std::move(content));
  }

  static void take(Delivery& d, Content content) {
    d.subject = std::move(content.subject);
    d.body = std::move(content.body);
    d.html = std::move(content.html);
    d.warnings = std::move(content.warnings);
  }

  static void suppress(NewDelivery& made, const Unwritable& why) {
    made.placement = {DeliveryState::Suppressed, why.reason, printable(excerpt(why.detail, kExcerptBytesMax))};
  }

  [[nodiscard]] std::string event_body() const {
    JsonWriter w;
    w.begin_object().member("id", format_uuid(message_.uuid)).member("type", message_.type);
    w.member("timestamp", format_instant(message_.occurred_at.value_or(message_.accepted_at)));
    if (!message_.entity_id.empty()) w.member("entityId", message_.entity_id);
    if (!message_.version.empty()) w.member("version", message_.version);
    w.key("data").raw(message_.payload);
    return w.end_object().take();
  }

  // One word for the whole message: it failed only when no channel is left, for want of what somebody can mend. A
  // failed message can be replayed, and keeps its sealed secret until then.
  static void conclude(Expansion& out) {
    const bool all = std::all_of(out.deliveries.begin(), out.deliveries.end(), [](const NewDelivery& d) {
      return d.placement.state == DeliveryState::Suppressed && can_be_mended(d.placement.reason);
    });
    if (!all) return;
    out.state = MessageState::Failed;
    if (out.deliveries.empty()) {  // Every plan makes one, and only a list can be without a plan.
      out.reason = Reason::NoRecipient;
      out.detail = "nobody on the list has an address for a channel of it";
      return;
    }
    out.reason = out.deliveries.front().placement.reason;
    out.detail = out.deliveries.front().placement.detail;
  }
  static bool can_be_mended(Reason reason) {
    return reason == Reason::NoRecipient || reason == Reason::TemplateNotFound || reason == Reason::SecretMissing ||
           reason == Reason::TemplateBroken || reason == Reason::ContentTooLarge;
  }

  const Message& message_;
  const ExpandWith& with_;
  const Rules& rules_;
  Instant now_;
  const Tenant* tenant_ = nullptr;
  const Route* route_ = nullptr;
  const Contact* contact_ = nullptr;
  JsonView data_;
  EventScopes scopes_;
  std::optional<Instant> due_at_;
  std::vector<Plan> plans_;
};

}  // namespace

void People::add(Contact contact) {
  const std::pair<TenantId, std::string> name{contact.tenant, contact.key};
  contacts_.insert_or_assign(name, std::move(contact));
}

const Contact* People::contact(TenantId tenant, std::string_view key) const {
  const auto found = contacts_.find(std::pair<TenantId, std::string>{tenant, key});
  return found == contacts_.end() ? nullptr : &found->second;
}

ExpandNeeds needs_of(const Message& message, const Rules& rules) {
  ExpandNeeds needs;
  const bool by_route = !message.is_direct() || message.is_resend();
  const Route* route = by_route ? rules.route(message.tenant_name, message.type) : nullptr;
  if (route != nullptr && route->context) needs.context = &*route->context;
  std::string contact = message.contact;
  if (contact.empty() && route != nullptr && !route->contact_field.empty()) {
    const auto payload = JsonDocument::parse(message.payload, kDataLimits);
    if (payload) {
      if (const auto value = find_field(payload->root(), route->contact_field)) contact = value->spoken();
    }
  }
  if (!contact.empty()) needs.contacts.push_back(std::move(contact));
  const bool addressed = !message.recipient.empty() || !needs.contacts.empty();
  if (!addressed) needs.list = !message.list.empty() || route == nullptr ? message.list : route->list;
  // Of what its record may say, nothing is known before that is asked for.
  if (!needs.list.empty()) needs.not_before = needs.context == nullptr ? due_by(message, rules, {}) : message.due_at;
  return needs;
}

std::optional<Instant> due_by(const Message& message, const Rules& rules, std::string_view record) {
  const Tenant* tenant = rules.tenant(message.tenant);
  const Route* route = rules.route(message.tenant_name, message.type);
  const bool by_route = !message.is_direct() && route != nullptr && !route->schedule.field.empty();
  if (message.due_at || !by_route || tenant == nullptr) return message.due_at;
  const auto data = JsonDocument::parse(merged_data({.payload = message.payload, .record = record}), kDataLimits);
  if (!data) return std::nullopt;
  const ByDate due = by_date(*route, *tenant, rules.zones, data->root());
  return due.wrong.empty() ? std::optional{due.at} : std::nullopt;
}

Expansion expand(const Message& message, const ExpandWith& with, ExpandRange range) {
  return Expander{message, with}.run(range);
}

Expansion expand(const Message& message, const Rules& rules, Instant now, ExpandRange range) {
  const People nobody;
  return expand(message, ExpandWith{.rules = rules, .templates = rules.templates, .people = nobody, .now = now}, range);
}

void apply(const Suppression& suppression, NewDelivery& made) {
  made.placement = {DeliveryState::Suppressed, Reason::SuppressedAddress, words_of(suppression)};
  made.delivery.subject.clear();
  made.delivery.body.clear();
  made.delivery.html.clear();
}

std::string delivery_key(const Message& message, Channel channel, std::string_view template_id,
                         std::string_view recipient) {
  if (message.is_resend()) return message.idempotency_key;
  const bool own = message.is_direct() || message.entity_id.empty();
  std::string key = own ? format_uuid(message.uuid) : message.entity_id;
  key += ':';
  key += message.type;
  if (!message.version.empty()) {
    key += ':';
    key += message.version;
  }
  key += ':';
  key += to_text(channel);
  key += ':';
  key += template_id;
  if (!recipient.empty()) {
    key += ':';
    key += recipient;
  }
  return key;
}

}  // namespace postrider
