#include "store/people_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

namespace postrider {

std::vector<const Contact*> one_of_each(std::span<const Contact> wanted) {
  std::map<ContactRef, const Contact*> last;
  for (const Contact& contact : wanted) last[{contact.tenant, contact.key}] = &contact;
  std::vector<const Contact*> out;
  for (const auto& [ref, contact] : last) out.push_back(contact);
  return out;
}

bool may_forbid_more(const Contact* before, const Contact& after) {
  const auto forbids = [](const Preference& p) { return !p.allowed; };
  if (std::none_of(after.preferences.begin(), after.preferences.end(), forbids)) return false;
  using Wish = std::tuple<std::optional<Channel>, std::string, bool>;
  const auto wishes_of = [](const std::vector<Preference>& preferences) {
    std::set<Wish> wishes;
    for (const Preference& p : preferences) wishes.emplace(p.channel, p.category, p.allowed);
    return wishes;
  };
  return before == nullptr || wishes_of(before->preferences) != wishes_of(after.preferences);
}

MemberKey key_of(const ListMember& member) {
  if (!member.contact.empty()) return {0, member.contact, ""};
  return {static_cast<int>(member.channel), "", comparable_address(member.channel, member.address)};
}

ListMember kept(ListMember member) {
  if (!member.contact.empty()) {
    member.channel = Channel::Email;
    member.address.clear();
  }
  return member;
}

SuppressionRef ref_of(const Suppression& suppression) {
  return {suppression.tenant, suppression.channel, comparable_address(suppression.channel, suppression.address)};
}

SuppressionRef comparable(SuppressionRef ref) {
  ref.address = comparable_address(ref.channel, ref.address);
  return ref;
}

std::vector<SuppressionRef> spellings(std::span<const Suppression> suppressions) {
  std::set<SuppressionRef> all;
  for (const Suppression& s : suppressions) {
    all.insert({s.tenant, s.channel, s.address});
    all.insert(ref_of(s));
  }
  return {all.begin(), all.end()};
}

std::vector<SuppressionRef> refs_for(const SuppressionFilter& filter) {
  std::vector<SuppressionRef> refs;
  for (const Channel channel : kChannels) {
    if (!filter.channel || *filter.channel == channel) {
      refs.push_back({filter.tenant, channel, comparable_address(channel, filter.address)});
    }
  }
  return refs;
}

std::string to_place_text(const Suppression& last) {
  return fmt::format("{}:{}", static_cast<int>(last.channel), ref_of(last).address);
}

Result<SuppressionPlace> parse_place(std::string_view cursor) {
  if (cursor.empty()) return SuppressionPlace{};
  SuppressionPlace place;
  const auto [rest, error] = std::from_chars(cursor.data(), cursor.data() + cursor.size(), place.channel);
  const auto digits = static_cast<std::size_t>(rest - cursor.data());
  if (error != std::errc{} || digits == cursor.size() || cursor[digits] != ':') {
    return Error{ErrorCode::Invalid, "the cursor is not one that a page gave"};
  }
  place.comparable = cursor.substr(digits + 1);
  return place;
}

Error no_such_list(std::string_view name) {
  return {ErrorCode::NotFound, fmt::format("there is no list \"{}\"", name)};
}

}  // namespace postrider
