#include "pipeline/resend.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "pipeline/accept.h"

namespace postrider {
namespace {

constexpr std::size_t kToldPage = 50;  // deliveries of the entity, newest first
constexpr int kToldPagesMax = 40;

/// What is written with: a template of the store or of the configuration file, or the first one's own content.
struct Chosen {
  std::string name = {};         // as a message names it; empty: its own content
  std::string id_in_keys = {};   // in the delivery's key
  std::int64_t template_id = 0;  // of the store
};

NotResent failed(Error error) { return {.why = NotResent::Why::Store, .error = std::move(error)}; }

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() && number > 0 ? std::optional{number} : std::nullopt;
}

Chosen of_store(const StoredTemplate& stored) {
  return {.name = fmt::format("#{}", stored.id), .id_in_keys = std::to_string(stored.id), .template_id = stored.id};
}

/// One request's way from the entity to the message that repeats it.
class Resend {
 public:
  Resend(StoreSession& store, const Rules& rules, const ResendWish& wish)
      : store_(store), rules_(rules), wish_(wish), tenant_(wish.tenant) {}

  std::variant<Resent, NotResent> run(Instant now, Prng& random) {
    if (auto wrong = find_original()) return std::move(*wrong);
    auto chosen = choose();
    if (auto* wrong = std::get_if<NotResent>(&chosen)) return std::move(*wrong);
    chosen_ = std::get<Chosen>(std::move(chosen));
    std::vector<OutboxRow> rows;
    rows.push_back(row());
    auto prepared = prepare(std::move(rows), rules_, now, random);
    if (auto* refused = std::get_if<RefusedMessage>(&prepared))
      return NotResent{.why = NotResent::Why::Refused, .refusal = std::move(refused->refusal)};
    IntakeGroup group = std::get<IntakeGroup>(std::move(prepared));
    group.front().note = AuditNote{.by = wish_.by, .action = "resend", .delivery = original(), .detail = key()};
    const std::vector<IntakeGroup> groups{std::move(group)};
    const auto admitted = store_.accept(now, groups);
    if (!admitted) return failed(admitted.error());
    // The key has everything in it that was asked for: the same one again is the same request, whatever came between.
    return Resent{.admitted = admitted->front().front(),
                  .original = original(),
                  .template_id = chosen_.template_id,
                  .key = key()};
  }

 private:
  // Written with the template that is asked for, if there is one; else the newest by the channel. Not what was itself
  // told again: the first one stays the first. What was never told by the channel is told by it from its event.
  std::optional<NotResent> find_original() {
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
    if (!wish_.template_name.empty()) {
      if (auto wrong = find_newest(wish_.channel, same_template)) return wrong;
    }
    if (!original_) {
      if (auto wrong = find_newest(wish_.channel, usable)) return wrong;
    }
    if (!original_) {
      if (auto wrong = find_newest(std::nullopt, [&](const ListItem& item) { return is_event(item); })) return wrong;
      if (original_) original_->delivery.reset();
    }
    return original_ ? std::nullopt : std::optional{NotResent{.why = NotResent::Why::NothingTold}};
  }

  [[nodiscard]] bool is_event(const ListItem& item) const {
    if (item.message == nullptr || item.message->is_direct()) return false;
    const Route* route = rules_.route(tenant_.name, item.message->type);
    return route == nullptr || route->list.empty();  // one request is for one recipient
  }

  template <class Fits>
  std::optional<NotResent> find_newest(std::optional<Channel> channel, Fits fits) {
    ListFilter filter{.tenant = tenant_.id, .channel = channel, .entity = wish_.entity, .whole = true};
    filter.count_max = kToldPage;
    for (int page = 0; page < kToldPagesMax; ++page) {
      auto items = store_.list(filter);
      if (!items) return failed(items.error());
      const auto found = std::find_if(items->begin(), items->end(), fits);
      if (found != items->end()) {
        original_ = std::move(*found);
        return std::nullopt;
      }
      if (items->size() < kToldPage) return std::nullopt;
      const RowId last = items->back().id;  // 0: it still waits in the outbox, before all others
      filter.before = last == 0 ? std::numeric_limits<RowId>::max() : last;
    }
    return std::nullopt;
  }

