// Templates from the command line: what is stored, and folders of files that are checked and then go live together.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "api/template_view.h"
#include "base/text.h"
#include "commands.h"
#include "core/authoring/template_file.h"
#include "core/authoring/template_lint.h"
#include "core/context.h"
#include "locale/icu_formatter.h"
#include "locale/icu_zones.h"
#include "pipeline/preview.h"
#include "pipeline/template_sources.h"
#include "providers/registry.h"

namespace postrider::app {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kEveryTenant = "*";
constexpr std::uintmax_t kFileBytesMax = 4U << 20U;

/// Whose templates: a tenant, or the common ones.
struct Owner {
  TenantId id = 0;
  std::string name = {};
};
Result<Owner> owner_of(const Rules& rules, const std::string& name) {
  if (name == kEveryTenant) return Owner{};
  const Tenant* tenant = rules.tenant(name);
  if (tenant != nullptr) return Owner{tenant->id, tenant->name};
  return Error{ErrorCode::NotFound, fmt::format("there is no tenant \"{}\" in the configuration", name)};
}

/// The configuration alone: names have numbers of no meaning.
Result<Rules> rules_without_store(const Common& common) {
  POSTRIDER_TRY(config, read_config(common));
  std::vector<TenantId> tenants;
  std::vector<ProviderId> providers;
  for (std::size_t i = 0; i < config.tenants.size(); ++i) tenants.push_back(static_cast<TenantId>(i + 1));
  for (std::size_t i = 0; i < config.providers.size(); ++i) providers.push_back(static_cast<ProviderId>(i + 1));
  POSTRIDER_TRY(rules, make_rules(config, adapters(), tenants, providers));
  rules.formatter = &icu_formatter();
  rules.zones = &icu_zones();
  return rules;
}

// ---- folders

Result<std::vector<fs::path>> files_of(const std::string& folder) {
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::recursive_directory_iterator at{folder, error}, end; !error && at != end; at.increment(error)) {
    std::error_code unreadable;
    if (at->is_regular_file(unreadable) && at->path().extension() == kTemplateFileEnding) files.push_back(at->path());
  }
  if (error) return Error{ErrorCode::NotFound, fmt::format("cannot read the folder {}", folder)};
  if (files.empty())
    return Error{ErrorCode::NotFound, fmt::format("there is no file *{} in {}", kTemplateFileEnding, folder)};
  std::sort(files.begin(), files.end());
  return files;
}

/// A folder's templates, put together; files that cannot be read are among the problems.
Result<Gathered> read_folder(const std::string& folder, const std::string& tenant) {
  POSTRIDER_TRY(paths, files_of(folder));
  std::vector<TemplateFile> files;
  std::vector<Finding> unreadable;
  for (const fs::path& path : paths) {
    std::error_code ignored;
    if (fs::file_size(path, ignored) > kFileBytesMax)
      return Error{ErrorCode::Exhausted, fmt::format("{} is larger than {} bytes", path.string(), kFileBytesMax)};
    POSTRIDER_TRY(text, read_file(path.string()));
    auto file = read_template_file(text);
    if (!file) {
      unreadable.push_back({.about = "not a template", .file = path.string(), .text = file.error().text});
      continue;
    }
    file->text.origin.file = path.string();
    files.push_back(std::move(*file));
  }
  Gathered gathered = gather(std::move(files), tenant);
  gathered.problems.insert(gathered.problems.begin(), unreadable.begin(), unreadable.end());
  return gathered;
}

std::size_t count(const std::vector<Finding>& findings, FindingWeight weight) {
  return static_cast<std::size_t>(
      std::count_if(findings.begin(), findings.end(), [&](const Finding& f) { return f.weight == weight; }));
}

void print_findings(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) fmt::print("{}\n", to_text(finding));
}

void write_finding_list(JsonWriter& json, const std::vector<Finding>& findings) {
  json.key("findings").begin_array();
  for (const Finding& f : findings) {
    json.begin_object().member("weight", to_text(f.weight)).member("code", to_text(f.kind));
    json.member("template", f.about).member("locale", f.locale).member("part", f.part).member("file", f.file);
    json.member("line", f.line).member("message", f.text).end_object();
  }
  json.end_array();
}

int too_many_errors(const std::vector<Finding>& findings) {
  const std::size_t errors = count(findings, FindingWeight::Error);
  std::fflush(stdout);  // what was found stands before what follows from it
  return fail(fmt::format("{} error{} in the templates; nothing was changed", errors, errors == 1 ? "" : "s"));
}

// ---- the commands

