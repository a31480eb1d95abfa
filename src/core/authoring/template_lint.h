// What is wrong with a set of templates, before anybody gets one: languages that are missing, names that no event has,
// texts that do not compile.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/authoring/template_file.h"
#include "core/authoring/template_source.h"
#include "core/rules.h"

namespace postrider {

enum class FindingWeight : std::uint8_t { Error, Warning, Note };
std::string_view to_text(FindingWeight weight);

enum class FindingKind : std::uint8_t {
  Shape,                    // not a template at all
  Broken,                   // its text is not Mustache
  Clash,                    // two files say different things, or two templates would both be the active one
  NoBody,                   // nothing to send
  MissingLocale,            // a language of the tenant
  UnknownPlaceholder,       // no event, record or contact has it
  MissingPartial,           // it includes what is not there
  SelfIncluding,            // partials in partials without end
  MissingProviderTemplate,  // the provider's own approved template
  SmsSegments,              // what an SMS costs
};
/// "unknown_placeholder"
std::string_view to_text(FindingKind kind);

struct Finding {
  FindingWeight weight = FindingWeight::Error;
  FindingKind kind = FindingKind::Shape;
  std::string about = {};  // the template's title
  std::string locale = {};
  std::string part = {};  // subject, body, html, provider_params
  std::string file = {};
  std::size_t line = 0;  // of the file, or of the part; 0: of no line
  std::string text = {};
};
/// "mails/made.tpl:12: error: made (email), de-DE, body: …"
std::string to_text(const Finding& finding);
bool has_errors(const std::vector<Finding>& findings);

struct LintSet {
  const Rules& rules;
  std::span<const TemplateSource> templates;    // that are judged
  std::span<const TemplateSource> others = {};  // that are there too: partials, and what is active already
};
/// In the order of the templates. Names are judged only where the event's route declares its `keys` or its context
/// query names its columns: elsewhere nobody knows what an event carries.
std::vector<Finding> lint(const LintSet& set);

/// Files of one folder put together: one template has as many files as languages. What two files of one template say
/// differently is an error.
struct Gathered {
  std::vector<TemplateSource> templates = {};
  std::vector<Finding> problems = {};
};
Gathered gather(std::vector<TemplateFile> files, std::string_view tenant);

}  // namespace postrider
