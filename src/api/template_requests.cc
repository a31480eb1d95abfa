#include "api/template_requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "api/message_reader.h"
#include "base/text.h"
#include "pipeline/template_sources.h"

namespace postrider {

ApiError wrong_template(std::string_view field, std::string_view what) {
  return {.code = ApiErrorCode::InvalidTemplate,
          .message = fmt::format("{} {}. Nothing was stored.", field, what),
          .field = std::string{field}};
}

std::variant<JsonDocument, ApiError> read_object(const HttpIn& in, std::span<const std::string_view> known) {
  if (media_type(in) != "application/json" || !says_utf8(in)) {
    return ApiError{.code = ApiErrorCode::UnsupportedMediaType,
                    .message = "Send JSON in UTF-8 with the header \"Content-Type: application/json\"."};
  }
  auto body = read_body(in.body);
  if (const auto* wrong = std::get_if<ApiError>(&body)) return *wrong;
  const JsonView root = std::get<JsonDocument>(body).root();
  if (!root.is_object()) return wrong_template("The body", "is not a JSON object");
  for (const auto& [name, value] : root.members()) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return ApiError{
          .code = ApiErrorCode::UnknownField,
          .message = fmt::format("\"{}\" is not known here; there is {}.", excerpt(name, 60), fmt::join(known, ", ")),
          .field = excerpt(name, 60)};
    }
  }
  return body;
}

std::optional<ApiError> read_text(JsonView object, std::string_view name, std::string& into) {
  const auto value = object.find(name);
  if (!value || value->kind() == JsonKind::Null) return std::nullopt;
  const auto text = value->text();
  if (!text) return wrong_template(name, "must be a text");
  into = *text;
  return std::nullopt;
}

std::optional<ApiError> read_flag(JsonView object, std::string_view name, bool& into) {
  const auto value = object.find(name);
  if (!value || value->kind() == JsonKind::Null) return std::nullopt;
  const auto flag = value->boolean();
  if (!flag) return wrong_template(name, "must be true or false");
  into = *flag;
  return std::nullopt;
}

namespace {
ApiError no_template() { return {.code = ApiErrorCode::NotFound, .message = "There is no such template."}; }
}  // namespace

std::variant<std::int64_t, ApiError> read_template_id(const ApiRequest& request) {
  std::int64_t id = 0;
  const char* end = request.id.data() + request.id.size();
  const auto [stop, error] = std::from_chars(request.id.data(), end, id);
  if (error != std::errc{} || stop != end || id <= 0) return no_template();
  return id;
}

std::optional<ApiError> TemplateRequest::open(std::initializer_list<std::string_view> parameters) {
  auto read = Query::read(request_.in.query, parameters);
  if (auto* wrong = std::get_if<ApiError>(&read)) return std::move(*wrong);
  query_ = std::get<Query>(std::move(read));
  const auto about = tenant_of(parts_, request_.caller, query_.find("tenant"));
  if (const auto* wrong = std::get_if<ApiError>(&about)) return *wrong;
  tenant_ = std::get<std::optional<TenantId>>(about);
  const auto session = worker_.session();
  if (!session) return store_failed(worker_, session.error());
  session_ = *session;
  return std::nullopt;
}

const Tenant& TemplateRequest::writing_tenant(TenantId of) const {
  const Tenant* own = of != 0 ? parts_.rules.tenant(of) : tenant_ ? parts_.rules.tenant(*tenant_) : nullptr;
  return own != nullptr ? *own : parts_.rules.tenants.front();
}

ApiError TemplateRequest::failed(const Error& error) {
  if (error.code == ErrorCode::NotFound) return no_template();
  if (error.code == ErrorCode::Conflict) {
    return {.code = ApiErrorCode::Conflict,
            .message =
                "Another template has this key, channel and scope, or is the active one for this type, channel "
                "and scope. Change that one, or deactivate it first. Nothing was stored."};
  }
  return store_failed(worker_, error);
}

std::variant<StoredTemplate, ApiError> TemplateRequest::find(std::int64_t id, int version) {
  auto found = session_->template_version(tenant_, id, version);
  if (!found) return failed(found.error());
  return std::move(*found);
}

std::variant<TemplateRequest::Saved, ApiError> TemplateRequest::save(const TemplateSource& source, std::int64_t id) {
  if (const auto problem = shape_problem(source)) return wrong_template(problem->field, problem->what);
  const auto stored = all_templates(*session_, tenant_);
  if (!stored) return failed(stored.error());
  const std::vector<TemplateSource> others = sources_of(*stored, parts_.rules);
  Saved saved{.findings = lint({parts_.rules, {&source, 1}, others})};
  for (const Finding& finding : saved.findings) {
    if (finding.kind == FindingKind::Broken)
      return wrong_template(
          finding.part, finding.locale.empty() ? finding.text : fmt::format("({}) {}", finding.locale, finding.text));
  }
  const Tenant* tenant = parts_.rules.tenant(source.tenant);
  StoredTemplate wanted = stored_of(source, tenant != nullptr ? tenant->id : 0);
  wanted.id = id;
  auto entries = session_->save_templates(parts_.clock.now(), by(), {&wanted, 1});
  if (!entries) return failed(entries.error());
  parts_.catalog_changed();
  saved.entry = std::move(entries->front());
  return saved;
}

std::variant<Removal, ApiError> TemplateRequest::remove(std::int64_t id) {
  const auto removal = session_->remove_template(parts_.clock.now(), by(), id);
  if (!removal) return failed(removal.error());
  parts_.catalog_changed();
  return *removal;
}

}  // namespace postrider