int run_lint(const Common& common, const TemplatesOptions& options) {
  const auto rules = rules_without_store(common);
  if (!rules) return fail(rules.error());
  const auto owner = owner_of(*rules, options.tenant);
  if (!owner) return fail(owner.error());
  auto gathered = read_folder(options.folder, owner->name);
  if (!gathered) return fail(gathered.error());
  std::vector<Finding> findings = std::move(gathered->problems);
  for (Finding& each : lint({*rules, gathered->templates})) findings.push_back(std::move(each));
  if (common.json) {
    JsonWriter json;
    json.begin_object().member("templates", gathered->templates.size());
    json.member("errors", count(findings, FindingWeight::Error));
    json.member("warnings", count(findings, FindingWeight::Warning));
    write_finding_list(json, findings);
    fmt::print("{}\n", json.end_object().take());
  } else {
    print_findings(findings);
    fmt::print("{} templates, {} errors, {} warnings\n", gathered->templates.size(),
               count(findings, FindingWeight::Error), count(findings, FindingWeight::Warning));
  }
  return has_errors(findings) ? too_many_errors(findings) : 0;
}

enum class Step : std::uint8_t { New, Changed, Unchanged, Deactivated };
constexpr std::array kStepNames{"new", "changed", "unchanged", "deactivated"};
/// One template of an apply, and what is done with it.
struct Planned {
  Step step = Step::New;
  StoredTemplate wanted = {};
  std::string title = {};
};

bool is_same(const StoredTemplate& stored, const StoredTemplate& wanted) {
  std::vector<StoredText> texts = wanted.texts;
  std::sort(texts.begin(), texts.end());
  return stored.name == wanted.name && stored.type == wanted.type && stored.active == wanted.active &&
         stored.texts == texts;
}

std::vector<Planned> plan(const std::vector<TemplateSource>& wanted, const std::vector<StoredTemplate>& stored,
                          const Owner& owner, const TemplatesOptions& options, const Rules& rules) {
  std::vector<Planned> out;
  std::set<std::int64_t> named;
  for (const TemplateSource& source : wanted) {
    Planned each{.wanted = stored_of(source, owner.id), .title = source.title()};
    const auto same = std::find_if(stored.begin(), stored.end(), [&](const StoredTemplate& s) {
      return s.tenant == owner.id && source_of(s, rules).is(source);
    });
    if (same != stored.end()) {
      named.insert(same->id);
      each.wanted.id = same->id;
      each.step = is_same(*same, each.wanted) ? Step::Unchanged : Step::Changed;
    }
    out.push_back(std::move(each));
  }
  for (const StoredTemplate& each : stored) {
    if (!options.prune || each.tenant != owner.id || !each.active || named.count(each.id) != 0) continue;
    StoredTemplate resting = each;
    resting.active = false;
    out.push_back({Step::Deactivated, std::move(resting), source_of(each, rules).title()});
  }
  return out;
}

void print_plan(const Common& common, const std::vector<Planned>& planned, const std::vector<Finding>& findings,
                bool dry_run) {
  std::array<std::size_t, kStepNames.size()> counts{};
  for (const Planned& each : planned) ++counts[static_cast<std::size_t>(each.step)];
  if (common.json) {
    JsonWriter json;
    json.begin_object().member("dry_run", dry_run).key("templates").begin_array();
    for (const Planned& each : planned)
      json.begin_object()
          .member("id", each.wanted.id)
          .member("template", each.title)
          .member("step", kStepNames[static_cast<std::size_t>(each.step)])
          .member("version", each.wanted.version)
          .end_object();
    json.end_array();
    write_finding_list(json, findings);
    fmt::print("{}\n", json.end_object().take());
    return;
  }
  print_findings(findings);
  for (const Planned& each : planned)
    fmt::print("{:<11} {}\n", kStepNames[static_cast<std::size_t>(each.step)], each.title);
  std::string total;
  for (std::size_t i = 0; i < counts.size(); ++i)
    total += fmt::format("{}{} {}", i == 0 ? "" : ", ", counts[i], kStepNames[i]);
  fmt::print("{}{}\n", total, dry_run ? " (dry run)" : "");
}

Result<Done> save_plan(Visit& v, std::vector<Planned>& planned, const TemplatesOptions& options) {
  const OperatorAction by = operator_of(options.why, std::nullopt);
  std::vector<StoredTemplate> wanted;
  for (const Planned& each : planned) wanted.push_back(each.wanted);
  POSTRIDER_TRY(now, v.session->database_now());
  POSTRIDER_TRY(saved, v.session->save_templates(now, by, wanted));
  for (std::size_t i = 0; i < saved.size(); ++i) planned[i].wanted = std::move(saved[i]);
  return Done{};
}

