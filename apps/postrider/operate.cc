#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "base/json.h"
#include "base/limits.h"
#include "commands.h"
#include "pipeline/outbox_row.h"

namespace postrider::app {
namespace {

/// What an action is about to change: deliveries, or whole messages for replay and for expansions that wait.
struct Targets {
  std::vector<RowId> deliveries = {};
  std::vector<Uuid> messages = {};
  std::size_t matching = 0;  // of these, as far as one can tell
  [[nodiscard]] std::size_t size() const { return deliveries.size() + messages.size(); }
};

bool applies(std::string_view action, DeliveryState state) {
  if (action == "retry" || action == "discard") return state == DeliveryState::Parked;
  if (action == "dispatch") return state == DeliveryState::Retrying;
  if (action == "replay") return false;
  return state == DeliveryState::Queued || state == DeliveryState::Retrying ||
         state == DeliveryState::Sending;  // cancel
}

// All of them: the store leaves alone what the action is not for, and looking at each would take longer.
Result<Done> add_deliveries(StoreSession& session, RowId message, Targets& out) {
  for (DeliveryRange range{.count_max = kBatchMax};;) {
    POSTRIDER_TRY(ids, session.deliveries_of(message, range));
    if (ids.empty()) return Done{};
    out.deliveries.insert(out.deliveries.end(), ids.begin(), ids.end());
    range.after = ids.back();
  }
}

Result<Targets> named(const OperateOptions& options, StoreSession& session, std::optional<TenantId> tenant) {
  Targets out;
  for (const std::string& text : options.messages) {
    const auto id = parse_uuid(text);
    if (!id) return Error{ErrorCode::Invalid, fmt::format("\"{}\" is not a message id", text)};
    POSTRIDER_TRY(view, session.message(tenant, *id, {.count_max = 0}));
    const bool expansion_waits = options.action == "dispatch" && view.next_attempt;
    if (options.action == "replay" || expansion_waits) {
      out.messages.push_back(*id);
      ++out.matching;
    }
    for (const auto& [state, count] : view.counts.by_state) {
      if (applies(options.action, state)) out.matching += count;
    }
    if (options.action != "replay") POSTRIDER_TRY_DONE(add_deliveries(session, view.message.id, out));
  }
  return out;
}

Result<Targets> filtered(const OperateOptions& options, StoreSession& session, std::optional<TenantId> tenant) {
  Targets out;
  const bool replay = options.action == "replay";
  std::vector<std::string> states{replay ? "failed" : (options.action == "dispatch" ? "retrying" : "parked")};
  if (replay) states.emplace_back("ignored");
  if (options.action == "cancel") states = {"queued", "retrying", "sending"};
  if (!options.state.empty()) states = {options.state};
  for (const std::string& state : states) {
    ListFilter filter{.tenant = tenant, .state = state, .type = options.type, .count_max = kBatchMax};
    for (;;) {
      POSTRIDER_TRY(page, session.list(filter));
      for (const ListItem& item : page) {
        if (replay) {
          out.messages.push_back(item.message_uuid);
        } else if (item.delivery && applies(options.action, item.delivery->state)) {
          out.deliveries.push_back(item.delivery->delivery.id);
        }
      }
      if (page.size() < filter.count_max || page.back().id == 0) break;
      filter.before = page.back().id;
    }
  }
  out.matching = out.size();
  return out;
}

Result<Acted> act(const OperateOptions& options, StoreSession& session, Instant now, const OperatorAction& who,
                  std::span<const RowId> deliveries, std::span<const Uuid> messages) {
  if (options.action == "retry") return session.retry(now, who, deliveries);
  if (options.action == "discard") return session.discard(now, who, deliveries);
  if (options.action == "cancel") return session.cancel(now, who, deliveries);
  if (options.action == "replay") return session.replay(now, who, messages);
  POSTRIDER_TRY(acted, session.dispatch_expand(now, who, messages));
  if (deliveries.empty()) return acted;  // to the store, none named means all
  POSTRIDER_TRY(more, session.dispatch(now, who, deliveries));
  acted.changed += more.changed;
  return acted;
}

// A bar on a terminal, nothing in a pipe.
void show_progress(std::size_t done, std::size_t all) {
  if (::isatty(STDERR_FILENO) == 0) return;
  const std::size_t width = all == 0 ? 40 : done * 40 / all;
  fmt::print(stderr, "\r[{:<40}] {}/{}{}", std::string(width, '#'), done, all, done >= all ? "\n" : "");
}

Result<Acted> act_in_batches(const OperateOptions& options, StoreSession& session, const OperatorAction& who,
                             const Targets& targets) {
  Acted all;
  for (std::size_t from = 0; from < targets.size(); from += kBatchMax) {
    POSTRIDER_TRY(now, session.database_now());
    const auto part = [&](const auto& whole) {
      const std::size_t begin = std::min(from, whole.size());
      return std::span{whole}.subspan(begin, std::min(kBatchMax, whole.size() - begin));
    };
    POSTRIDER_TRY(acted, act(options, session, now, who, part(targets.deliveries), part(targets.messages)));
    all.changed += acted.changed;
    all.marked += acted.marked;
    show_progress(std::min(targets.size(), from + kBatchMax), targets.size());
  }
  return all;
}

/// What a dry run counts: deliveries that wait, and messages that have none yet.
Result<CancelledEntity> count_waiting(StoreSession& session, const EntityRef& entity) {
  CancelledEntity out;
  ListFilter filter{.tenant = entity.tenant, .type = entity.type, .entity = entity.id, .count_max = kBatchMax};
  for (;;) {
    POSTRIDER_TRY(page, session.list(filter));
    for (const ListItem& item : page) {
      if (!item.delivery) {
        out.messages +=
            item.message_state == MessageState::Pending || item.message_state == MessageState::Expanding ? 1U : 0U;
      } else if (item.delivery->state == DeliveryState::Sending) {
        ++out.marked;
      } else if (applies("cancel", item.delivery->state)) {
        ++out.deliveries;
      } else {
        ++out.left[item.delivery->state];
      }
    }
    if (page.size() < filter.count_max || page.back().id == 0) return out;
    filter.before = page.back().id;
  }
}

int cancel_entity(const Common& common, const OperateOptions& options) {
  if (!options.messages.empty() || options.all || !options.state.empty()) {
    return fail("--entity goes with --type, --tenant, --why and --dry-run only");
  }
  auto v = visit(common, Ids::Needed);
  if (!v) return fail(v.error());
  const std::string name = options.tenant.empty() ? "default" : options.tenant;
  const Tenant* tenant = (*v)->rules.tenant(name);
  if (tenant == nullptr) return fail(fmt::format("there is no tenant \"{}\" in the configuration", name));
  const EntityRef entity{.tenant = tenant->id, .id = options.entity, .type = options.type};
  StoreSession& session = *(*v)->session;
  const auto now = session.database_now();
  if (!now) return fail(now.error());
  const auto seed = static_cast<std::uint64_t>(to_us(*now));
  const auto done = options.dry_run
                        ? count_waiting(session, entity)
                        : session.cancel_entity(*now, operator_of(options.why, tenant->id), entity,
                                                cancelling((*v)->rules, *(*v)->ids, *now, seed, options.why));
  if (!done) return fail(done.error());
  if (common.json) {
    JsonWriter json;
    json.begin_object().member("action", "cancel").member("entity_id", entity.id);
    json.member("messages", done->messages).member("deliveries", done->deliveries).member("marked", done->marked);
    json.key("left").begin_object();
    for (const auto& [state, count] : done->left) json.member(to_text(state), count);
    fmt::print("{}\n", json.end_object().member("dry_run", options.dry_run).end_object().take());
    return 0;
  }
  std::string left;
  const std::string marked = done->marked == 0 ? "" : fmt::format("; being sent and not tried again: {}", done->marked);
  for (const auto& [state, count] : done->left) left += fmt::format(", {} {}", count, to_text(state));
  fmt::print("cancel: {} deliveries and {} messages of {}{}{}{}\n", done->deliveries, done->messages, entity.id, marked,
             left.empty() ? "" : fmt::format("; left as they are:{}", left.substr(1)),
             options.dry_run ? " (dry run)" : "");
  return 0;
}

}  // namespace

int run_operate(const Common& common, const OperateOptions& options) {
  if (!options.entity.empty()) return cancel_entity(common, options);
  if (options.messages.empty() && !options.all) return fail("name messages, or say --all");
  auto v = visit(common, Ids::Needed);
  if (!v) return fail(v.error());
  const auto tenant = tenant_named((*v)->rules, options.tenant);
  if (!tenant) return fail(tenant.error());
  StoreSession& session = *(*v)->session;
  auto targets = options.messages.empty() ? filtered(options, session, *tenant) : named(options, session, *tenant);
  if (!targets) return fail(targets.error());
  OperatorAction who = operator_of(options.why, *tenant);
  who.exempt = (*v)->rules.exempt_categories();
  Result<Acted> acted = Acted{};
  if (!options.dry_run) acted = act_in_batches(options, session, who, *targets);
  if (!acted) return fail(acted.error());
  if (common.json) {
    JsonWriter json;
    json.begin_object().member("action", options.action).member("matching", targets->matching);
    json.member("changed", acted->changed);
    if (options.action == "cancel") json.member("marked", acted->marked);
    fmt::print("{}\n", json.member("dry_run", options.dry_run).end_object().take());
  } else {
    fmt::print("{}: {} matching, {} changed{}{}\n", options.action, targets->matching, acted->changed,
               acted->marked == 0 ? "" : fmt::format(" ({} being sent: not tried again)", acted->marked),
               options.dry_run ? " (dry run)" : "");
  }
  return acted->changed == 0 && !options.dry_run && !options.messages.empty() ? 1 : 0;
}

}  // namespace postrider::app
