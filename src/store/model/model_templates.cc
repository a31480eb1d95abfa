#include <fmt/format.h>

#include <algorithm>

#include "store/model/model_session.h"
#include "store/template_rules.h"

namespace postrider::model {
namespace {

bool passes(const TemplateFilter& filter, const StoredTemplate& t) {
  return t.id > filter.after && is_for(t, filter.tenant) && (filter.type.empty() || filter.type == t.type) &&
         (filter.key.empty() || filter.key == t.key) && (!filter.channel || filter.channel == t.channel) &&
         (!filter.active || *filter.active == t.active);
}

/// All changes of one verb, made on a copy: it takes the place of the tables when nothing was refused.
class Changes {
 public:
  Changes(const ModelDatabase& db, Instant now, const OperatorAction& by)
      : templates_(db.templates), last_(db.last_template), now_(now), by_(by) {}

  Result<std::vector<StoredTemplate>> save(std::span<const StoredTemplate> wanted) {
    std::vector<StoredTemplate> out;
    std::set<std::int64_t> named;
    for (const StoredTemplate& each : wanted) {
      POSTRIDER_TRY(ready, ordered(each));
      if (each.id != 0 && !named.insert(each.id).second) return named_twice(each.id);
      POSTRIDER_TRY(saved, each.id == 0 ? add(std::move(ready)) : change(ready));
      out.push_back(std::move(saved));
    }
    // Looked at when all are as they will be: two templates can take each other's place.
    for (const StoredTemplate& each : out) {
      for (const auto& [id, row] : templates_) {
        if (id == each.id) continue;
        if (same_key(row.now, each)) return key_taken(each, id);
        if (same_event(row.now, each)) return event_taken(each, id);
      }
    }
    return out;
  }

  Result<Removal> remove(std::int64_t id) {
    TemplateRow* row = own(id);
    if (row == nullptr) return no_such_template(id);
    if (!row->used) {
      note("template_delete", row->now);
      templates_.erase(id);
      return Removal::Deleted;
    }
    if (row->now.active) note("template_deactivate", row->now);
    row->now.active = false;
    return Removal::Deactivated;
  }

  void apply(ModelDatabase& db) {
    if (notes_.empty()) return;
    db.templates = std::move(templates_);
    db.last_template = last_;
    db.audit.insert(db.audit.end(), notes_.begin(), notes_.end());
    ++db.catalog_version;
  }

 private:
  TemplateRow* own(std::int64_t id) {
    const auto at = templates_.find(id);
    if (at == templates_.end() || (by_.tenant && at->second.now.tenant != *by_.tenant)) return nullptr;
    return &at->second;
  }

  Result<StoredTemplate> add(StoredTemplate wanted) {
    if (by_.tenant && wanted.tenant != *by_.tenant) return no_such_template(0);
    wanted.id = ++last_;
    wanted.version = 1;
    wanted.created_at = wanted.updated_at = now_;
    templates_[wanted.id] = {.now = wanted, .versions = {wanted}};
    note("template_create", wanted);
    return wanted;
  }

  Result<StoredTemplate> change(const StoredTemplate& wanted) {
    TemplateRow* row = own(wanted.id);
    if (row == nullptr) return no_such_template(wanted.id);
    const TemplateChange what = change_of(row->now, wanted);
    if (!what.any()) return row->now;
    row->now = changed(row->now, wanted, now_);
    if (what.content) {
      row->versions.push_back(row->now);
      note("template_update", row->now);
    } else {
      note(row->now.active ? "template_activate" : "template_deactivate", row->now);
    }
    return row->now;
  }

  void note(std::string_view action, const StoredTemplate& about) {
    notes_.push_back({now_,
                      by_.actor,
                      std::string{action},
                      by_.why,
                      {},
                      {},
                      fmt::format("template {}, {}, version {}", about.id, title_of(about), about.version)});
  }

  std::map<std::int64_t, TemplateRow> templates_;
  std::int64_t last_;
  Instant now_;
  const OperatorAction& by_;
  std::vector<AuditRow> notes_;
};

}  // namespace

Result<std::int64_t> ModelSession::catalog_version() { return hold()->catalog_version; }

Result<std::vector<StoredTemplate>> ModelSession::templates(const TemplateFilter& filter) {
  const Held db = hold();
  std::vector<StoredTemplate> out;
  for (const auto& [id, row] : db->templates) {
    if (out.size() == filter.count_max) break;
    if (passes(filter, row.now)) out.push_back(row.now);
  }
  return out;
}

Result<StoredTemplate> ModelSession::template_version(std::optional<TenantId> tenant, std::int64_t id, int version) {
  const Held db = hold();
  const auto at = db->templates.find(id);
  if (at == db->templates.end() || !is_for(at->second.now, tenant)) return no_such_template(id);
  const TemplateRow& row = at->second;
  if (version == 0) return row.now;
  if (version < 1 || static_cast<std::size_t>(version) > row.versions.size()) return no_such_template(id);
  StoredTemplate out = row.versions[static_cast<std::size_t>(version) - 1];
  out.active = row.now.active;
  return out;
}

Result<std::vector<StoredTemplate>> ModelSession::save_templates(Instant now, const OperatorAction& by,
                                                                 std::span<const StoredTemplate> wanted) {
  const Held db = hold();
  Changes changes{*db, now, by};
  auto saved = changes.save(wanted);
  if (saved) changes.apply(*db);
  return saved;
}

Result<Removal> ModelSession::remove_template(Instant now, const OperatorAction& by, std::int64_t id) {
  const Held db = hold();
  Changes changes{*db, now, by};
  auto removed = changes.remove(id);
  if (removed) changes.apply(*db);
  return removed;
}

}  // namespace postrider::model
