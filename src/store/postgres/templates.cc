#include "store/common/templates.h"

#include "store/postgres/session.h"

namespace postrider::postgres {
namespace {

[[noreturn]] void refuse(Error error) { throw Failure{error.code, std::move(error.text)}; }

}  // namespace

Result<std::int64_t> PostgresSession::catalog_version() {
  return run([](Connection& c) { return c.use("catalog_version").integer().value_or(0); });
}

Result<std::vector<StoredTemplate>> PostgresSession::templates(const TemplateFilter& filter) {
  return run([&](Connection& c) { return common::find_templates(c, filter); });
}

Result<StoredTemplate> PostgresSession::template_version(std::optional<TenantId> tenant, std::int64_t id, int version) {
  POSTRIDER_TRY(found, run([&](Connection& c) { return common::find_template(c, id, version); }));
  if (!found || !is_for(*found, tenant)) return no_such_template(id);
  return std::move(*found);
}

Result<std::vector<StoredTemplate>> PostgresSession::save_templates(Instant now, const OperatorAction& by,
                                                                    std::span<const StoredTemplate> wanted) {
  return transact([&](Connection& c) { return common::TemplateChanges<Connection>{c, now, by, &refuse}.save(wanted); });
}

Result<Removal> PostgresSession::remove_template(Instant now, const OperatorAction& by, std::int64_t id) {
  return transact([&](Connection& c) { return common::TemplateChanges<Connection>{c, now, by, &refuse}.remove(id); });
}

}  // namespace postrider::postgres
