// What the store knows and the engine keeps in memory: templates, and whether there is any address not to be written
// to.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/rules.h"
#include "ports/store.h"

namespace postrider {

/// A stored template made ready: every text compiled. Invalid: which text is wrong, and where.
Result<Template> compile_template(const StoredTemplate& stored, std::string_view tenant_name);

class Catalog {
 public:
  explicit Catalog(const Rules& rules) : rules_(rules) {}

  /// Reads the templates again when they changed; asks at most once a second. A template that cannot be compiled is
  /// left out and told in problems().
  Result<Done> refresh_if_due(StoreSession& store, Instant now);
  Result<Done> refresh(StoreSession& store);
  /// Whether the store's templates are others than those here.
  Result<bool> is_stale(TemplateStore& store) const;

  /// The stored templates before those of the configuration file.
  [[nodiscard]] const TemplateSet& templates() const { return templates_ ? *templates_ : rules_.templates; }
  [[nodiscard]] bool any_suppression() const { return any_suppression_; }
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

 private:
  Result<Done> load(StoreSession& store);

  static constexpr Duration kAskEvery = std::chrono::seconds{1};
  const Rules& rules_;
  std::shared_ptr<const TemplateSet> templates_;
  std::int64_t version_ = -1;
  bool any_suppression_ = true;  // until we know
  Instant asked_at_ = {};
  std::vector<std::string> problems_;
};

}  // namespace postrider
