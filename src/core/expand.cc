#include "core/expand.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/json.h"
#include "base/limits.h"
#include "base/text.h"

namespace postrider {
namespace {

constexpr std::string_view kBuiltInWebhookTemplate =
    "event";  // posts the event itself where no template says otherwise

// One thing to make: a template (or the message's own content) for one recipient.
struct Plan {
  const Template* content = nullptr;  // null: the message's own content, or the built-in webhook body
  Channel channel = Channel::Email;
  std::string recipient = {};
  bool recipient_in_key = false;
};

class Expander {
 public:
  Expander(const Message& message, const Rules& rules, Instant now) : message_(message), rules_(rules), now_(now) {}

  Expansion run(ExpandRange range) {
    tenant_ = rules_.tenant(message_.tenant);
    if (tenant_ == nullptr) return fail(Reason::UnknownTenant, fmt::format("tenant \"{}\"", message_.tenant_name));
    auto payload = JsonDocument::parse(message_.payload, {.bytes_max = kPayloadBytesMax, .depth_max = kJsonDepthMax});
    if (!payload) return fail(Reason::InvalidPayload, payload.error().text);
    data_ = payload->root();
    route_ = rules_.route(message_.tenant_name, message_.type);
    if (auto refused = message_.is_direct() ? plan_direct() : plan_event()) return std::move(*refused);
    Expansion out;
    out.recipients_total = plans_.size();
    const std::size_t end = std::min(plans_.size(), range.from + range.count);
    for (std::size_t i = range.from; i < end; ++i) out.deliveries.push_back(make(plans_[i]));
    if (range.from == 0 && end == plans_.size()) conclude(out);
    return out;
  }

 private:
  static Expansion fail(Reason reason, std::string detail) {
    return {.state = reason == Reason::NoRoute ? MessageState::Ignored : MessageState::Failed,
            .reason = reason,
            .detail = std::move(detail)};
  }

  std::optional<Expansion> plan_direct() {
    const Channel channel = *message_.channel;
    const Template* content = nullptr;
    if (!message_.template_key.empty()) {
      content = rules_.template_by_key(message_.tenant_name, message_.template_key, channel);
      if (content == nullptr) {
        return fail(Reason::TemplateNotFound,
                    fmt::format("template \"{}\" for {}", message_.template_key, to_text(channel)));
      }
    } else if (message_.body.empty() && channel != Channel::Webhook) {
      return fail(Reason::NoContent, fmt::format("no body and no template for {}", to_text(channel)));
    }
    std::string recipient = message_.recipient;
    if (recipient.empty()) recipient = fixed_recipient(channel);
    plans_.push_back({content, channel, std::move(recipient), false});
    return std::nullopt;
  }

  std::optional<Expansion> plan_event() {
    const auto templates = rules_.templates_for(message_.tenant_name, message_.type);
    if (route_ == nullptr && templates.empty()) return fail(Reason::NoRoute, fmt::format("type \"{}\"", message_.type));
    for (const Template* content : templates) {
      const RecipientSource* source = source_for(content->channel);
      // A route that lists its recipients says which channels it uses; a template for another one is not for this
      // route.
      if (source == nullptr && route_ != nullptr && !route_->recipients.empty()) continue;
      if (auto refused = plan_recipients(content, content->channel, source)) return refused;
    }
    if (const RecipientSource* hook = source_for(Channel::Webhook); hook != nullptr || wants_fixed_webhook()) {
      const bool has_template = std::any_of(templates.begin(), templates.end(),
                                            [](const Template* t) { return t->channel == Channel::Webhook; });
      if (!has_template) {
        if (auto refused = plan_recipients(nullptr, Channel::Webhook, hook)) return refused;
      }
    }
    if (plans_.empty()) return fail(Reason::TemplateNotFound, fmt::format("type \"{}\"", message_.type));
    return std::nullopt;
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
      plans_.push_back({content, channel, message_.recipient, false});
      return std::nullopt;
    }
    std::string fixed = fixed_recipient(channel);
    const std::string_view field =
        source != nullptr ? std::string_view{source->field} : default_recipient_field(channel);
    // A configured URL yields only to a field that a route names: no payload sends an event elsewhere by chance.
    const bool looks = !field.empty() && (source != nullptr || fixed.empty());
    const auto value = looks ? data_.find_path(field) : std::nullopt;
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
    d.template_key = plan.content != nullptr ? plan.content->key
                                             : std::string{message_.is_direct() ? "direct" : kBuiltInWebhookTemplate};
    d.template_version = plan.content != nullptr ? plan.content->version : 0;
    made.key_is_own = message_.is_direct() || message_.entity_id.empty();
    d.key = delivery_key(message_, plan.channel, d.template_key, plan.recipient_in_key ? plan.recipient : "");
    place(made);
    if (made.placement.state != DeliveryState::Suppressed) fill(made, plan);
    return made;
  }