  std::variant<Chosen, NotResent> choose() {
    if (!wish_.template_name.empty()) return choose_named();
    const Message& m = *original_->message;
    if (m.is_direct() && m.template_key.empty() && !m.body.empty()) return Chosen{.id_in_keys = "direct"};
    if (const std::int64_t id = told().template_id; id != 0) {
      const auto stored = store_.template_version(tenant_.id, id, 0);
      if (stored && stored->active) return of_store(*stored);
      if (!stored && stored.error().code != ErrorCode::NotFound) return failed(stored.error());
    }
    auto in_force = find_stored({.type = m.type});
    if (!in_force) return failed(in_force.error());
    if (*in_force) return of_store(**in_force);
    if (const Template* of_file = find_in_file()) return Chosen{.name = of_file->key, .id_in_keys = of_file->key};
    if (wish_.channel == Channel::Webhook) return Chosen{.id_in_keys = "event"};  // as it was: the event itself
    return NotResent{.why = NotResent::Why::NoTemplate, .type = m.type};
  }

  std::variant<Chosen, NotResent> choose_named() {
    const auto number = number_in(wish_.template_name);
    std::optional<StoredTemplate> found;
    if (number) {
      auto stored = store_.template_version(tenant_.id, *number, 0);
      if (!stored && stored.error().code != ErrorCode::NotFound) return failed(stored.error());
      if (stored && stored->channel == wish_.channel) found = std::move(*stored);
    } else {
      auto stored = find_stored({.key = wish_.template_name});
      if (!stored) return failed(stored.error());
      found = std::move(*stored);
      const Template* of_file =
          found ? nullptr : rules_.templates.by_key(tenant_.name, wish_.template_name, wish_.channel, {});
      if (of_file != nullptr) return Chosen{.name = of_file->key, .id_in_keys = of_file->key};
    }
    if (!found) return NotResent{.why = NotResent::Why::UnknownTemplate};
    if (!found->active) return NotResent{.why = NotResent::Why::InactiveTemplate};
    return of_store(*found);
  }

  // For all of the tenant's, not for one thing: the tenant's own before the common one.
  Result<std::optional<StoredTemplate>> find_stored(TemplateFilter filter) {
    filter.tenant = tenant_.id;
    filter.channel = wish_.channel;
    filter.active = true;
    POSTRIDER_TRY(stored, store_.templates(filter));
    std::optional<StoredTemplate> best;
    for (StoredTemplate& each : stored) {
      if (each.scope_type.empty() && (!best || each.tenant != 0)) best = std::move(each);
    }
    return best;
  }

  [[nodiscard]] const Template* find_in_file() const {
    const TemplateSet& all = rules_.templates;
    if (const Template* same = all.by_key(tenant_.name, told().template_key, wish_.channel, {})) return same;
    const auto known = all.for_event(tenant_.name, original_->message->type, {});
    const auto found =
        std::find_if(known.begin(), known.end(), [&](const Template* t) { return t->channel == wish_.channel; });
    return found == known.end() ? nullptr : *found;
  }

  [[nodiscard]] std::string key() const {
    return fmt::format("{}{}:{}:{}:{}", Message::kResendPrefix, wish_.entity, to_text(wish_.channel),
                       chosen_.id_in_keys, wish_.request_id);
  }

  [[nodiscard]] std::optional<RowId> original() const {
    return original_->delivery ? std::optional{told().id} : std::nullopt;
  }
  /// The delivery that is told again; an empty one where nothing was told by the channel.
  [[nodiscard]] const Delivery& told() const {
    static const Delivery none;
    return original_->delivery ? original_->delivery->delivery : none;
  }

  // What was told, to whom it was told; when is now.
  [[nodiscard]] OutboxRow row() const {
    const Message& m = *original_->message;
    OutboxRow row;
    row.tenant = tenant_.name;
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
    row.channel = to_text(wish_.channel);
    row.recipient = told().recipient;
    row.contact = original_->delivery ? told().contact : m.contact;
    row.template_key = chosen_.name;
    if (chosen_.name.empty()) {
      row.subject = m.subject;
      row.body = m.body;
    }
    return row;
  }

  StoreSession& store_;
  const Rules& rules_;
  const ResendWish& wish_;
  const Tenant& tenant_;
  std::optional<ListItem> original_;
  Chosen chosen_;
};

}  // namespace

std::variant<Resent, NotResent> resend(StoreSession& store, const Rules& rules, const ResendWish& wish, Instant now,
                                       Prng& random) {
  return Resend{store, rules, wish}.run(now, random);
}

}  // namespace postrider