int run_apply(const Common& common, const TemplatesOptions& options) {
  auto visited = visit(common, Ids::NotNeeded);
  if (!visited) return fail(visited.error());
  Visit& v = **visited;
  const auto owner = owner_of(v.rules, options.tenant);
  if (!owner) return fail(owner.error());
  auto gathered = read_folder(options.folder, owner->name);
  if (!gathered) return fail(gathered.error());
  const auto stored = all_templates(*v.session, owner->id == 0 ? std::nullopt : std::optional<TenantId>{owner->id});
  if (!stored) return fail(stored.error());
  std::vector<TemplateSource> others;
  for (TemplateSource& each : sources_of(*stored, v.rules)) {
    if (options.prune && each.tenant == owner->name) continue;  // it is not there any more when this is done
    const auto replaced = [&](const TemplateSource& t) { return t.is(each); };
    if (std::none_of(gathered->templates.begin(), gathered->templates.end(), replaced))
      others.push_back(std::move(each));
  }
  std::vector<Finding> findings = std::move(gathered->problems);
  for (Finding& each : lint({v.rules, gathered->templates, others})) findings.push_back(std::move(each));
  if (has_errors(findings)) {
    print_findings(findings);
    return too_many_errors(findings);
  }
  std::vector<Planned> planned = plan(gathered->templates, *stored, *owner, options, v.rules);
  if (!options.dry_run) {
    if (auto done = save_plan(v, planned, options); !done) return fail(done.error());
  }
  print_plan(common, planned, findings, options.dry_run);
  return 0;
}

/// All of them, or none: each is written beside its place first, and only when that is done put there.
Result<Done> write_folder(const fs::path& folder, const std::map<std::string, std::string>& files) {
  const auto beside = [&](const std::string& name) { return folder / (name + ".new"); };
  std::error_code error;
  for (const auto& [name, text] : files) {
    std::ofstream out{beside(name), std::ios::binary | std::ios::trunc};
    out << text;
    if (out.flush()) continue;
    for (const auto& each : files) {
      if (fs::is_regular_file(beside(each.first), error)) fs::remove(beside(each.first), error);
    }
    return Error{ErrorCode::Unavailable, fmt::format("cannot write {}", (folder / name).string())};
  }
  for (const auto& [name, text] : files) {
    fs::rename(beside(name), folder / name, error);
    if (error) return Error{ErrorCode::Unavailable, fmt::format("cannot write {}", (folder / name).string())};
  }
  return Done{};
}

int run_export(const Common& common, const TemplatesOptions& options) {
  auto visited = visit(common, Ids::NotNeeded);
  if (!visited) return fail(visited.error());
  const auto owner = owner_of((*visited)->rules, options.tenant);
  if (!owner) return fail(owner.error());
  const auto stored = all_templates(*(*visited)->session, std::nullopt);
  if (!stored) return fail(stored.error());
  std::error_code error;
  fs::create_directories(options.folder, error);
  if (error) return fail(fmt::format("cannot make the folder {}", options.folder));
  std::map<std::string, std::string> files;
  for (const StoredTemplate& each : *stored) {
    if (each.tenant != owner->id) continue;
    TemplateSource source = source_of(each, (*visited)->rules);
    const std::vector<TextSource> texts = std::move(source.texts);
    source.texts.clear();
    for (const TextSource& text : texts) {
      std::string name = template_file_name(source, text.locale);
      // Two keys may differ in letters that no file name has.
      while (files.contains(name)) name = fmt::format("{}-{}", each.id, name);
      files.emplace(std::move(name), write_template_file({source, text}));
    }
  }
  if (auto written = write_folder(options.folder, files); !written) return fail(written.error());
  if (common.json) {
    fmt::print("{}\n", JsonWriter{}.begin_object().member("files", files.size()).end_object().take());
  } else {
    fmt::print("{} files in {}\n", files.size(), options.folder);
  }
  return 0;
}

int run_list_templates(const Common& common, const TemplatesOptions& options) {
  auto visited = visit(common, Ids::NotNeeded);
  if (!visited) return fail(visited.error());
  const auto owner = owner_of((*visited)->rules, options.tenant);
  if (!owner) return fail(owner.error());
  const auto stored = all_templates(*(*visited)->session, owner->id);
  if (!stored) return fail(stored.error());
  JsonWriter json;
  json.begin_array();
  for (const StoredTemplate& each : *stored) {
    const TemplateSource source = source_of(each, (*visited)->rules);
    std::string locales;
    for (const TextSource& text : source.texts)
      locales += fmt::format("{}{}", locales.empty() ? "" : ",", text.locale.empty() ? "any" : text.locale);
    if (common.json) {
      json.begin_object();
      write_template(json, each, (*visited)->rules);
      json.end_object();
    } else {
      fmt::print("{:>6}  v{:<4} {:<8} {:<10} {}  {}  {}\n", each.id, each.version, each.active ? "active" : "inactive",
                 source.tenant.empty() ? "every" : source.tenant, source.title(),
                 source.type.empty() ? "-" : source.type, locales);
    }
  }
  if (common.json) fmt::print("{}\n", json.end_array().take());
  return 0;
}

