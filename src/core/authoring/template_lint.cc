#include "core/authoring/template_lint.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "core/authoring/known_names.h"
#include "core/sms_segments.h"

namespace postrider {
namespace {

using Texts = std::map<std::string, std::vector<const TemplateSource*>, std::less<>>;

bool has_locale(const TemplateSource& source, std::string_view locale) {
  return std::any_of(source.texts.begin(), source.texts.end(),
                     [&](const TextSource& text) { return text.locale.empty() || text.locale == locale; });
}

/// The partials that a template of one tenant can include, and what each of them includes.
class PartialGraph {
 public:
  explicit PartialGraph(const LintSet& set) {
    for (const auto& sources : {set.templates, set.others}) {
      for (const TemplateSource& source : sources) {
        if (!source.channel && source.active) add(source);
      }
    }
  }

  [[nodiscard]] bool has(std::string_view tenant, std::string_view name, std::string_view locale) const {
    const auto found = partials_.find(name);
    if (found == partials_.end()) return false;
    return std::any_of(found->second.begin(), found->second.end(), [&](const TemplateSource* each) {
      return (each->tenant.empty() || each->tenant == tenant) && has_locale(*each, locale);
    });
  }
  /// What the partial names, in the text that this tenant and locale would include.
  [[nodiscard]] std::vector<Placeholder> names_in(std::string_view tenant, std::string_view name,
                                                  std::string_view locale) const {
    const auto found = partials_.find(name);
    if (found == partials_.end()) return {};
    const TextSource* closest = nullptr;
    int best = -1;
    for (const TemplateSource* each : found->second) {
      if (!each->tenant.empty() && each->tenant != tenant) continue;
      for (const TextSource& text : each->texts) {
        if (!text.locale.empty() && text.locale != locale) continue;
        const int close = (each->tenant.empty() ? 0 : 2) + (text.locale.empty() ? 0 : 1);
        if (close > best) closest = &text;
        best = std::max(best, close);
      }
    }
    if (closest == nullptr) return {};
    const auto compiled = CompiledText::compile(closest->body, CompiledText::Use::Partial);
    return compiled ? compiled->placeholders() : std::vector<Placeholder>{};
  }

  enum class Through : std::uint8_t { Everything, NoSections };
  /// Whether including `name` leads to including it again.
  [[nodiscard]] bool returns_to(std::string_view name, Through through) const {
    std::set<std::string, std::less<>> seen;
    std::vector<std::string> open = next(name, through);
    while (!open.empty()) {
      std::string here = std::move(open.back());
      open.pop_back();
      if (here == name) return true;
      if (!seen.insert(here).second) continue;
      for (std::string& each : next(here, through)) open.push_back(std::move(each));
    }
    return false;
  }

 private:
  struct Edge {
    std::string to = {};
    bool in_section = false;
  };
  void add(const TemplateSource& source) {
    partials_[source.key].push_back(&source);
    for (const TextSource& text : source.texts) {
      const auto compiled = CompiledText::compile(text.body, CompiledText::Use::Partial);
      if (!compiled) continue;
      for (const Placeholder& p : compiled->placeholders()) {
        if (p.kind == Placeholder::Kind::Partial) edges_[source.key].push_back({p.name, !p.section.empty()});
      }
    }
  }
  [[nodiscard]] std::vector<std::string> next(std::string_view name, Through through) const {
    std::vector<std::string> out;
    const auto found = edges_.find(name);
    if (found == edges_.end()) return out;
    for (const Edge& edge : found->second) {
      if (through == Through::Everything || !edge.in_section) out.push_back(edge.to);
    }
    return out;
  }

  Texts partials_;
  std::map<std::string, std::vector<Edge>, std::less<>> edges_;
};

/// The checks of one template.
class Linter {
 public:
  Linter(const LintSet& set, const PartialGraph& partials, const TemplateSource& source, std::vector<Finding>& out)
      : set_(set), partials_(partials), source_(source), known_(set.rules, source), out_(out) {}

  void run() {
    if (const auto problem = shape_problem(source_)) {
      find({.kind = FindingKind::Shape,
            .file = source_.texts.empty() ? "" : source_.texts.back().origin.file,  // the one that came to the others
            .text = fmt::format("{} {}", problem->field, problem->what)});
      return;
    }
    check_event();
    check_locales();
    for (const TextSource& text : source_.texts) check_text(text);
    if (!source_.channel) check_recursion();
  }

 private:
  void find(Finding finding) {
    finding.about = source_.title();
    out_.push_back(std::move(finding));
  }
  void find_in(const TextSource& text, std::string_view part, std::size_t line, Finding finding) {
    finding.locale = text.locale;
    finding.part = part;
    finding.file = text.origin.file;
    if (line != 0) finding.line = first_line(text, part) + line - 1;
    find(std::move(finding));
  }
  static std::size_t first_line(const TextSource& text, std::string_view part) {
    if (part == "subject") return text.origin.subject_line;
    if (part == "html") return text.origin.html_line;
    return part == "body" ? text.origin.body_line : text.origin.params_line;
  }

