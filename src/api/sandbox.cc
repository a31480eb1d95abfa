// GET /api/v1/sandbox/messages: what the providers that keep everything to themselves would have sent.
#include "api/query.h"
#include "api/resources.h"
#include "api/views.h"

namespace postrider {

Answered list_sandbox(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  const auto read = Query::read(request.in.query, {"tenant", "limit", "cursor"});
  if (const auto* wrong = std::get_if<ApiError>(&read)) return *wrong;
  const Query& query = std::get<Query>(read);
  const auto about = tenant_of(parts, request.caller, query.find("tenant"));
  if (const auto* wrong = std::get_if<ApiError>(&about)) return *wrong;
  const auto read_size = read_limit(query);
  if (const auto* wrong = std::get_if<ApiError>(&read_size)) return *wrong;
  const auto cursor = read_cursor(query);
  if (const auto* wrong = std::get_if<ApiError>(&cursor)) return *wrong;

  const std::size_t limit = std::get<std::size_t>(read_size);
  const auto session = worker.session();
  if (!session) return store_failed(worker, session.error());
  auto items = (*session)->sandbox(std::get<std::optional<TenantId>>(about), parts.local_providers,
                                   std::get<std::optional<RowId>>(cursor), limit + 1);
  if (!items) return store_failed(worker, items.error());
  std::string next;
  if (items->size() > limit) {
    items->resize(limit);
    next = format_cursor(items->back().id);
  }
  const auto words = producers_words(**session, *items);
  if (!words) return store_failed(worker, words.error());
  const Addresses shown = request.caller.sees_addresses() ? Addresses::Plain : Addresses::Masked;
  HttpOut out;
  out.body = sandbox_json({*items, *words, std::move(next)}, parts.rules, shown);
  return out;
}

}  // namespace postrider
