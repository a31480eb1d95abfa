// The rules about people that every store must apply alike and that need no database.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "ports/store.h"

namespace postrider {

/// A delivery that neither ended nor was parked: it waits, or is being sent.
struct OpenDelivery {
  RowId id = 0;
  QueueGroup group = {};
  std::string category = {};
  std::string contact = {};
  std::string recipient = {};
};

/// The last of those that name the same contact, as if they had been saved one after the other. Sorted, so that two who
/// save at once do not wait for each other.
std::vector<const Contact*> one_of_each(std::span<const Contact> wanted);
/// Whether saving `after` over `before` (null: nobody) could forbid something that was allowed.
bool may_forbid_more(const Contact* before, const Contact& after);

/// What a member is known by on its list.
struct MemberKey {
  int channel = 0;  // 0: a contact
  std::string contact = {};
  std::string comparable = {};
  auto operator<=>(const MemberKey&) const = default;
};
MemberKey key_of(const ListMember& member);
/// The member as it is kept: a contact has no address of its own.
ListMember kept(ListMember member);

/// In the form in which they are compared.
SuppressionRef ref_of(const Suppression& suppression);
SuppressionRef comparable(SuppressionRef ref);
/// As it was given and as it is compared: under these the waiting deliveries are looked for.
std::vector<SuppressionRef> spellings(std::span<const Suppression> suppressions);
/// An address on one channel, or on every one.
std::vector<SuppressionRef> refs_for(const SuppressionFilter& filter);

/// A place between two suppressions: after this channel and comparable address.
struct SuppressionPlace {
  int channel = 0;
  std::string comparable = {};
};
std::string to_place_text(const Suppression& last);
Result<SuppressionPlace> parse_place(std::string_view cursor);

/// Invalid where somebody who may act for one tenant names another one's.
template <class Named>
Result<Done> check_tenants(const OperatorAction& by, std::span<const Named> named) {
  for (const Named& each : named) {
    if (by.tenant && *by.tenant != each.tenant) return Error{ErrorCode::Invalid, "it belongs to another tenant"};
  }
  return Done{};
}

Error no_such_list(std::string_view name);

}  // namespace postrider
