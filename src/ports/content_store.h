// Stored templates: versions, languages, scopes.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "core/channel.h"

namespace postrider {

struct OperatorAction;

/// One language of a stored template, as people wrote it.
struct StoredText {
  std::string locale = {};
  std::string subject = {};
  std::string body = {};
  std::string html = {};
  std::string provider_template = {};
  std::string provider_params = "[]";  // JSON: [["1","{{guestName}}"], …]
  auto operator<=>(const StoredText&) const = default;
};
struct StoredTemplate {
  std::int64_t id = 0;  // 0: new
  TenantId tenant = 0;  // 0: every tenant
  std::string key = {};
  std::string name = {};
  std::string type = {};                // empty: only for messages that name it
  std::optional<Channel> channel = {};  // empty: a partial, included by its key
  std::string scope_type = {};
  std::string scope_id = {};
  bool active = true;
  int version = 0;                     // given by the store
  std::vector<StoredText> texts = {};  // ordered by locale
  Instant created_at = {};
  Instant updated_at = {};  // when this version was made
};
struct TemplateFilter {
  std::optional<TenantId> tenant = {};  // empty: all; else this tenant's and the common ones
  std::string type = {};
  std::string key = {};
  std::optional<Channel> channel = {};
  std::optional<bool> active = {};
  std::int64_t after = 0;  // ids greater than this
  std::size_t count_max = 1000;
};
enum class Removal : std::uint8_t { Deleted, Deactivated };

class TemplateStore {
 public:
  virtual ~TemplateStore() = default;
  /// A number that grows with every change of a template or partial: whoever keeps them reads again when it moved.
  virtual Result<std::int64_t> catalog_version() = 0;
  /// The newest version of each, with its texts, ordered by id.
  virtual Result<std::vector<StoredTemplate>> templates(const TemplateFilter& filter) = 0;
  /// One version of one template (0: the newest). NotFound also when it is another tenant's.
  virtual Result<StoredTemplate> template_version(std::optional<TenantId> tenant, std::int64_t id, int version) = 0;
  /// All or none, in one transaction, an audit row each. id 0: made new; else the stored one takes name, type, active
  /// and texts (tenant, key, channel and scope stay as they are). A change of anything but the active flag makes a new
  /// version; what is the same as before changes nothing, not even the version. NotFound: no template of this tenant
  /// has that id. Conflict: another template has the same key, channel and scope, or another active one the same type,
  /// channel and scope. Returns them as they now stand.
  virtual Result<std::vector<StoredTemplate>> save_templates(Instant now, const OperatorAction& by,
                                                             std::span<const StoredTemplate> wanted) = 0;
  /// Deletes it with all versions; one that deliveries refer to is deactivated instead. NotFound as above.
  virtual Result<Removal> remove_template(Instant now, const OperatorAction& by, std::int64_t id) = 0;
};

}  // namespace postrider