  // An event finds one active template; the store refuses a second, so it is told before.
  void check_event() {
    if (!source_.active || !source_.channel || source_.type.empty()) return;
    const auto same_event = [&](const TemplateSource& each) {
      const auto event_of = [](const TemplateSource& s) {
        return std::tie(s.channel, s.type, s.tenant, s.scope_type, s.scope_id);
      };
      return each.active && event_of(each) == event_of(source_) && !each.is(source_);
    };
    const auto tell = [&](const TemplateSource& other) {
      find({.kind = FindingKind::Clash,
            .file = source_.texts.empty() ? "" : source_.texts.front().origin.file,
            .text = fmt::format("{} already is the active one of {}", other.title(), source_.type)});
    };
    for (const TemplateSource* each = set_.templates.data(); each != &source_; ++each) {  // of two, the second is told
      if (same_event(*each)) tell(*each);
    }
    for (const TemplateSource& each : set_.others) {
      if (same_event(each)) tell(each);
    }
  }

  // Every language of its tenant; of a common template, those of every tenant.
  void check_locales() {
    std::set<std::string> told;
    for (const Tenant& tenant : set_.rules.tenants) {
      if (!source_.tenant.empty() && source_.tenant != tenant.name) continue;
      const Writing& writing = tenant.writing;
      std::vector<std::string> wanted = writing.locales;
      if (wanted.empty()) wanted.push_back(writing.locale);
      for (const std::string& locale : wanted) {
        if (has_locale(source_, locale) || !told.insert(locale).second) continue;
        const bool covered = std::any_of(writing.fallbacks.begin(), writing.fallbacks.end(),
                                         [&](const std::string& each) { return has_locale(source_, each); });
        find({.weight = covered ? FindingWeight::Warning : FindingWeight::Error,
              .kind = FindingKind::MissingLocale,
              .locale = locale,
              .file = source_.texts.empty() ? "" : source_.texts.front().origin.file,
              .text = fmt::format("has no text in {}, a language of tenant {}{}", locale, tenant.name,
                                  covered ? "; a fallback is written instead" : "")});
      }
    }
  }

  void check_text(const TextSource& text) {
    check_part(text, "subject", text.subject);
    check_part(text, "body", text.body);
    check_part(text, "html", text.html);
    for (std::size_t i = 0; i < text.provider_params.size(); ++i)
      check_part(text, "provider_params", text.provider_params[i].second, i);
    if (text.body.empty() && text.html.empty() && text.provider_template.empty())
      find_in(text, "body", 0, {.kind = FindingKind::NoBody, .text = "has no body"});
    check_provider_template(text);
    if (source_.channel == Channel::Sms) tell_segments(text);
  }

  void check_part(const TextSource& text, std::string_view part, std::string_view content, std::size_t further = 0) {
    const auto use = source_.channel ? CompiledText::Use::Whole : CompiledText::Use::Partial;
    const auto compiled = CompiledText::compile(content, use);
    if (!compiled) {
      // Compiled once more from where it stands in its file: the error then names the file's own line.
      const std::string as_in_file = std::string(first_line(text, part) - 1 + further, '\n') + std::string{content};
      const auto again = CompiledText::compile(as_in_file, use);
      find_in(text, part, 0, {.kind = FindingKind::Broken, .text = again.error().text});
      return;
    }
    std::set<std::string> told;
    for (const Placeholder& p : compiled->placeholders()) {
      if (!told.insert(p.name).second) continue;
      if (p.kind == Placeholder::Kind::Partial) {
        if (!partials_.has(source_.tenant, p.name, text.locale))
          find_in(text, part, p.line + further,
                  {.kind = FindingKind::MissingPartial, .text = fmt::format("there is no partial \"{}\"", p.name)});
        std::set<std::string> open;
        if (known_.judges()) check_included(text, part, p, p.line + further, open);
      } else if (known_.judges() && !known_.knows(p)) {
        find_in(text, part, p.line + further,
                {.kind = FindingKind::UnknownPlaceholder,
                 .text = fmt::format("\"{}\" is no key of {}", p.name, source_.type)});
      }
    }
  }

  // A partial has no event of its own: what it names must be a key of each event whose template includes it.
  void check_included(const TextSource& text, std::string_view part, const Placeholder& included, std::size_t line,
                      std::set<std::string>& open) {
    if (!open.insert(included.name).second) return;
    std::set<std::string> told;
    for (Placeholder p : partials_.names_in(source_.tenant, included.name, text.locale)) {
      if (p.section.empty()) p.section = included.section;
      if (p.kind == Placeholder::Kind::Partial) {
        check_included(text, part, p, line, open);
      } else if (!known_.knows(p) && told.insert(p.name).second) {
        find_in(text, part, line,
                {.kind = FindingKind::UnknownPlaceholder,
                 .text = fmt::format("\"{}\", in the partial \"{}\", is no key of {}", p.name, included.name,
                                     source_.type)});
      }
    }
  }

