#include "store/model/model_session.h"

namespace postrider::model {
namespace {
const Error kNotYet{ErrorCode::Unsupported, "not yet"};
}

Result<std::int64_t> ModelSession::catalog_version() { return std::int64_t{1}; }
Result<std::vector<StoredTemplate>> ModelSession::templates(const TemplateFilter&) {
  return std::vector<StoredTemplate>{};
}
Result<StoredTemplate> ModelSession::template_version(std::optional<TenantId>, std::int64_t, int) { return kNotYet; }
Result<std::vector<StoredTemplate>> ModelSession::save_templates(Instant, const OperatorAction&,
                                                                 std::span<const StoredTemplate>) {
  return kNotYet;
}
Result<Removal> ModelSession::remove_template(Instant, const OperatorAction&, std::int64_t) { return kNotYet; }

}  // namespace postrider::model
