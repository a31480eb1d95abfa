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

std::optional<ApiError> TemplateRequest::open_one(std::initializer_list<std::string_view> parameters) {
  if (auto wrong = open(parameters)) return wrong;
  const char* end = request_.id.data() + request_.id.size();
  const auto [stop, error] = std::from_chars(request_.id.data(), end, id_);
  if (error != std::errc{} || stop != end || id_ <= 0) return no_template();
  return std::nullopt;
}

std::optional<ApiError> TemplateRequest::read_body(std::span<const std::string_view> known) {
  if (media_type(request_.in) != "application/json" || !says_utf8(request_.in)) {
    return ApiError{.code = ApiErrorCode::UnsupportedMediaType,
                    .message = "Send JSON in UTF-8 with the header \"Content-Type: application/json\"."};
  }
  auto read = postrider::read_body(request_.in.body);
  if (auto* wrong = std::get_if<ApiError>(&read)) return std::move(*wrong);
  body_ = std::get<JsonDocument>(std::move(read));
  if (!body().is_object()) return wrong_template("The body", "is not a JSON object");
  for (const auto& [name, value] : body().members()) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return ApiError{
          .code = ApiErrorCode::UnknownField,
          .message = fmt::format("\"{}\" is not known here; there is {}.", excerpt(name, 60), fmt::join(known, ", ")),
          .field = excerpt(name, 60)};
    }
  }
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

std::variant<StoredTemplate, ApiError> TemplateRequest::find(int version) {
  auto found = session_->template_version(tenant_, id_, version);
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

std::variant<TemplateRequest::Saved, ApiError> TemplateRequest::change(const TemplateSource& before,
                                                                       const TemplateSource& source) {
  if (!source.is(before))
    return wrong_template("key, channel and scope", "stay as they are: make a new template for another");
  return save(source, id_);
}

std::variant<Removal, ApiError> TemplateRequest::remove() {
  const auto removal = session_->remove_template(parts_.clock.now(), by(), id_);
  if (!removal) return failed(removal.error());
  parts_.catalog_changed();
  return *removal;
}

}  // namespace postrider
