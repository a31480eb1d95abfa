#include <fmt/format.h>

#include "api/explain/recipient.h"
#include "api/query.h"
#include "api/views.h"
#include "commands.h"

namespace postrider::app {
namespace {

// Whoever may open the store may see its addresses.
constexpr Addresses kShown = Addresses::Plain;
constexpr std::size_t kDeliveriesShown = 20;

Result<std::optional<Instant>> since_of(const std::string& text, Instant now) {
  if (text.empty()) return std::optional<Instant>{};
  if (const auto ago = parse_duration(text)) return std::optional{now - *ago};
  if (const auto at = parse_instant(text)) return std::optional{*at};
  return Error{ErrorCode::Invalid, fmt::format("--since {}: neither a time nor a duration such as 2d", text)};
}

Result<ListFilter> filter_of(const ListOptions& options, Visit& v) {
  ListFilter filter;
  POSTRIDER_TRY(tenant, tenant_named(v.rules, options.tenant));
  POSTRIDER_TRY(now, v.session->database_now());
  POSTRIDER_TRY(since, since_of(options.since, now));
  filter.tenant = tenant;
  filter.from = since;
  filter.state = options.state;
  filter.type = options.type;
  filter.recipient = options.recipient;
  if (!options.channel.empty()) {
    filter.channel = parse_channel(options.channel);
    if (!filter.channel) return Error{ErrorCode::Invalid, fmt::format("\"{}\" is not a channel", options.channel)};
  }
  return filter;
}

// Page by page, so that a long list needs no long transaction.
Result<std::vector<ListItem>> list_all(ListFilter filter, std::size_t limit, StoreSession& session) {
  std::vector<ListItem> items;
  for (;;) {
    filter.count_max = std::min<std::size_t>(500, limit - items.size());
    POSTRIDER_TRY(page, session.list(filter));
    const bool last = page.size() < filter.count_max || page.empty() || page.back().id == 0;
    if (!page.empty()) filter.before = page.back().id;
    items.insert(items.end(), std::make_move_iterator(page.begin()), std::make_move_iterator(page.end()));
    if (items.size() > limit) items.resize(limit);
    if (last || items.size() == limit) return items;
  }
}

void print_item(const ListItem& item) {
  const std::string id = format_uuid(item.message_uuid);
  if (!item.delivery) {
    fmt::print("{}  {}  {:<10} {:<9} {:<24} {}: {}\n", format_instant(item.accepted_at), id,
               to_text(item.message_state), "-", item.type, words_of(item.reason), item.detail);
    return;
  }
  const DeliveryView& d = *item.delivery;
  fmt::print("{}  {}  {:<10} {:<9} {:<24} {}  {}\n", format_instant(item.accepted_at), id, to_text(d.state),
             to_text(d.delivery.channel), item.type, d.delivery.recipient, words_of(d.reason));
}

// What a delivery knows about its recipient and its content, as far as there is something to know.
std::string about(const Delivery& d) {
  std::string out;
  const auto add = [&](std::string_view what, std::string_view value) {
    if (!value.empty()) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", what, value);
  };
  add("contact", d.contact);
  add("category", d.category);
  add("locale", d.locale);
  add("quiet hours", d.quiet);
  add("template", d.template_key);
  if (d.template_id != 0) add("number", std::to_string(d.template_id));
  if (d.template_version != 0) add("version", std::to_string(d.template_version));
  return out;
}

Result<Story> story_of_message(const ExplainOptions& options, Visit& v) {
  const auto uuid = parse_uuid(options.message);
  if (!uuid) return Error{ErrorCode::Invalid, fmt::format("\"{}\" is not a message id", options.message)};
  POSTRIDER_TRY(view, v.session->message(std::nullopt, *uuid));
  return explain_message(view, kShown);
}

Result<Story> story_of_recipient(const ExplainOptions& options, Visit& v) {
  POSTRIDER_TRY(filter, filter_of({.tenant = options.tenant, .type = options.type, .since = options.since}, v));
  const auto limit = static_cast<std::size_t>(options.limit);
  RecipientQuestion question{
      .tenant = filter.tenant, .address = options.recipient, .type = filter.type, .from = filter.from};
  RecipientFindings all;
  do {
    question.before = all.page.next;
    question.count_max = std::min<std::size_t>(500, limit - std::min(limit, all.page.items.size()));
    POSTRIDER_TRY(found, look_up_recipient(*v.session, v.rules, question));
    found.page.items.insert(found.page.items.begin(), all.page.items.begin(), all.page.items.end());
    if (question.before) found.suppressions = std::move(all.suppressions);
    all = std::move(found);
  } while (all.page.next && all.page.items.size() < limit);
  question.before.reset();
  return explain_recipient(question, all, v.rules, kShown);
}

}  // namespace

int run_list(const Common& common, const ListOptions& options) {
  auto v = visit(common, Ids::NotNeeded);
  if (!v) return fail(v.error());
  auto filter = filter_of(options, **v);
  if (!filter) return fail(filter.error());
  auto items = list_all(*filter, static_cast<std::size_t>(options.limit), *(*v)->session);
  if (!items) return fail(items.error());
  if (common.json) {
    fmt::print("{}\n", list_json({*items, ""}, (*v)->rules, kShown));
    return 0;
  }
  for (const ListItem& item : *items) print_item(item);
  if (items->empty()) fmt::print(stderr, "nothing matches\n");
  return 0;
}

int run_show(const Common& common, const std::string& id) {
  const auto uuid = parse_uuid(id);
  if (!uuid) return fail(fmt::format("\"{}\" is not a message id", id));
  auto v = visit(common, Ids::NotNeeded);
  if (!v) return fail(v.error());
  const auto view = (*v)->session->message(std::nullopt, *uuid);
  if (!view) return fail(view.error());
  if (common.json) {
    const bool more = view->deliveries.size() < view->counts.total;
    fmt::print("{}\n",
               message_json(*view, kShown, more ? format_cursor(view->deliveries.back().delivery.id) : std::string{}));
    return 0;
  }
  fmt::print("message   {}\ntype      {}\ntenant    {}\nstatus    {}\n", id, view->message.type,
             view->message.tenant_name, message_status(*view));
  const std::size_t shown = std::min<std::size_t>(view->deliveries.size(), kDeliveriesShown);
  for (std::size_t i = 0; i < shown; ++i) {
    const Delivery& d = view->deliveries[i].delivery;
    fmt::print("delivery  {} to {}: {}\n", to_text(d.channel), d.recipient.empty() ? "nobody" : d.recipient, about(d));
  }
  if (shown < view->counts.total) fmt::print("          … and {} more\n", view->counts.total - shown);
  fmt::print("\n");
  fmt::print("{}", story_text(explain_message(*view, kShown)));
  return 0;
}

int run_explain(const Common& common, const ExplainOptions& options) {
  if (options.message.empty() == options.recipient.empty()) return fail("name a message, or --recipient ADDRESS");
  auto v = visit(common, Ids::NotNeeded);
  if (!v) return fail(v.error());
  const auto story = options.message.empty() ? story_of_recipient(options, **v) : story_of_message(options, **v);
  if (!story) return fail(story.error());
  fmt::print("{}{}", common.json ? story_json(*story) : story_text(*story), common.json ? "\n" : "");
  return 0;
}

}  // namespace postrider::app
