// Stored templates, for every dialect.
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "ports/store.h"
#include "store/template_rules.h"

namespace postrider::common {

// Columns: id, tenant, version, channel, active, created_at, updated_at, key, name, type, scope_type, scope_id.
template <class Rows>
StoredTemplate read_template(const Rows& rows) {
  StoredTemplate out;
  out.id = rows.integer(0);
  out.tenant = rows.template number<TenantId>(1);
  out.version = rows.template number<int>(2);
  if (!rows.is_null(3)) out.channel = rows.one_of(3, Channel::Email, Channel::InApp);
  out.active = rows.integer(4) != 0;
  out.created_at = rows.instant(5);
  out.updated_at = rows.instant(6);
  int column = 7;
  for (std::string* field : {&out.key, &out.name, &out.type, &out.scope_type, &out.scope_id})
    *field = rows.text(column++);
  return out;
}

// The columns behind those: locale, subject, body, html, provider_template, provider_params; null where there is none.
template <class Rows>
void read_text(const Rows& rows, StoredTemplate& into) {
  int column = 12;
  if (rows.is_null(column)) return;
  StoredText& text = into.texts.emplace_back();
  for (std::string* field :
       {&text.locale, &text.subject, &text.body, &text.html, &text.provider_template, &text.provider_params}) {
    *field = rows.text(column++);
  }
}

/// Rows of templates with their texts, one row per text.
template <class Rows>
std::vector<StoredTemplate> read_templates(Rows rows) {
  std::vector<StoredTemplate> out;
  while (rows.next()) {
    if (out.empty() || out.back().id != rows.integer(0)) out.push_back(read_template(rows));
    read_text(rows, out.back());
  }
  // A database may order texts by the rules of a language; we go by their bytes.
  for (StoredTemplate& each : out) std::sort(each.texts.begin(), each.texts.end());
  return out;
}

template <class Connection>
std::vector<StoredTemplate> find_templates(Connection& c, const TemplateFilter& filter) {
  return read_templates(c.use("templates")
                            .query(filter.tenant, filter.type, filter.key, filter.channel, filter.active, filter.after,
                                   filter.count_max));
}

template <class Connection>
std::optional<StoredTemplate> find_template(Connection& c, std::int64_t id, int version) {
  auto found = read_templates(c.use("template_version").query(id, version));
  return found.empty() ? std::nullopt : std::optional{std::move(found.front())};
}

/// Changes of one transaction. `Fail` throws what ends it.
template <class Connection>
class TemplateChanges {
 public:
  using Fail = void (*)(Error);
  TemplateChanges(Connection& c, Instant now, const OperatorAction& by, Fail fail)
      : c_(c), now_(now), by_(by), fail_(fail) {
    // Whoever changes templates does so alone: what is looked up below stays true until the end.
    (void)c_.use("catalog_lock").integer();
  }

  std::vector<StoredTemplate> save(std::span<const StoredTemplate> wanted) {
    std::vector<StoredTemplate> out;
    std::set<std::int64_t> named;
    for (const StoredTemplate& each : wanted) {
      auto ready = ordered(each);
      if (!ready) fail_(ready.error());
      if (each.id != 0 && !named.insert(each.id).second) fail_(named_twice(each.id));
      out.push_back(std::move(*ready));
    }
    // What will change makes room first, so that two templates can take each other's place.
    std::vector<std::optional<StoredTemplate>> before;
    for (const StoredTemplate& each : out) {
      before.push_back(each.id == 0 ? std::nullopt : std::optional{own(each.id)});
      if (before.back() && change_of(*before.back(), each).any()) c_.use("template_set_active").run(each.id, false);
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = before[i] ? change(*before[i], out[i]) : add(std::move(out[i]));
    }
    finish();
    return out;
  }

  Removal remove(std::int64_t id) {
    const StoredTemplate stored = own(id);
    const bool used = c_.use("template_used_locked").any(id);
    if (used) {
      if (stored.active) note("template_deactivate", stored);
      c_.use("template_set_active").run(id, false);
    } else {
      for (const char* part : {"template_texts_drop", "template_versions_drop", "template_drop"}) c_.use(part).run(id);
      note("template_delete", stored);
    }
    finish();
    return used ? Removal::Deactivated : Removal::Deleted;
  }

 private:
  StoredTemplate own(std::int64_t id) {
    auto stored = find_template(c_, id, 0);
    if (!stored || (by_.tenant && stored->tenant != *by_.tenant)) fail_(no_such_template(id));
    return std::move(*stored);
  }

  StoredTemplate add(StoredTemplate wanted) {
    if (by_.tenant && wanted.tenant != *by_.tenant) fail_(no_such_template(0));
    wanted.version = 1;
    wanted.created_at = wanted.updated_at = now_;
    const auto taken = c_.use("template_by_key")
                           .integer(wanted.tenant, wanted.key, wanted.channel, wanted.scope_type, wanted.scope_id);
    if (taken) fail_(key_taken(wanted, *taken));
    check_event(wanted);
    const auto id = c_.use("template_add")
                        .integer(now_, wanted.tenant, wanted.channel, wanted.active, wanted.key, wanted.name,
                                 wanted.type, wanted.scope_type, wanted.scope_id);
    if (!id) Connection::fail_corrupt("a new template without an id");
    wanted.id = *id;
    add_version(wanted);
    note("template_create", wanted);
    return wanted;
  }

  StoredTemplate change(const StoredTemplate& stored, const StoredTemplate& wanted) {
    const TemplateChange what = change_of(stored, wanted);
    if (!what.any()) return stored;
    StoredTemplate now = changed(stored, wanted, now_);
    check_event(now);
    c_.use("template_change").run(now.id, now.version, now.active, now.updated_at, now.name, now.type);
    if (what.content) {
      add_version(now);
      note("template_update", now);
    } else {
      note(now.active ? "template_activate" : "template_deactivate", now);
    }
    return now;
  }

  void check_event(const StoredTemplate& wanted) {
    if (!is_chosen_by_type(wanted)) return;
    const auto taken =
        c_.use("template_by_event")
            .integer(wanted.tenant, wanted.type, wanted.channel, wanted.scope_type, wanted.scope_id, wanted.id);
    if (taken) fail_(event_taken(wanted, *taken));
  }

  void add_version(const StoredTemplate& t) {
    c_.use("template_version_add").run(t.id, t.version, now_, t.name, t.type);
    for (const StoredText& text : t.texts) {
      c_.use("template_text_add")
          .run(t.id, t.version, text.locale, text.subject, text.body, text.html, text.provider_template,
               text.provider_params);
    }
  }

  void note(std::string_view action, const StoredTemplate& about) {
    c_.use("audit_add")
        .run(now_, by_.actor, action, by_.why, nullptr, nullptr,
             fmt::format("template {}, {}, version {}", about.id, title_of(about), about.version));
    something_ = true;
  }

  void finish() {
    if (something_) c_.use("catalog_bump").run();
  }

  Connection& c_;
  Instant now_;
  const OperatorAction& by_;
  Fail fail_;
  bool something_ = false;
};

}  // namespace postrider::common
