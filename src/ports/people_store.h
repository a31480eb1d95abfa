// People: contacts, the lists they are on, and addresses that must not be written to.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/contact.h"

namespace postrider {

struct OperatorAction;
struct Acted;

struct ContactRef {
  TenantId tenant = 0;
  std::string key = {};
  auto operator<=>(const ContactRef&) const = default;
};
struct ContactFilter {
  TenantId tenant = 0;
  std::string address = {};  // exact, on any channel
  std::string after = {};    // keys greater than this
  std::size_t count_max = 100;
};

class ContactStore {
 public:
  virtual ~ContactStore() = default;
  /// Ordered by key.
  virtual Result<std::vector<Contact>> contacts(const ContactFilter& filter) = 0;
  /// Those that exist, in any order. May be called while this session's own expand() is deciding.
  virtual Result<std::vector<Contact>> find_contacts(std::span<const ContactRef> refs) = 0;
  /// All or none: each is made or replaced as a whole (addresses and preferences too), by tenant and key, with an audit
  /// row each. What waits for a contact that now does not want it becomes Suppressed with reason OptedOut, and what a
  /// node holds is marked: there is no other call after the one that may be under way (see QueueStore::record). A wish
  /// without a category leaves the `exempt` categories alone. Returns how many were new.
  virtual Result<std::size_t> save_contacts(Instant now, const OperatorAction& by, std::span<const Contact> wanted,
                                            std::span<const std::string> exempt) = 0;
  /// Also leaves its lists. Unknown ones are not counted.
  virtual Result<std::size_t> remove_contacts(Instant now, const OperatorAction& by,
                                              std::span<const ContactRef> refs) = 0;
};

struct RecipientList {
  std::int64_t id = 0;
  TenantId tenant = 0;
  std::string name = {};
  std::string description = {};
  std::size_t members = 0;  // now
  Instant updated_at = {};
};
struct MemberRange {
  Instant as_of = {};      // who was on the list at that time, whatever happened since
  std::int64_t after = 0;  // member ids greater than this
  std::size_t count_max = 500;
};

class ListStore {
 public:
  virtual ~ListStore() = default;
  /// Ordered by name; names greater than `after`.
  virtual Result<std::vector<RecipientList>> lists(TenantId tenant, std::string_view after, std::size_t count_max) = 0;
  virtual Result<RecipientList> list_named(TenantId tenant, std::string_view name) = 0;  // NotFound
  /// Makes it, or changes its description.
  virtual Result<RecipientList> save_list(Instant now, const OperatorAction& by, const RecipientList& wanted) = 0;
  /// The list is gone at once; who was on it stays known to messages that were already resolved.
  virtual Result<Done> remove_list(Instant now, const OperatorAction& by, TenantId tenant, std::string_view name) = 0;
  /// Ordered by id. NotFound when there was no such list at that time.
  virtual Result<std::vector<ListMember>> members(TenantId tenant, std::string_view name, const MemberRange& range) = 0;
  /// Who is on it already is not added again. Returns how many were added. NotFound: no such list.
  virtual Result<std::size_t> add_members(Instant now, const OperatorAction& by, TenantId tenant, std::string_view name,
                                          std::span<const ListMember> wanted) = 0;
  /// By contact, or by channel and address. Returns how many left.
  virtual Result<std::size_t> remove_members(Instant now, const OperatorAction& by, TenantId tenant,
                                             std::string_view name, std::span<const ListMember> gone) = 0;
};

struct SuppressionRef {
  TenantId tenant = 0;
  Channel channel = Channel::Email;
  std::string address = {};  // compared by comparable_address()
  auto operator<=>(const SuppressionRef&) const = default;
};
struct SuppressionFilter {
  TenantId tenant = 0;
  std::optional<Channel> channel = {};
  std::string address = {};
  std::string after = {};  // the cursor that the last page gave; empty: from the start
  std::size_t count_max = 100;
};
struct SuppressionPage {
  std::vector<Suppression> items = {};
  std::string next = {};  // empty: no more
};

class SuppressionStore {
 public:
  virtual ~SuppressionStore() = default;
  /// Whether there is any at all, of any tenant: most databases have none, and then nobody asks for each address.
  virtual Result<bool> any_suppression() = 0;
  /// Those that exist, in any order. May be called while this session's own expand() is deciding.
  virtual Result<std::vector<Suppression>> find_suppressions(std::span<const SuppressionRef> refs) = 0;
  virtual Result<SuppressionPage> suppressions(const SuppressionFilter& filter) = 0;
  /// Adds them (the first evidence stays) with an audit row each, and ends what waits for these addresses: queued and
  /// retrying deliveries become Suppressed with reason SuppressedAddress, those that a node holds are marked as by
  /// save_contacts(). `changed` counts new suppressions.
  virtual Result<Acted> suppress(Instant now, const OperatorAction& by, std::span<const Suppression> wanted) = 0;
  /// Returns how many were taken off, with an audit row each.
  virtual Result<std::size_t> unsuppress(Instant now, const OperatorAction& by,
                                         std::span<const SuppressionRef> refs) = 0;
};

}  // namespace postrider
