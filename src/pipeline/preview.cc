#include "pipeline/preview.h"

#include "base/limits.h"
#include "pipeline/catalog.h"
#include "ports/store.h"

namespace postrider {
namespace {

constexpr JsonLimits kDataLimits{.bytes_max = 4 * kPayloadBytesMax, .depth_max = kJsonDepthMax + 2};

std::vector<std::string> one_by_one(std::string_view warnings) {
  constexpr std::string_view kBetween = "; ";
  std::vector<std::string> out;
  while (!warnings.empty()) {
    const std::size_t end = warnings.find(kBetween);
    out.emplace_back(warnings.substr(0, end));
    warnings.remove_prefix(end == std::string_view::npos ? warnings.size() : end + kBetween.size());
  }
  return out;
}

// A provider's parameters are single values: they are written as a text would be.
void write_params(Preview& out, const LocalText& text, JsonView data, const Author& author) {
  RenderOptions options{.formatter = author.rules.formatter, .locale = out.locale};
  options.zone = author.timezone.empty() ? std::string_view{author.tenant.writing.timezone} : author.timezone;
  for (const auto& [name, compiled] : text.provider_params) {
    auto rendered = compiled.render(data, options);
    out.provider_params.emplace_back(name, rendered ? std::move(rendered->text) : std::string{});
  }
}

}  // namespace

Result<Preview> preview(const StoredTemplate& content, const PreviewRequest& request) {
  POSTRIDER_TRY(compiled, compile_template(content, request.tenant.name));
  auto data = JsonDocument::parse(request.data, kDataLimits);
  if (!data) return Error{ErrorCode::Invalid, "the data: " + data.error().text};
  Preview out;
  out.locale = !request.locale.empty() ? std::string{request.locale}
                                       : locale_for(request.tenant, request.contact, request.wished);
  auto text = compiled.text(out.locale, request.tenant.writing.fallbacks);
  if (!text) return Error{ErrorCode::Invalid, text.error().text};
  if (!(*text)->locale.empty()) out.locale = (*text)->locale;
  const bool own_zone = request.timezone.empty() && request.contact != nullptr;
  const std::string_view zone = own_zone ? std::string_view{request.contact->timezone} : request.timezone;
  const Author author{request.rules,
                      request.partials,
                      request.tenant,
                      request.rules.route(request.tenant.name, content.type),
                      compiled.channel,
                      out.locale,
                      zone};
  auto written = write_content(compiled, data->root(), author);
  if (const auto* refused = std::get_if<Unwritable>(&written)) return Error{ErrorCode::Invalid, refused->detail};
  out.content = std::get<Content>(std::move(written));
  out.warnings = one_by_one(out.content.warnings);
  out.provider_template = (*text)->provider_template;
  write_params(out, **text, data->root(), author);
  if (content.channel == Channel::Sms) out.sms = sms_size(out.content.body);
  return out;
}

std::string contact_of(const MessageView& view) {
  if (!view.message.contact.empty() || view.deliveries.empty()) return view.message.contact;
  return view.deliveries.front().delivery.contact;
}

}  // namespace postrider
