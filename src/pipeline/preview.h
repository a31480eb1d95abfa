// What a template would write, without sending it: the same steps as when a delivery is made.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/content.h"
#include "core/sms_segments.h"
#include "ports/content_store.h"

namespace postrider {

struct MessageView;

struct PreviewRequest {
  const Rules& rules;
  const Tenant& tenant;         // whose settings
  const TemplateSet& partials;  // that may be included
  std::string_view data = "{}";
  std::string_view locale = {};    // empty: as the tenant (and the contact) would have it
  std::string_view wished = {};    // the language that a message asks for, when no locale is given
  std::string_view timezone = {};  // empty: the contact's, else the tenant's
  const Contact* contact = nullptr;
};

struct Preview {
  Content content = {};
  std::string locale = {};  // that it is written in
  std::vector<std::string> warnings = {};
  std::string provider_template = {};
  std::vector<std::pair<std::string, std::string>> provider_params = {};
  std::optional<SmsSize> sms = {};
};

/// Invalid: it cannot be written, and why ("line 3, column 9: …", "Template x not found for locale de-DE").
Result<Preview> preview(const StoredTemplate& content, const PreviewRequest& request);
/// Whom a past message was for: the contact that it names, or that its route or list found for its first delivery.
std::string contact_of(const MessageView& view);

}  // namespace postrider