int run_show_template(const Common& common, const TemplatesOptions& options) {
  auto visited = visit(common, Ids::NotNeeded);
  if (!visited) return fail(visited.error());
  const auto found = (*visited)->session->template_version(std::nullopt, options.id, options.version);
  if (!found) return fail(found.error());
  if (common.json) {
    JsonWriter json;
    json.begin_object();
    write_template(json, *found, (*visited)->rules);
    fmt::print("{}\n", json.end_object().take());
    return 0;
  }
  TemplateSource source = source_of(*found, (*visited)->rules);
  const std::vector<TextSource> texts = std::move(source.texts);
  source.texts.clear();
  fmt::print("template {}, version {} of {}\n", found->id, found->version, format_instant(found->updated_at));
  for (const TextSource& text : texts) fmt::print("\n{}", write_template_file({source, text}));
  return 0;
}

// ---- preview

/// The data of a preview, from a file or from a past message.
struct Sample {
  std::string data = "{}";
  std::string wished = {};
  std::optional<Contact> contact = {};
};

Result<Sample> sample_of(Visit& v, const TemplatesOptions& options) {
  Sample sample;
  if (!options.data_file.empty()) {
    POSTRIDER_TRY(data, read_file(options.data_file == "-" ? "/dev/stdin" : options.data_file));
    sample.data = std::move(data);
  }
  if (options.message.empty()) return sample;
  const auto uuid = parse_uuid(options.message);
  if (!uuid) return Error{ErrorCode::Invalid, fmt::format("\"{}\" is no message id", options.message)};
  POSTRIDER_TRY(view, v.session->message(std::nullopt, *uuid, {.count_max = 1}));
  std::string contact;
  if (const std::string key = contact_of(view); !key.empty()) {
    const ContactRef ref{view.message.tenant, key};
    POSTRIDER_TRY(found, v.session->find_contacts({&ref, 1}));
    if (!found.empty()) {
      sample.contact = found.front();
      contact = contact_data(found.front());
    }
  }
  sample.data = merged_data({.payload = view.message.payload, .contact = contact});
  sample.wished = view.message.locale;
  return sample;
}

int run_preview(const Common& common, const TemplatesOptions& options) {
  if (!options.data_file.empty() && !options.message.empty())
    return fail("give either --data-file or --message, not both");
  if (!options.timezone.empty() && !is_known_zone(options.timezone))
    return fail(fmt::format("--timezone {}: no such zone", options.timezone));
  auto visited = visit(common, Ids::NotNeeded);
  if (!visited) return fail(visited.error());
  Visit& v = **visited;
  const auto owner = owner_of(v.rules, options.tenant);
  const auto found = v.session->template_version(std::nullopt, options.id, options.version);
  if (!found) return fail(found.error());
  const Tenant* tenant = v.rules.tenant(found->tenant != 0 ? found->tenant : owner ? owner->id : 0);
  const auto sample = sample_of(v, options);
  if (!sample) return fail(sample.error());
  const auto stored = all_templates(*v.session, std::nullopt);
  if (!stored) return fail(stored.error());
  const TemplateSet partials = partials_among(*stored, v.rules);
  const auto made = preview(*found, {.rules = v.rules,
                                     .tenant = tenant != nullptr ? *tenant : v.rules.tenants.front(),
                                     .partials = partials,
                                     .data = sample->data,
                                     .locale = options.locale,
                                     .wished = sample->wished,
                                     .timezone = options.timezone,
                                     .contact = sample->contact ? &*sample->contact : nullptr});
  if (!made) return fail(made.error());
  if (common.json) {
    JsonWriter json;
    json.begin_object().member("id", found->id).member("version", found->version);
    write_preview(json, *made, Mask{Addresses::Plain});
    fmt::print("{}\n", json.end_object().take());
    return 0;
  }
  if (!made->content.subject.empty()) fmt::print("Subject: {}\n\n", made->content.subject);
  fmt::print("{}\n", made->content.body);
  if (!made->content.html.empty()) fmt::print("--- html ---\n{}\n", made->content.html);
  if (made->sms) fmt::print(stderr, "{} segments\n", made->sms->segments);
  for (const std::string& warning : made->warnings) fmt::print(stderr, "warning: {}\n", warning);
  return 0;
}

}  // namespace

int run_templates(const Common& common, const TemplatesOptions& options) {
  if (options.action == "lint") return run_lint(common, options);
  if (options.action == "apply") return run_apply(common, options);
  if (options.action == "export") return run_export(common, options);
  if (options.action == "list") return run_list_templates(common, options);
  if (options.action == "show") return run_show_template(common, options);
  return run_preview(common, options);
}

}  // namespace postrider::app
