#include "api/explain.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/explain/because.h"
#include "api/views.h"
#include "base/json.h"
#include "base/text.h"

namespace postrider {
namespace {

std::string in_brackets(std::string_view detail) { return detail.empty() ? "" : fmt::format(" ({})", detail); }
std::string times(int count) { return count == 1 ? "once" : fmt::format("{} times", count); }

class Teller {
 public:
  explicit Teller(Addresses shown) : shown_(shown), mask_(shown) {}

  Story tell(const MessageView& view) {
    mask_.learn(view.message.recipient);
    for (const DeliveryView& delivery : view.deliveries) mask_.learn(delivery.delivery.recipient);
    tell_message(view);
    for (const DeliveryView& delivery : view.deliveries) tell_delivery(delivery);
    tell_others(view);
    return std::move(story_);
  }

  Story tell(std::span<const ListItem> items, std::string_view recipient) {
    mask_.learn(recipient);
    for (const ListItem& item : items) {
      if (item.delivery) mask_.learn(item.delivery->delivery.recipient);
      if (item.delivery) {
        const DeliveryView& d = *item.delivery;
        say(d.since ? d.since : item.accepted_at,
            fmt::format("{} (message {}) {}: {}", item.type, format_uuid(item.message_uuid), way_of(d), standing(d)),
            d.reason);
      } else {
        say(item.accepted_at,
            fmt::format(
                "{} (message {}): {}", item.type, format_uuid(item.message_uuid),
                message_standing(item.message_state, because(item.reason, {.detail = item.detail, .type = item.type}))),
            item.reason);
      }
    }
    return std::move(story_);
  }

 private:
  void say(std::optional<Instant> at, std::string_view text, std::optional<Reason> reason = std::nullopt) {
    story_.push_back({at, mask_.text(text), reason});
  }

  void tell_message(const MessageView& view) {
    const Message& m = view.message;
    std::string accepted = fmt::format("Accepted for tenant {}: {}", m.tenant_name, m.type);
    if (!m.entity_id.empty()) accepted += fmt::format(" about {}", m.entity_id);
    if (!m.version.empty()) accepted += fmt::format(", version {}", m.version);
    if (!m.origin.empty()) accepted += fmt::format(", from {}", m.origin);
    say(m.accepted_at, accepted + ".");
    if (m.due_at) say(std::nullopt, fmt::format("It is to be sent at {}, not before.", format_instant(*m.due_at)));
    if (m.expires_at) say(std::nullopt, fmt::format("It is worthless after {}.", format_instant(*m.expires_at)));
    if (view.reason == Reason::DispatchedByOperator) {
      say(view.since, "An operator asked for it to be turned into deliveries at once.", view.reason);
      return;
    }
    if (failed_for_now(view)) {
      say(view.since,
          fmt::format("Turning it into deliveries failed {}: {}.", times(view.attempts),
                      because(view.reason, {.detail = view.detail, .type = m.type})),
          view.reason);
      if (view.next_attempt)
        say(std::nullopt, fmt::format("It is tried again at {}.", format_instant(*view.next_attempt)));
      return;
    }
    std::string standing = message_standing(view.state, because(view.reason, values_of(view)));
    if (view.state == MessageState::Expanding && view.next_attempt)
      standing =
          fmt::format("It waits until {}, and is turned into deliveries then.", format_instant(*view.next_attempt));
    if (view.state == MessageState::Expanded) {
      standing = view.counts.total == 1 ? "Turned into 1 delivery."
                                        : fmt::format("Turned into {} deliveries.", view.counts.total);
      if (view.reason == Reason::DuplicateDelivery)
        standing += fmt::format(" Others existed already and were not made again{}.",
                                hides_others(view, shown_) ? "" : in_brackets(view.detail));
    }
    say(view.since, standing, view.reason);
  }

