#include "store/postgres/session.h"

namespace postrider::postgres {
namespace {
const Error kNotYet{ErrorCode::Unsupported, "not yet"};
}

Result<std::int64_t> PostgresSession::catalog_version() {
  return run([](Connection& c) { return c.use("catalog_version").integer().value_or(0); });
}
Result<std::vector<StoredTemplate>> PostgresSession::templates(const TemplateFilter&) {
  return std::vector<StoredTemplate>{};
}
Result<StoredTemplate> PostgresSession::template_version(std::optional<TenantId>, std::int64_t, int) { return kNotYet; }
Result<std::vector<StoredTemplate>> PostgresSession::save_templates(Instant, const OperatorAction&,
                                                                    std::span<const StoredTemplate>) {
  return kNotYet;
}
Result<Removal> PostgresSession::remove_template(Instant, const OperatorAction&, std::int64_t) { return kNotYet; }

}  // namespace postrider::postgres
