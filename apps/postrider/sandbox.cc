// What the providers that send nothing anywhere (sandbox, shim) would have sent: one line for each effect.
#include <fmt/format.h>

#include <algorithm>

#include "api/views.h"
#include "base/text.h"
#include "commands.h"

namespace postrider::app {
namespace {

constexpr std::size_t kPage = 500;

Result<std::vector<SandboxItem>> effects(Visit& v, std::optional<TenantId> tenant, std::size_t limit) {
  std::vector<ProviderId> local;
  for (const ProviderConfig& each : v.config.providers) {
    const ProviderRule* rule = v.rules.provider(each.settings.name);
    if (rule != nullptr && (each.settings.type == "sandbox" || each.settings.type == "shim")) local.push_back(rule->id);
  }
  std::vector<SandboxItem> all;
  std::optional<RowId> before;
  while (all.size() < limit) {
    POSTRIDER_TRY(page, v.session->sandbox(tenant, local, before, std::min(kPage, limit - all.size())));
    if (page.empty()) break;
    before = page.back().id;
    all.insert(all.end(), std::make_move_iterator(page.begin()), std::make_move_iterator(page.end()));
  }
  return all;
}

}  // namespace

int run_sandbox(const Common& common, const SandboxOptions& options) {
  auto v = visit(common, Ids::NotNeeded);
  if (!v) return fail(v.error());
  const auto tenant = tenant_named((*v)->rules, options.tenant);
  if (!tenant) return fail(tenant.error());
  const auto items = effects(**v, *tenant, static_cast<std::size_t>(options.limit));
  if (!items) return fail(items.error());
  const auto words = producers_words(*(*v)->session, *items);
  if (!words) return fail(words.error());
  if (common.json) {
    fmt::print("{}\n", sandbox_json({*items, *words, ""}, (*v)->rules, Addresses::Plain));
    return 0;
  }
  for (std::size_t i = 0; i < items->size(); ++i) {
    const SandboxItem& item = (*items)[i];
    const Delivery& d = item.delivery;
    const std::string& message_key = (*words)[i].key;
    fmt::print("{}  {}  {}  {}  {}  {}  {}{}\n", format_instant(item.sent_at),
               item.calls == 1 ? "1 call" : fmt::format("{} calls", item.calls), to_text(d.channel), d.type,
               printable(d.key), printable(d.recipient), printable(excerpt(d.body, 60)),
               message_key.empty() ? "" : fmt::format("  (message {})", printable(message_key)));
  }
  if (items->empty()) fmt::print(stderr, "nothing was sent through a sandbox or a shim\n");
  return 0;
}

}  // namespace postrider::app
