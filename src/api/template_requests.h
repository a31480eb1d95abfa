// What the two views of templates share: reading a body, asking and changing the store, and what is told about a text.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "api/query.h"
#include "api/resources.h"
#include "base/json.h"
#include "core/authoring/template_lint.h"
#include "core/authoring/template_source.h"

namespace postrider {

ApiError wrong_template(std::string_view field, std::string_view what);
/// An absent or null member leaves `into` as it is.
std::optional<ApiError> read_text(JsonView object, std::string_view name, std::string& into);
std::optional<ApiError> read_flag(JsonView object, std::string_view name, bool& into);

/// One request's way to the templates of the tenant that it is about.
class TemplateRequest {
 public:
  TemplateRequest(const ApiParts& parts, Worker& worker, const ApiRequest& request)
      : parts_(parts), worker_(worker), request_(request) {}

  /// First: the parameters, the tenant, and a session.
  std::optional<ApiError> open(std::initializer_list<std::string_view> parameters);
  /// The same of one template: its number is in the path, and what is none is answered like one that is not there.
  std::optional<ApiError> open_one(std::initializer_list<std::string_view> parameters);
  /// Then the body, a JSON object; `known` are its fields.
  std::optional<ApiError> read_body(std::span<const std::string_view> known);

  [[nodiscard]] const Query& query() const { return query_; }
  [[nodiscard]] const Rules& rules() const { return parts_.rules; }
  [[nodiscard]] std::optional<TenantId> tenant() const { return tenant_; }
  [[nodiscard]] std::int64_t id() const { return id_; }
  [[nodiscard]] JsonView body() const { return body_->root(); }
  /// Whose settings a template is written by; the first tenant for common templates that nobody's key asks about.
  [[nodiscard]] const Tenant& writing_tenant(TenantId of) const;
  StoreSession& store() { return *session_; }
  [[nodiscard]] ApiError failed(const Error& error);

  /// The one that was asked for; version 0 is the newest.
  std::variant<StoredTemplate, ApiError> find(int version = 0);
  /// Refused when its shape is wrong or a text does not compile. The engine of this node learns of it at once.
  struct Saved {
    StoredTemplate entry = {};
    std::vector<Finding> findings = {};
  };
  /// As a new one where `id` is 0.
  std::variant<Saved, ApiError> save(const TemplateSource& source, std::int64_t id);
  /// The one that was asked for, changed; it stays the template that it is.
  std::variant<Saved, ApiError> change(const TemplateSource& before, const TemplateSource& source);
  std::variant<Removal, ApiError> remove();

 private:
  [[nodiscard]] OperatorAction by() const { return {.actor = request_.caller.name, .tenant = tenant_}; }

  const ApiParts& parts_;
  Worker& worker_;
  const ApiRequest& request_;
  Query query_;
  std::optional<TenantId> tenant_;
  std::int64_t id_ = 0;
  std::optional<JsonDocument> body_;
  StoreSession* session_ = nullptr;
};

}  // namespace postrider