  // A question to the application or to the store that is asked again later.
  static bool failed_for_now(const MessageView& view) {
    const bool open = view.state == MessageState::Pending || view.state == MessageState::Expanding;
    return open && view.attempts > 0 && is_failure_of_expansion(view.reason);
  }

  static ReasonValues values_of(const MessageView& view) {
    const Message& m = view.message;
    return {.detail = view.detail,
            .type = m.type,
            .channel = m.channel ? to_text(*m.channel) : std::string_view{},
            .due_at = m.due_at,
            .expires_at = m.expires_at};
  }
  // What the sentence around it tells already is left out: when it is due, and through whom a call was made.
  static ReasonValues values_of(const DeliveryView& view) {
    const bool parked = view.state == DeliveryState::Parked && !view.tries.empty();
    return {.detail = view.detail,
            .type = view.delivery.type,
            .channel = to_text(view.delivery.channel),
            .provider = parked ? std::string_view{view.tries.back().provider} : std::string_view{},
            .quiet_hours = view.delivery.quiet,
            .attempts = view.attempts,
            .expires_at = view.delivery.expires_at};
  }

  static std::string message_standing(MessageState state, const std::string& why) {
    switch (state) {
      case MessageState::Pending: return "Waiting to be turned into deliveries.";
      case MessageState::Expanding: return "Being turned into deliveries, in chunks.";
      case MessageState::Expanded: return "Turned into its deliveries.";
      case MessageState::Ignored: return fmt::format("Ignored, and kept: {}.", why);
      case MessageState::Duplicate: return fmt::format("A duplicate that changes nothing: {}.", why);
      case MessageState::Failed: return fmt::format("Failed: {}. Repair the cause, then replay it.", why);
      case MessageState::Cancelled: return fmt::format("Cancelled: {}.", why);
    }
    POSTRIDER_DIE("a MessageState outside its enum");
  }

  // The recipient goes through the address mask, because an address without an @ or a + would stay whole in a text.
  [[nodiscard]] std::string way_of(const DeliveryView& view) const {
    const Delivery& d = view.delivery;
    const std::string to = d.recipient.empty() ? "nobody" : mask_.address(d.recipient);
    return fmt::format("by {} to {}", to_text(d.channel), to);
  }

  void tell_delivery(const DeliveryView& view) {
    const std::string way = way_of(view);
    if (!view.delivery.warnings.empty())
      say(std::nullopt, fmt::format("Rendering it {}: {}.", way, view.delivery.warnings));
    for (const AttemptView& attempt : view.tries) tell_attempt(way, attempt);
    if (possible_duplicate(view)) {
      say(std::nullopt, fmt::format("An attempt {} ended without a clear answer and another one followed: the "
                                    "recipient may have got it twice.",
                                    way));
    }
    say(view.since, fmt::format("The delivery {}: {}", way, standing(view)), view.reason);
  }

  void tell_others(const MessageView& view) {
    if (view.deliveries.size() >= view.counts.total) return;
    std::string states;
    for (const auto& [state, count] : view.counts.by_state) {
      states += fmt::format("{}{} {}", states.empty() ? "" : ", ", count, to_text(state));
    }
    say(std::nullopt, fmt::format("The other {} deliveries are not told one by one. Where all of them are: {}.",
                                  view.counts.total - view.deliveries.size(), states));
  }

  void tell_attempt(std::string_view way, const AttemptView& a) {
    std::string text = fmt::format("Attempt {} {} through {}{}: {}", a.number, way, a.provider,
                                   a.late ? ", heard of late" : "", outcome_words(a));
    if (!a.provider_message_id.empty()) text += fmt::format(" Its id there is {}.", a.provider_message_id);
    if (!a.excerpt.empty()) text += fmt::format(" The answer was: {}", a.excerpt);
    say(a.ended_at, text, a.reason);
  }

