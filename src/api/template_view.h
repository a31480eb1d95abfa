// Templates, what is told about them, and what they would write, as JSON for callers.
#pragma once
#include <string_view>
#include <vector>

#include "api/mask.h"
#include "base/json.h"
#include "core/authoring/template_lint.h"
#include "pipeline/preview.h"

namespace postrider {

/// The name that a partial has in the place of a channel.
inline constexpr std::string_view kPartialChannel = "partial";

// Each writes members into an object that is open.
void write_template(JsonWriter& json, const StoredTemplate& entry, const Rules& rules);
/// Notes are left out: they say nothing that is wrong.
void write_findings(JsonWriter& json, std::string_view name, const std::vector<Finding>& findings);
void write_preview(JsonWriter& json, const Preview& made, const Mask& mask);

}  // namespace postrider
