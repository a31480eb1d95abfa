#include "core/language.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace postrider {
namespace {

constexpr std::size_t kRangesMax = 64;
constexpr std::size_t kSubtagMax = 8;

struct Weighed {
  std::string_view range;
  int thousandths = 1000;
};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_range(std::string_view text) {
  if (text == "*") return true;
  bool first = true;
  for (const std::string_view subtag : split(text, '-')) {
    if (subtag.empty() || subtag.size() > kSubtagMax) return false;
    const bool well =
        std::all_of(subtag.begin(), subtag.end(), [&](char c) { return is_letter(c) || (!first && is_digit(c)); });
    if (!well) return false;
    first = false;
  }
  return true;
}

// 0, 1, 0.8, 0.875, 1.000
std::optional<int> thousandths_of(std::string_view text) {
  if (text.empty() || text.size() > 5 || (text[0] != '0' && text[0] != '1')) return std::nullopt;
  if (text.size() > 1 && text[1] != '.') return std::nullopt;
  int value = (text[0] - '0') * 1000;
  int unit = 100;
  for (const char c : text.substr(std::min<std::size_t>(2, text.size()))) {
    if (!is_digit(c)) return std::nullopt;
    value += (c - '0') * unit;
    unit /= 10;
  }
  if (value > 1000) return std::nullopt;
  return value;
}

std::optional<Weighed> read_element(std::string_view element) {
  const std::size_t semicolon = element.find(';');
  Weighed read{trim(element.substr(0, semicolon))};
  if (!is_range(read.range)) return std::nullopt;
  if (semicolon == std::string_view::npos) return read;
  const std::string_view weight = trim(element.substr(semicolon + 1));
  if (!starts_with_ignoring_case(weight, "q=")) return std::nullopt;
  const auto value = thousandths_of(weight.substr(2));
  if (!value) return std::nullopt;
  read.thousandths = *value;
  return read;
}

// Without its last subtag, and without a single letter that would then stand at the end (x in zh-x-private).
std::string_view shortened(std::string_view range) {
  const std::size_t hyphen = range.rfind('-');
  if (hyphen == std::string_view::npos) return {};
  range = range.substr(0, hyphen);
  const std::size_t before = range.rfind('-');
  const std::size_t last_begins = before == std::string_view::npos ? 0 : before + 1;
  if (range.size() - last_begins != 1) return range;
  return before == std::string_view::npos ? std::string_view{} : range.substr(0, before);
}

const std::string* spelled(std::span<const std::string> tags, std::string_view tag) {
  const auto found =
      std::find_if(tags.begin(), tags.end(), [&](const std::string& t) { return equal_ignoring_case(t, tag); });
  return found == tags.end() ? nullptr : &*found;
}

// A preference as people's systems write it (es_MX) in the form of a language tag; empty when it is none.
std::string as_tag(std::string_view text) {
  std::string tag{trim(text)};
  std::replace(tag.begin(), tag.end(), '_', '-');
  return tag != "*" && is_range(tag) ? tag : "";
}

}  // namespace

std::vector<std::string_view> acceptable_ranges(std::string_view header) {
  std::vector<Weighed> weighed;
  for (const std::string_view element : split(header, ',')) {
    const auto read = read_element(element);
    if (read && read->thousandths > 0) weighed.push_back(*read);
    if (weighed.size() == kRangesMax) break;
  }
  std::stable_sort(weighed.begin(), weighed.end(),
                   [](const Weighed& a, const Weighed& b) { return a.thousandths > b.thousandths; });
  std::vector<std::string_view> ranges;
  ranges.reserve(weighed.size());
  for (const Weighed& w : weighed) ranges.push_back(w.range);
  return ranges;
}

std::optional<LanguageMatch> look_up_language(std::span<const std::string_view> ranges,
                                              std::span<const std::string> available) {
  for (const std::string_view range : ranges) {
    if (range == "*") continue;  // It would be satisfied by anything, and so says nothing.
    for (std::string_view cut = range; !cut.empty(); cut = shortened(cut)) {
      if (const std::string* tag = spelled(available, cut)) return LanguageMatch{*tag, range};
    }
  }
  return std::nullopt;
}

ChosenLocale choose_locale(const LocaleWishes& wishes) {
  if (std::string wished = as_tag(wishes.contact); !wished.empty()) {
    const std::string* tag = spelled(wishes.tenant_locales, wished);
    return {tag != nullptr ? *tag : std::move(wished), LocaleSource::Contact, ""};
  }
  const std::vector<std::string_view> ranges = acceptable_ranges(wishes.accept_language);
  if (wishes.matching == LocaleMatching::Exact) {
    const auto first = std::find_if(ranges.begin(), ranges.end(), [](std::string_view r) { return r != "*"; });
    if (first != ranges.end()) return {std::string{*first}, LocaleSource::AcceptLanguage, std::string{*first}};
  } else if (const auto match = look_up_language(ranges, wishes.tenant_locales)) {
    return {std::string{match->locale}, LocaleSource::AcceptLanguage, std::string{match->range}};
  }
  if (!wishes.tenant_default.empty()) return {std::string{wishes.tenant_default}, LocaleSource::TenantDefault, ""};
  return {std::string{kSystemLocale}, LocaleSource::SystemDefault, ""};
}

Result<std::string> locale_of_template(const TemplateLocales& locales, std::string_view locale) {
  if (const std::string* tag = spelled(locales.has, locale)) return *tag;
  for (const std::string& fallback : locales.fallbacks) {
    if (const std::string* tag = spelled(locales.has, fallback)) return *tag;
  }
  return Error{ErrorCode::NotFound, fmt::format("Template {} not found for locale {}", locales.key, locale)};
}

}  // namespace postrider
