// Between templates as people write them and templates as the store keeps them.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/authoring/template_source.h"
#include "core/rules.h"
#include "ports/content_store.h"

namespace postrider {

TemplateSource source_of(const StoredTemplate& stored, const Rules& rules);
/// Without id and version.
StoredTemplate stored_of(const TemplateSource& source, TenantId tenant);

/// Every template of a tenant and the common ones (empty: all there are), page by page.
Result<std::vector<StoredTemplate>> all_templates(TemplateStore& store, std::optional<TenantId> tenant);
std::vector<TemplateSource> sources_of(const std::vector<StoredTemplate>& stored, const Rules& rules);
/// The active partials among them; one that is broken is left out.
TemplateSet partials_among(const std::vector<StoredTemplate>& stored, const Rules& rules);

}  // namespace postrider