  static std::string outcome_words(const AttemptView& a) {
    const std::string_view why = words_of(a.reason);
    switch (a.outcome) {
      case OutcomeKind::Accepted: return "the provider accepted it.";
      case OutcomeKind::NotSent: return fmt::format("nothing was sent, {}.", why);
      case OutcomeKind::Transient: return fmt::format("refused for now, {}.", why);
      case OutcomeKind::Permanent: return fmt::format("refused for good, {}.", why);
      case OutcomeKind::Unclear: return fmt::format("unclear, it may have been sent: {}.", why);
      case OutcomeKind::Misconfigured: return fmt::format("nothing was sent, {}.", why);
      case OutcomeKind::Unmapped: return fmt::format("refused, {}.", why);
    }
    POSTRIDER_DIE("an OutcomeKind outside its enum");
  }

  static std::string standing(const DeliveryView& view) {
    const std::string why = because(view.reason, values_of(view));
    switch (view.state) {
      case DeliveryState::Queued:
        if (view.reason != Reason::Waiting) return fmt::format("{}.", why);
        return "it waits for its turn.";
      case DeliveryState::Sending:
        if (view.reason != Reason::Waiting)
          return fmt::format("a call through {} may be under way; {}: it is not tried again.", view.provider, why);
        return fmt::format("a call through {} may be under way.", view.provider);
      case DeliveryState::Sent: return fmt::format("sent; {}. Whether it arrived is not known yet.", why);
      case DeliveryState::Delivered: return fmt::format("delivered; {}.", why);
      case DeliveryState::Retrying: {
        const std::string at = view.due_at ? format_instant(*view.due_at) : "a later time";
        if (view.reason == Reason::Scheduled) return fmt::format("it waits until {}.", at);
        if (view.attempts == 0) return fmt::format("it waits until {}; {}.", at, why);
        return fmt::format("it is tried again at {}, after {} so far; {}.", at,
                           view.attempts == 1 ? "1 attempt" : fmt::format("{} attempts", view.attempts), why);
      }
      case DeliveryState::Parked: return fmt::format("parked; {}. An operator can retry or discard it.", why);
      case DeliveryState::Discarded: return fmt::format("discarded; {}.", why);
      case DeliveryState::Cancelled: return fmt::format("cancelled; {}.", why);
      case DeliveryState::Suppressed:  // what became of the calls before is told above
        return fmt::format("{}; {}.", view.attempts == 0 ? "not sent" : "not tried again", why);
      case DeliveryState::Expired: return fmt::format("not sent; {}.", why);
    }
    POSTRIDER_DIE("a DeliveryState outside its enum");
  }

  Addresses shown_;
  Mask mask_;
  Story story_;
};

}  // namespace

Story explain_message(const MessageView& view, Addresses shown) { return Teller{shown}.tell(view); }
Story explain_items(std::span<const ListItem> items, Addresses shown, std::string_view recipient) {
  return Teller{shown}.tell(items, recipient);
}

std::string story_json(const Story& story, std::string_view next) {
  JsonWriter json;
  json.begin_object().key("story").begin_array();
  for (const StoryLine& line : story) {
    json.begin_object();
    json.key("at");
    line.at ? json.value(format_instant(*line.at)) : json.null();
    json.member("text", line.text);
    json.key("reason");
    line.reason ? json.value(code_of(*line.reason)) : json.null();
    json.end_object();
  }
  json.end_array().key("next");
  next.empty() ? json.null() : json.value(next);
  json.end_object();
  return json.take();
}

std::string story_text(const Story& story) {
  static constexpr std::size_t kTimeWidth = 24;  // "2026-03-15T09:30:00.123Z"
  std::string out;
  for (const StoryLine& line : story) {
    const std::string at = line.at ? format_instant(std::chrono::floor<std::chrono::milliseconds>(*line.at)) : "";
    out += fmt::format("{:{}}  {}", at, kTimeWidth, printable(line.text));
    if (line.reason) out += fmt::format("  [{}]", code_of(*line.reason));
    out += '\n';
  }
  return out;
}

}  // namespace postrider
