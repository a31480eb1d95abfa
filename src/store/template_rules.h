// What a wanted template makes of a stored one, alike in every store.
#pragma once
#include <set>

#include "ports/content_store.h"

namespace postrider {

/// The texts in the order of their locales. Invalid: a locale twice, or no key.
Result<StoredTemplate> ordered(StoredTemplate wanted);

/// What the stored one takes from the wanted one: name, type, active and texts.
struct TemplateChange {
  bool content = false;  // a new version
  bool active = false;
  [[nodiscard]] bool any() const { return content || active; }
};
TemplateChange change_of(const StoredTemplate& stored, const StoredTemplate& wanted);
/// As it stands afterwards.
StoredTemplate changed(StoredTemplate stored, const StoredTemplate& wanted, Instant now);

/// Of templates that apply to events of their own accord, there is one per tenant, type, channel and scope.
bool is_chosen_by_type(const StoredTemplate& entry);
/// Readable for this tenant (empty: for everybody): its own and the common ones.
bool is_for(const StoredTemplate& entry, std::optional<TenantId> tenant);
bool same_key(const StoredTemplate& a, const StoredTemplate& b);
bool same_event(const StoredTemplate& a, const StoredTemplate& b);
Error key_taken(const StoredTemplate& wanted, std::int64_t by);
Error event_taken(const StoredTemplate& wanted, std::int64_t by);
Error no_such_template(std::int64_t id);
Error named_twice(std::int64_t id);

/// For the audit: "booking_made (email)".
std::string title_of(const StoredTemplate& entry);

/// Templates that deliveries refer to. A session remembers which it has marked, so that marking costs nothing after the
/// first delivery; what a transaction marked counts when it is committed.
class UsedTemplates {
 public:
  void begin() { fresh_.clear(); }
  /// True: it must be marked in this transaction.
  bool meet(std::int64_t id) {
    return id != 0 && known_.count(id) == 0 && gone_.count(id) == 0 && fresh_.insert(id).second;
  }
  [[nodiscard]] const std::set<std::int64_t>& fresh() const { return fresh_; }
  /// It was deleted after the engine had read it. No delivery refers to it then.
  void lose(std::int64_t id) {
    fresh_.erase(id);
    gone_.insert(id);
  }
  [[nodiscard]] bool is_gone(std::int64_t id) const { return gone_.count(id) != 0; }
  void committed() { known_.merge(fresh_); }

 private:
  std::set<std::int64_t> known_;
  std::set<std::int64_t> fresh_;
  std::set<std::int64_t> gone_;  // ids are never given twice
};

}  // namespace postrider
