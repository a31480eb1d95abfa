#include "store/sqlite/session.h"

namespace postrider::sqlite {
namespace {
const Error kNotYet{ErrorCode::Unsupported, "not yet"};
}

Result<std::int64_t> SqliteSession::catalog_version() {
  return read([](Connection& c) { return c.use("catalog_version").integer().value_or(0); });
}
Result<std::vector<StoredTemplate>> SqliteSession::templates(const TemplateFilter&) {
  return std::vector<StoredTemplate>{};
}
Result<StoredTemplate> SqliteSession::template_version(std::optional<TenantId>, std::int64_t, int) { return kNotYet; }
Result<std::vector<StoredTemplate>> SqliteSession::save_templates(Instant, const OperatorAction&,
                                                                  std::span<const StoredTemplate>) {
  return kNotYet;
}
Result<Removal> SqliteSession::remove_template(Instant, const OperatorAction&, std::int64_t) { return kNotYet; }

}  // namespace postrider::sqlite
