#include "store/common/templates.h"

#include "store/sqlite/session.h"

namespace postrider::sqlite {
namespace {

[[noreturn]] void refuse(Error error) { throw Failure{std::move(error)}; }

}  // namespace

Result<std::int64_t> SqliteSession::catalog_version() {
  return read([](Connection& c) { return c.use("catalog_version").integer().value_or(0); });
}

Result<std::vector<StoredTemplate>> SqliteSession::templates(const TemplateFilter& filter) {
  return read([&](Connection& c) { return common::find_templates(c, filter); });
}

Result<StoredTemplate> SqliteSession::template_version(std::optional<TenantId> tenant, std::int64_t id, int version) {
  POSTRIDER_TRY(found, read([&](Connection& c) { return common::find_template(c, id, version); }));
  if (!found || !is_for(*found, tenant)) return no_such_template(id);
  return std::move(*found);
}

Result<std::vector<StoredTemplate>> SqliteSession::save_templates(Instant now, const OperatorAction& by,
                                                                  std::span<const StoredTemplate> wanted) {
  return writer_.transact([&](Connection& c) {
    return common::TemplateChanges<Connection>{c, now, by, &refuse}.save(wanted);
  });
}

Result<Removal> SqliteSession::remove_template(Instant now, const OperatorAction& by, std::int64_t id) {
  return writer_.transact([&](Connection& c) {
    return common::TemplateChanges<Connection>{c, now, by, &refuse}.remove(id);
  });
}

}  // namespace postrider::sqlite
