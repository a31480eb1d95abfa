#include "core/content.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/limits.h"
#include "base/text.h"

namespace postrider {
namespace {

void warn(Content& content, std::string_view what, std::vector<std::string>& keys) {
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  for (const std::string& key : keys) {
    content.warnings += fmt::format("{}{} {}", content.warnings.empty() ? "" : "; ", what, key);
  }
}

RenderOptions options_for(const Author& author, const LocalText& text) {
  const Writing& writing = author.tenant.writing;
  RenderOptions options{.missing = writing.missing_keys, .formatter = author.rules.formatter};
  options.locale = text.locale.empty() ? author.locale : std::string_view{text.locale};
  options.zone = author.timezone.empty() ? std::string_view{writing.timezone} : author.timezone;
  const bool own_format = author.route != nullptr && !author.route->date_format.empty();
  options.date_format = own_format ? author.route->date_format : writing.date_format;
  options.partials = author.templates.partials(author.tenant.name, options.locale);
  if (author.channel == Channel::Sms) options.spaces = Spaces::Plain;
  return options;
}

// PostgreSQL cannot keep a NUL in a text, and one such row would hold up its whole batch. A subject is one short line,
// whatever the data says.
void tidy(Content& content) {
  for (std::string* part : {&content.body, &content.html}) std::replace(part->begin(), part->end(), '\0', ' ');
  if (has_control(content.subject)) content.subject = printable(content.subject);
  if (content.subject.size() > kTextFieldBytesMax * 4)
    content.subject = excerpt(content.subject, kTextFieldBytesMax * 4);
}

}  // namespace

std::variant<Content, Unwritable> write_content(const Template& content, JsonView data, const Author& author) {
  const auto text = content.text(author.locale, author.tenant.writing.fallbacks);
  if (!text) return Unwritable{Reason::TemplateNotFound, text.error().text};
  RenderOptions options = options_for(author, **text);
  struct Part {
    const CompiledText& text;
    Escape escape;
    std::string& into;
  };
  Content out;
  std::vector<std::string> missing;
  std::vector<std::string> unformatted;
  for (const Part& part : {Part{(*text)->subject, Escape::None, out.subject},
                           Part{(*text)->body, Escape::None, out.body}, Part{(*text)->html, Escape::Html, out.html}}) {
    options.escape = part.escape;
    auto rendered = part.text.render(data, options);
    if (!rendered) {
      const bool large = rendered.error().code == ErrorCode::Exhausted;
      return Unwritable{large ? Reason::ContentTooLarge : Reason::TemplateBroken, rendered.error().text};
    }
    part.into = std::move(rendered->text);
    std::move(rendered->missing.begin(), rendered->missing.end(), std::back_inserter(missing));
    std::move(rendered->unformatted.begin(), rendered->unformatted.end(), std::back_inserter(unformatted));
  }
  warn(out, "no value for", missing);
  warn(out, "not formatted:", unformatted);
  out.warnings = excerpt(out.warnings, kExcerptBytesMax);
  tidy(out);  // The renderer saw to the size.
  return out;
}

std::optional<Unwritable> make_sendable(Content& content) {
  tidy(content);
  if (content.body.size() <= kContentBytesMax) return std::nullopt;
  return Unwritable{Reason::ContentTooLarge, fmt::format("more than {} bytes", kContentBytesMax)};
}

std::string locale_for(const Tenant& tenant, const Contact* contact, std::string_view wished) {
  const Writing& writing = tenant.writing;
  // A tenant that names no locales of its own writes in whatever it is asked for.
  const LocaleMatching matching = writing.locales.empty() ? LocaleMatching::Exact : writing.matching;
  return choose_locale({.contact = contact != nullptr ? std::string_view{contact->locale} : std::string_view{},
                        .accept_language = wished,
                        .tenant_default = writing.locale,
                        .tenant_locales = writing.locales,
                        .matching = matching})
      .locale;
}

std::string contact_data(const Contact& contact) {
  JsonWriter own;
  own.begin_object().member("key", contact.key).member("name", contact.name).member("locale", contact.locale);
  own.end_object();
  return merged_data({.payload = contact.attributes, .record = own.text()});
}

}  // namespace postrider