  void place(NewDelivery& made) const {
    const Delivery& d = made.delivery;
    if (const std::string_view problem = address_problem(d.channel, d.recipient); !problem.empty()) {
      made.placement = {DeliveryState::Suppressed, Reason::NoRecipient,
                        d.recipient.empty() ? fmt::format("no {} address", to_text(d.channel))
                                            : fmt::format("the {} address {}", to_text(d.channel), problem)};
      made.delivery.recipient = printable(excerpt(d.recipient, kTextFieldBytesMax));
      return;
    }
    if (d.expires_at && *d.expires_at <= now_) {
      made.placement = {DeliveryState::Expired, Reason::Expired, "it had expired when it was expanded"};
    } else if (d.expires_at && message_.due_at && *message_.due_at >= *d.expires_at) {
      made.placement = {DeliveryState::Expired, Reason::Expired, "it is due only after it expires"};
    } else if (message_.due_at && *message_.due_at > now_) {
      made.placement = {DeliveryState::Retrying, Reason::Scheduled, "", *message_.due_at};
    }
  }

  void fill(NewDelivery& made, const Plan& plan) {
    Delivery& d = made.delivery;
    if (plan.content != nullptr) {
      if (!render(*plan.content, made)) return;
    } else if (message_.is_direct() && !message_.body.empty()) {
      d.subject = message_.subject;
      d.body = message_.body;
    } else {
      d.body = event_body();
    }
    // PostgreSQL cannot keep a NUL in a text, and one such row would hold up its whole batch.
    for (std::string* part : {&d.body, &d.html}) std::replace(part->begin(), part->end(), '\0', ' ');
    // A subject is one line, whatever the data says.
    if (has_control(d.subject)) d.subject = printable(d.subject);
    if (d.subject.size() > kTextFieldBytesMax * 4) d.subject = excerpt(d.subject, kTextFieldBytesMax * 4);
    if (d.body.size() > kContentBytesMax || d.html.size() > kContentBytesMax) {
      suppress(made, Reason::ContentTooLarge, fmt::format("more than {} bytes", kContentBytesMax));
    }
  }

  bool render(const Template& content, NewDelivery& made) {
    Delivery& d = made.delivery;
    const Writing& writing = tenant_->writing;
    RenderOptions options{.missing = writing.missing_keys, .formatter = rules_.formatter};
    options.locale = message_.locale.empty() ? writing.locale : message_.locale;
    options.zone = writing.timezone;
    options.date_format = route_ != nullptr && !route_->date_format.empty() ? route_->date_format : writing.date_format;
    if (d.channel == Channel::Sms) options.spaces = Spaces::Plain;
    struct Part {
      const CompiledText& text;
      Escape escape;
      std::string& into;
    };
    std::vector<std::string> missing;
    std::vector<std::string> unformatted;
    for (const Part& part : {Part{content.subject, Escape::None, d.subject}, Part{content.body, Escape::None, d.body},
                             Part{content.html, Escape::Html, d.html}}) {
      options.escape = part.escape;
      auto rendered = part.text.render(data_, options);
      if (!rendered) {
        const bool large = rendered.error().code == ErrorCode::Exhausted;
        suppress(made, large ? Reason::ContentTooLarge : Reason::TemplateBroken, rendered.error().text);
        return false;
      }
      part.into = std::move(rendered->text);
      std::move(rendered->missing.begin(), rendered->missing.end(), std::back_inserter(missing));
      std::move(rendered->unformatted.begin(), rendered->unformatted.end(), std::back_inserter(unformatted));
    }
    warn(d, "no value for", missing);
    warn(d, "not formatted:", unformatted);
    d.warnings = excerpt(d.warnings, kExcerptBytesMax);
    return true;
  }

  static void warn(Delivery& d, std::string_view what, std::vector<std::string>& keys) {
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    for (const std::string& key : keys) {
      d.warnings += fmt::format("{}{} {}", d.warnings.empty() ? "" : "; ", what, key);
    }
  }

  static void suppress(NewDelivery& made, Reason reason, std::string_view detail) {
    made.placement = {DeliveryState::Suppressed, reason, printable(excerpt(detail, kExcerptBytesMax))};
    made.delivery.subject.clear();
    made.delivery.body.clear();
    made.delivery.html.clear();
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

  // One word for the whole message: it failed for want of a recipient only when no channel has one.
  static void conclude(Expansion& out) {
    const bool nobody = std::all_of(out.deliveries.begin(), out.deliveries.end(), [](const NewDelivery& d) {
      return d.placement.state == DeliveryState::Suppressed && d.placement.reason == Reason::NoRecipient;
    });
    if (!nobody) return;
    out.state = MessageState::Failed;
    out.reason = Reason::NoRecipient;
    out.detail = out.deliveries.empty() ? "" : out.deliveries.front().placement.detail;
  }

  const Message& message_;
  const Rules& rules_;
  Instant now_;
  const Tenant* tenant_ = nullptr;
  const Route* route_ = nullptr;
  JsonView data_;
  std::vector<Plan> plans_;
};

}  // namespace

Expansion expand(const Message& message, const Rules& rules, Instant now, ExpandRange range) {
  return Expander{message, rules, now}.run(range);
}

std::string delivery_key(const Message& message, Channel channel, std::string_view template_key,
                         std::string_view recipient) {
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
  key += template_key;
  if (!recipient.empty()) {
    key += ':';
    key += recipient;
  }
  return key;
}

}  // namespace postrider
