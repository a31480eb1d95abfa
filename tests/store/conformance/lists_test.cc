#include <fmt/format.h>

#include "store/conformance/world.h"

namespace postrider::conformance {
namespace {

using std::chrono::seconds;
using Members = std::vector<ListMember>;

void make_list(World& w, const std::string& name, TenantId tenant = 0) {
  must(w.a->save_list(w.now, w.by_ada, {.tenant = tenant == 0 ? w.acme : tenant, .name = name}));
}
std::size_t add(World& w, const std::string& name, const Members& members) {
  return must(w.a->add_members(w.now, w.by_ada, w.acme, name, members));
}
std::size_t drop(World& w, const std::string& name, const Members& members) {
  return must(w.a->remove_members(w.now, w.by_ada, w.acme, name, members));
}
ListMember mail(std::string address) { return {.channel = Channel::Email, .address = std::move(address)}; }
ListMember contact(std::string key) { return {.contact = std::move(key)}; }

std::vector<std::string> on_list(World& w, const std::string& name, Instant as_of) {
  std::vector<std::string> who;
  for (const ListMember& m : must(w.a->members(w.acme, name, {.as_of = as_of}))) {
    who.push_back(m.contact.empty() ? fmt::format("{} {}", to_text(m.channel), m.address) : m.contact);
  }
  return who;
}
using Who = std::vector<std::string>;

TEST_P(Lists, AListIsMadeChangedAndFoundByItsName) {
  const RecipientList made = must(
      w.a->save_list(w.now, w.by_ada, {.tenant = w.acme, .name = "on-call", .description = "who is woken at night"}));
  EXPECT_GT(made.id, 0);
  EXPECT_EQ(made.members, 0U);
  w.pass(seconds{1});
  add(w, "on-call", {contact("ada"), mail("desk@example.org")});
  w.pass(seconds{1});
  must(w.a->save_list(w.now, w.by_ada, {.tenant = w.acme, .name = "on-call", .description = "at any time"}));
  const RecipientList found = must(w.a->list_named(w.acme, "on-call"));
  EXPECT_EQ(found.id, made.id);
  EXPECT_EQ(found.description, "at any time");
  EXPECT_EQ(found.members, 2U);
  EXPECT_EQ(found.updated_at, w.now);
  EXPECT_EQ(error_of(w.a->list_named(w.acme, "none")), ErrorCode::NotFound);
  EXPECT_EQ(error_of(w.a->list_named(w.other, "on-call")), ErrorCode::NotFound);
}

TEST_P(Lists, PagesAreOrderedByName) {
  for (const char* name : {"b", "a", "B", "c"}) make_list(w, name);
  make_list(w, "theirs", w.other);
  const auto first = must(w.a->lists(w.acme, "", 3));
  ASSERT_EQ(first.size(), 3U);
  EXPECT_EQ(first[0].name, "B");
  EXPECT_EQ(first[2].name, "b");
  const auto rest = must(w.a->lists(w.acme, "b", 3));
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_EQ(rest[0].name, "c");
}

TEST_P(Lists, MembersAreContactsOrAddresses) {
  make_list(w, "team");
  EXPECT_EQ(
      add(w, "team", {contact("ada"), mail("Desk@Example.org"), {.channel = Channel::Sms, .address = "+15551234567"}}),
      3U);
  const auto members = must(w.a->members(w.acme, "team", {.as_of = w.now}));
  ASSERT_EQ(members.size(), 3U);
  EXPECT_EQ(members[0].contact, "ada");
  EXPECT_TRUE(members[0].address.empty());
  EXPECT_EQ(members[1].address, "Desk@Example.org") << "as it came";
  EXPECT_EQ(members[2].channel, Channel::Sms);
  EXPECT_LT(members[0].id, members[1].id);
  EXPECT_EQ(members[1].joined_at, w.now);
}

TEST_P(Lists, NobodyIsOnAListTwice) {
  make_list(w, "team");
  EXPECT_EQ(add(w, "team", {contact("ada"), contact("ada"), mail("a@example.org"), mail("A@Example.org")}), 2U);
  EXPECT_EQ(add(w, "team", {contact("ada"), mail("a@EXAMPLE.org"), contact("bob")}), 1U);
  EXPECT_EQ(on_list(w, "team", w.now), (Who{"ada", "email a@example.org", "bob"}));
  EXPECT_EQ(add(w, "team",
                {{.channel = Channel::Webhook, .address = "https://example.org/A"},
                 {.channel = Channel::Webhook, .address = "https://example.org/a"}}),
            2U)
      << "only mail addresses are the same in any case";
}

TEST_P(Lists, WhoLeftIsGoneAndMayComeBack) {
  make_list(w, "team");
  add(w, "team", {contact("ada"), mail("desk@example.org")});
  w.pass(seconds{1});
  EXPECT_EQ(drop(w, "team", {contact("ada"), mail("DESK@example.org"), contact("nobody")}), 2U);
  EXPECT_TRUE(on_list(w, "team", w.now).empty());
  EXPECT_EQ(drop(w, "team", {contact("ada")}), 0U);
  w.pass(seconds{1});
  EXPECT_EQ(add(w, "team", {contact("ada")}), 1U);
  EXPECT_EQ(on_list(w, "team", w.now), (Who{"ada"}));
}

TEST_P(Lists, WhoWasOnItThenStaysTheSameWhateverHappensLater) {
  make_list(w, "team");
  add(w, "team", {contact("ada"), contact("bob")});
  const Instant then = w.now;
  w.pass(seconds{1});
  drop(w, "team", {contact("bob")});
  add(w, "team", {contact("cleo")});
  const Instant later = w.now;
  w.pass(seconds{1});
  must(w.a->remove_list(w.now, w.by_ada, w.acme, "team"));
  w.pass(seconds{1});
  make_list(w, "team");
  add(w, "team", {contact("dan")});
  EXPECT_EQ(on_list(w, "team", then), (Who{"ada", "bob"}));
  EXPECT_EQ(on_list(w, "team", later), (Who{"ada", "cleo"}));
  EXPECT_EQ(on_list(w, "team", w.now), (Who{"dan"}));
  EXPECT_EQ(must(w.a->list_named(w.acme, "team")).members, 1U) << "the new one begins empty";
}

TEST_P(Lists, AListThatVanishedIsNotFoundFromThenOn) {
  const Instant before = w.now;
  w.pass(seconds{1});
  make_list(w, "team");
  add(w, "team", {contact("ada")});
  w.pass(seconds{1});
  must(w.a->remove_list(w.now, w.by_ada, w.acme, "team"));
  EXPECT_EQ(error_of(w.a->members(w.acme, "team", {.as_of = w.now})), ErrorCode::NotFound);
  EXPECT_EQ(error_of(w.a->members(w.acme, "team", {.as_of = before})), ErrorCode::NotFound);
  EXPECT_EQ(error_of(w.a->list_named(w.acme, "team")), ErrorCode::NotFound);
  EXPECT_EQ(error_of(w.a->remove_list(w.now, w.by_ada, w.acme, "team")), ErrorCode::NotFound);
  EXPECT_EQ(error_of(w.a->add_members(w.now, w.by_ada, w.acme, "team", Members{contact("x")})), ErrorCode::NotFound);
  EXPECT_EQ(error_of(w.a->remove_members(w.now, w.by_ada, w.acme, "team", Members{contact("x")})), ErrorCode::NotFound);
  EXPECT_TRUE(must(w.a->lists(w.acme, "", 10)).empty());
}

TEST_P(Lists, AClockThatGoesBackDoesNotPutAnybodyOnAListTwice) {
  make_list(w, "team");
  w.pass(seconds{5});
  add(w, "team", {contact("ada")});
  drop(w, "team", {contact("ada")});
  const Instant there = w.now;
  w.now -= seconds{3};
  EXPECT_EQ(add(w, "team", {contact("ada")}), 1U);
  EXPECT_TRUE(on_list(w, "team", w.now).empty());
  EXPECT_EQ(on_list(w, "team", there), (Who{"ada"}));
  must(w.a->remove_list(w.now, w.by_ada, w.acme, "team"));
  make_list(w, "team");
  EXPECT_TRUE(on_list(w, "team", there).empty());
}

TEST_P(Lists, MembersComeInPages) {
  make_list(w, "everybody");
  Members many;
  for (int i = 0; i < 1700; ++i) many.push_back(contact(fmt::format("c{}", i)));
  EXPECT_EQ(add(w, "everybody", many), 1700U);
  make_list(w, "others");
  add(w, "others", {contact("z")});
  std::vector<std::string> seen;
  MemberRange range{.as_of = w.now, .count_max = 500};
  for (;;) {
    const auto page = must(w.a->members(w.acme, "everybody", range));
    EXPECT_LE(page.size(), 500U);
    if (page.empty()) break;
    for (const ListMember& m : page) seen.push_back(m.contact);
    range.after = page.back().id;
  }
  ASSERT_EQ(seen.size(), 1700U);
  EXPECT_EQ(seen.front(), "c0");
  EXPECT_EQ(seen.back(), "c1699") << "in the order in which they joined";
}

TEST_P(Lists, TenantsHaveTheirOwnListsOfOneName) {
  make_list(w, "team");
  make_list(w, "team", w.other);
  add(w, "team", {contact("ada")});
  EXPECT_TRUE(must(w.a->members(w.other, "team", {.as_of = w.now})).empty());
  must(w.a->remove_list(w.now, w.by_ada, w.other, "team"));
  EXPECT_EQ(on_list(w, "team", w.now), (Who{"ada"}));
  OperatorAction theirs = w.by_ada;
  theirs.tenant = w.other;
  EXPECT_EQ(error_of(w.a->save_list(w.now, theirs, {.tenant = w.acme, .name = "team"})), ErrorCode::Invalid);
}

TEST_P(Lists, EveryChangeLeavesAnAuditRowAndNoChangeLeavesNone) {
  make_list(w, "team");
  add(w, "team", {contact("ada")});
  add(w, "team", {contact("ada")});
  drop(w, "team", {contact("ada")});
  drop(w, "team", {contact("ada")});
  must(w.a->remove_list(w.now, w.by_ada, w.acme, "team"));
  std::vector<std::string> actions;
  for (const AuditLine& line : w.database->audit()) actions.push_back(line.action);
  EXPECT_EQ(actions, (Who{"save_list", "add_members", "remove_members", "remove_list"}));
}

POSTRIDER_FOR_EVERY_STORE(Lists);

}  // namespace
}  // namespace postrider::conformance