  // WhatsApp sends nothing of one's own accord without one; SMS in some countries. One that another language has was
  // forgotten here.
  void check_provider_template(const TextSource& text) {
    if (!text.provider_template.empty()) return;
    const bool elsewhere = std::any_of(source_.texts.begin(), source_.texts.end(),
                                       [](const TextSource& each) { return !each.provider_template.empty(); });
    const bool wanted = source_.channel == Channel::WhatsApp || (source_.channel == Channel::Sms && elsewhere);
    if (wanted)
      find_in(text, "provider_template", 0,
              {.kind = FindingKind::MissingProviderTemplate, .text = "has no provider_template"});
  }

  void check_recursion() {
    using Through = PartialGraph::Through;
    if (!partials_.returns_to(source_.key, Through::Everything)) return;
    const bool endless = partials_.returns_to(source_.key, Through::NoSections);
    find({.weight = endless ? FindingWeight::Error : FindingWeight::Warning,
          .kind = FindingKind::SelfIncluding,
          .file = source_.texts.empty() ? "" : source_.texts.front().origin.file,
          .text = endless ? "includes itself, without end" : "includes itself inside a section; the data must end it"});
  }

  void tell_segments(const TextSource& text) {
    const auto compiled = CompiledText::compile(text.body);
    if (!compiled) return;
    const JsonDocument nothing = JsonDocument::parse("{}").value();
    const auto rendered = compiled->render(nothing.root(), {});
    if (!rendered) return;
    const SmsSize size = sms_size(rendered->text);
    find_in(
        text, "body", 0,
        {.weight = FindingWeight::Note,
         .kind = FindingKind::SmsSegments,
         .text = fmt::format("at least {} segment{} ({}), before its values are put in", size.segments,
                             size.segments == 1 ? "" : "s", size.alphabet == SmsAlphabet::Gsm7 ? "GSM-7" : "UCS-2")});
  }

  const LintSet& set_;
  const PartialGraph& partials_;
  const TemplateSource& source_;
  KnownNames known_;
  std::vector<Finding>& out_;
};

/// One field of a head, which all files of a template must agree on.
void agree(std::string_view field, std::string& known, const std::string& said, const TemplateFile& file,
           std::vector<Finding>& problems) {
  if (said.empty() || said == known) return;
  if (known.empty()) {
    known = said;
    return;
  }
  problems.push_back({.kind = FindingKind::Clash,
                      .about = file.head.title(),
                      .locale = file.text.locale,
                      .file = file.text.origin.file,
                      .text = fmt::format("another file says {} \"{}\", this one \"{}\"", field, known, said)});
}

}  // namespace

std::string_view to_text(FindingWeight weight) {
  switch (weight) {
    case FindingWeight::Error: return "error";
    case FindingWeight::Warning: return "warning";
    case FindingWeight::Note: return "note";
  }
  POSTRIDER_DIE("a FindingWeight outside its enum");
}

std::string_view to_text(FindingKind kind) {
  switch (kind) {
    case FindingKind::Shape: return "invalid";
    case FindingKind::Broken: return "broken";
    case FindingKind::Clash: return "clash";
    case FindingKind::NoBody: return "no_body";
    case FindingKind::MissingLocale: return "missing_locale";
    case FindingKind::UnknownPlaceholder: return "unknown_placeholder";
    case FindingKind::MissingPartial: return "missing_partial";
    case FindingKind::SelfIncluding: return "self_including";
    case FindingKind::MissingProviderTemplate: return "missing_provider_template";
    case FindingKind::SmsSegments: return "sms_segments";
  }
  POSTRIDER_DIE("a FindingKind outside its enum");
}

std::string to_text(const Finding& finding) {
  std::string out;
  if (!finding.file.empty()) out += finding.file + (finding.line == 0 ? "" : fmt::format(":{}", finding.line)) + ": ";
  out += fmt::format("{}: {}", to_text(finding.weight), finding.about);
  if (!finding.locale.empty()) out += ", " + finding.locale;
  if (!finding.part.empty()) out += ", " + finding.part;
  if (finding.file.empty() && finding.line > 0) out += fmt::format(", line {}", finding.line);
  return out + ": " + finding.text;
}

bool has_errors(const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& f) { return f.weight == FindingWeight::Error; });
}

std::vector<Finding> lint(const LintSet& set) {
  const PartialGraph partials{set};
  std::vector<Finding> out;
  for (const TemplateSource& source : set.templates) Linter{set, partials, source, out}.run();
  return out;
}

Gathered gather(std::vector<TemplateFile> files, std::string_view tenant) {
  Gathered out;
  for (TemplateFile& file : files) {
    file.head.tenant = tenant;
    const auto same = [&](const TemplateSource& each) { return each.is(file.head); };
    const auto known = std::find_if(out.templates.begin(), out.templates.end(), same);
    if (known == out.templates.end()) {
      file.head.texts = {std::move(file.text)};
      out.templates.push_back(std::move(file.head));
      continue;
    }
    agree("name", known->name, file.head.name, file, out.problems);
    agree("type", known->type, file.head.type, file, out.problems);
    std::string active = known->active ? "true" : "false";
    agree("active", active, file.head.active ? "true" : "false", file, out.problems);
    known->texts.push_back(std::move(file.text));
  }
  return out;
}

}  // namespace postrider
