#include <fmt/format.h>

#include <algorithm>

#include "store/conformance/world.h"

namespace postrider::conformance {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

constexpr std::span<const std::string> kNoneExempt{};

Contact ada(const World& w) {
  Contact c;
  c.tenant = w.acme;
  c.key = "ada";
  c.name = "Ada \"the first\" \\ Lovelace";
  c.locale = "en-GB";
  c.timezone = "Europe/London";
  c.attributes = R"({"tier":"gold","tags":["a","{b}"]})";
  c.quiet_hours = QuietHours{22 * 60, 8 * 60};
  c.addresses = {{Channel::Email, "Ada@Example.org"}, {Channel::Sms, "+447700900123"}};
  c.preferences = {{std::nullopt, "marketing", false, "api", w.now}, {Channel::Sms, "", true, "import", w.now}};
  return c;
}

Contact named(const World& w, std::string key) {
  Contact c;
  c.tenant = w.acme;
  c.key = std::move(key);
  return c;
}

Contact find(World& w, TenantId tenant, const std::string& key) {
  const std::vector<ContactRef> refs{{tenant, key}};
  auto found = must(w.a->find_contacts(refs));
  if (found.size() != 1) throw std::runtime_error{fmt::format("{} contacts {}", found.size(), key)};
  return found.at(0);
}

std::size_t save(World& w, const std::vector<Contact>& contacts) {
  return must(w.a->save_contacts(w.now, w.by_ada, contacts, kNoneExempt));
}

void expect_same(const Contact& found, const Contact& wanted) {
  EXPECT_EQ(found.tenant, wanted.tenant);
  EXPECT_EQ(found.key, wanted.key);
  EXPECT_EQ(found.name, wanted.name);
  EXPECT_EQ(found.locale, wanted.locale);
  EXPECT_EQ(found.timezone, wanted.timezone);
  EXPECT_EQ(found.attributes, wanted.attributes);
  EXPECT_EQ(found.quiet_hours, wanted.quiet_hours);
  EXPECT_EQ(found.addresses, wanted.addresses);
  ASSERT_EQ(found.preferences.size(), wanted.preferences.size());
  for (std::size_t i = 0; i < found.preferences.size(); ++i) {
    EXPECT_EQ(found.preferences[i].channel, wanted.preferences[i].channel);
    EXPECT_EQ(found.preferences[i].category, wanted.preferences[i].category);
    EXPECT_EQ(found.preferences[i].allowed, wanted.preferences[i].allowed);
    EXPECT_EQ(found.preferences[i].source, wanted.preferences[i].source);
    EXPECT_EQ(found.preferences[i].at, wanted.preferences[i].at);
  }
}

TEST_P(People, AContactIsKeptAsItWasGiven) {
  EXPECT_EQ(save(w, {ada(w)}), 1U);
  const Contact found = find(w, w.acme, "ada");
  expect_same(found, ada(w));
  EXPECT_EQ(found.updated_at, w.now);
  EXPECT_GT(found.id, 0);
}

TEST_P(People, SavingAgainReplacesTheWhole) {
  save(w, {ada(w)});
  const std::int64_t id = find(w, w.acme, "ada").id;
  w.pass(seconds{1});
  Contact bare = named(w, "ada");
  bare.addresses = {{Channel::Push, "token"}};
  EXPECT_EQ(save(w, {bare}), 0U) << "it was known";
  const Contact found = find(w, w.acme, "ada");
  expect_same(found, bare);
  EXPECT_EQ(found.id, id);
  EXPECT_EQ(found.updated_at, w.now);
}

TEST_P(People, OfTwoForOneContactInOneCallTheLastIsKept) {
  Contact second = named(w, "ada");
  second.name = "second";
  EXPECT_EQ(save(w, {ada(w), second, named(w, "bob")}), 2U);
  EXPECT_EQ(find(w, w.acme, "ada").name, "second");
}

TEST_P(People, TenantsDoNotSeeEachOther) {
  Contact theirs = ada(w);
  theirs.tenant = w.other;
  theirs.name = "another Ada";
  save(w, {ada(w), theirs});
  EXPECT_EQ(find(w, w.other, "ada").name, "another Ada");
  EXPECT_EQ(must(w.a->contacts({.tenant = w.other})).size(), 1U);
  const std::vector<ContactRef> mine{{w.acme, "ada"}};
  EXPECT_EQ(must(w.a->remove_contacts(w.now, w.by_ada, mine)), 1U);
  EXPECT_EQ(find(w, w.other, "ada").name, "another Ada");
}

TEST_P(People, WhoMayActForOneTenantCannotTouchAnothers) {
  OperatorAction theirs = w.by_ada;
  theirs.tenant = w.other;
  const std::vector<Contact> contacts{ada(w)};
  EXPECT_EQ(error_of(w.a->save_contacts(w.now, theirs, contacts, kNoneExempt)), ErrorCode::Invalid);
  EXPECT_TRUE(must(w.a->contacts({.tenant = w.acme})).empty());
  save(w, contacts);
  const std::vector<ContactRef> refs{{w.acme, "ada"}};
  EXPECT_EQ(error_of(w.a->remove_contacts(w.now, theirs, refs)), ErrorCode::Invalid);
  EXPECT_EQ(must(w.a->contacts({.tenant = w.acme})).size(), 1U);
}

TEST_P(People, ManyAreFoundAtOnceAndUnknownOnesAreLeftOut) {
  std::vector<Contact> many;
  for (int i = 0; i < 1200; ++i) {
    many.push_back(named(w, fmt::format("c{}", i)));
    many.back().addresses = {{Channel::Email, fmt::format("c{}@example.org", i)}};
  }
  EXPECT_EQ(save(w, many), 1200U);
  std::vector<ContactRef> refs;
  for (int i = 1000; i < 1500; ++i) refs.push_back({w.acme, fmt::format("c{}", i)});
  refs.push_back({w.other, "c1"});
  refs.push_back({w.acme, std::string{"c1\0", 3}});
  refs.push_back({w.acme, "it's {\"odd\\\"},"});
  auto found = must(w.a->find_contacts(refs));
  EXPECT_EQ(found.size(), 200U);
  for (const Contact& c : found) EXPECT_EQ(c.address(Channel::Email), c.key + "@example.org");
  EXPECT_TRUE(must(w.a->find_contacts({})).empty());
}

TEST_P(People, PagesAreOrderedByKeyByteByByte) {
  for (const char* key : {"b", "Z", "a", "a-1", "A", "é"}) save(w, {named(w, key)});
  std::vector<std::string> keys;
  for (std::string after;;) {
    const auto page = must(w.a->contacts({.tenant = w.acme, .after = after, .count_max = 2}));
    if (page.empty()) break;
    for (const Contact& c : page) keys.push_back(c.key);
    after = keys.back();
  }
  EXPECT_EQ(keys, (std::vector<std::string>{"A", "Z", "a", "a-1", "b", "é"}));
}

TEST_P(People, ContactsAreFoundByTheirAddress) {
  save(w, {ada(w), named(w, "bob")});
  const auto found = must(w.a->contacts({.tenant = w.acme, .address = "+447700900123"}));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].key, "ada");
  EXPECT_TRUE(must(w.a->contacts({.tenant = w.acme, .address = "nobody@example.org"})).empty());
  EXPECT_TRUE(must(w.a->contacts({.tenant = w.other, .address = "+447700900123"})).empty());
}

TEST_P(People, ARemovedContactIsGoneAndLeftItsLists) {
  save(w, {ada(w), named(w, "bob")});
  const RecipientList team{.tenant = w.acme, .name = "team"};
  must(w.a->save_list(w.now, w.by_ada, team));
  const std::vector<ListMember> both{{.contact = "ada"}, {.contact = "bob"}};
  must(w.a->add_members(w.now, w.by_ada, w.acme, "team", both));
  const Instant before = w.now;
  w.pass(seconds{1});
  const std::vector<ContactRef> refs{{w.acme, "ada"}, {w.acme, "nobody"}};
  EXPECT_EQ(must(w.a->remove_contacts(w.now, w.by_ada, refs)), 1U);
  EXPECT_TRUE(must(w.a->find_contacts(refs)).empty());
  EXPECT_EQ(must(w.a->members(w.acme, "team", {.as_of = w.now})).size(), 1U);
  EXPECT_EQ(must(w.a->members(w.acme, "team", {.as_of = before})).size(), 2U) << "she was on it then";
  EXPECT_EQ(must(w.a->list_named(w.acme, "team")).members, 1U);
  EXPECT_EQ(must(w.a->remove_contacts(w.now, w.by_ada, refs)), 0U);
  save(w, {ada(w)});
  EXPECT_EQ(find(w, w.acme, "ada").addresses.size(), 2U);
}

TEST_P(People, AnOptOutEndsWhatWaitsForThatContact) {
  save(w, {ada(w)});
  const Plan marketing{.contact = "ada", .category = "news"};
  const Sent queued = w.send_one(marketing);
  Plan later = marketing;
  later.placement = {DeliveryState::Retrying, Reason::Scheduled, "", w.now + hours{1}};
  const Sent scheduled = w.send_one(later);
  const Sent other_category = w.send_one({.contact = "ada", .category = "billing"});
  const Sent other_channel = w.send_one({.channel = Channel::Sms, .contact = "ada", .category = "news"});
  const Sent other_contact = w.send_one({.contact = "bob", .category = "news"});
  const Sent theirs = w.send_one(marketing, w.row("t", "other"));
  Contact changed = ada(w);
  changed.preferences.push_back({Channel::Email, "news", false, "unsubscribe link", w.now});
  save(w, {changed});
  for (const Sent* ended : {&queued, &scheduled}) {
    const DeliveryView view = w.look(*ended);
    EXPECT_EQ(view.state, DeliveryState::Suppressed);
    EXPECT_EQ(view.reason, Reason::OptedOut);
    EXPECT_EQ(view.detail, "contact \"ada\" opted out of email for news (unsubscribe link)");
    EXPECT_EQ(view.since, w.now);
  }
  for (const Sent* kept : {&other_category, &other_channel, &other_contact, &theirs}) {
    EXPECT_EQ(w.look(*kept).state, DeliveryState::Queued);
  }
}

TEST_P(People, AnOptOutMarksWhatIsBeingSentAndLeavesWhatEnded) {
  save(w, {ada(w)});
  const Plan plan{.contact = "ada", .category = "news"};
  const Sent parked = w.send_one(plan);
  w.park(w.claim_one());
  const Sent sent = w.send_one(plan);
  w.record(w.completion(w.claim_one(), DeliveryState::Sent));
  const Sent sending = w.send_one(plan);
  w.claim_one();
  Contact changed = ada(w);
  changed.preferences = {{std::nullopt, "", false, "api", w.now}};
  save(w, {changed});
  EXPECT_EQ(w.look(parked).state, DeliveryState::Parked);
  EXPECT_EQ(w.look(sent).state, DeliveryState::Sent);
  EXPECT_EQ(w.look(sending).state, DeliveryState::Sending);
  EXPECT_EQ(w.look(sending).reason, Reason::OptedOut);
}

TEST_P(People, AGeneralOptOutLeavesExemptCategoriesAlone) {
  save(w, {ada(w)});
  const Sent code = w.send_one({.contact = "ada", .category = "security"});
  const Sent news = w.send_one({.contact = "ada", .category = "news"});
  const std::vector<std::string> exempt{"security"};
  Contact changed = ada(w);
  changed.preferences = {{std::nullopt, "", false, "api", w.now}};
  const std::vector<Contact> contacts{changed};
  must(w.a->save_contacts(w.now, w.by_ada, contacts, exempt));
  EXPECT_EQ(w.look(code).state, DeliveryState::Queued);
  EXPECT_EQ(w.look(news).state, DeliveryState::Suppressed);
  changed.preferences.push_back({std::nullopt, "security", false, "api", w.now});
  const std::vector<Contact> strict{changed};
  must(w.a->save_contacts(w.now, w.by_ada, strict, exempt));
  EXPECT_EQ(w.look(code).state, DeliveryState::Suppressed) << "it was refused by name";
}

TEST_P(People, TakingAnExceptionBackEndsWhatItAllowed) {
  Contact contact = ada(w);
  contact.preferences = {{std::nullopt, "news", false, "api", w.now}, {Channel::Email, "news", true, "api", w.now}};
  save(w, {contact});
  const Sent news = w.send_one({.contact = "ada", .category = "news"});
  save(w, {contact});
  EXPECT_EQ(w.look(news).state, DeliveryState::Queued);
  contact.preferences.pop_back();
  save(w, {contact});
  EXPECT_EQ(w.look(news).state, DeliveryState::Suppressed);
}

TEST_P(People, EveryChangeLeavesAnAuditRow) {
  save(w, {ada(w), named(w, "bob")});
  const Sent sent = w.send_one({.contact = "bob"});
  Contact bob = named(w, "bob");
  bob.preferences = {{std::nullopt, "", false, "api", w.now}};
  save(w, {bob});
  const std::vector<ContactRef> refs{{w.acme, "bob"}};
  must(w.a->remove_contacts(w.now, w.by_ada, refs));
  const auto audit = w.database->audit();
  ASSERT_EQ(audit.size(), 5U);
  EXPECT_EQ(audit[0].action, "save_contact");
  EXPECT_EQ(audit[0].actor, "ada");
  EXPECT_EQ(audit[0].why, "because");
  EXPECT_EQ(audit[2].action, "save_contact");
  EXPECT_EQ(audit[3].action, "opt_out");
  EXPECT_EQ(audit[3].delivery, sent.deliveries[0]);
  EXPECT_EQ(audit[4].action, "remove_contact");
}

TEST_P(People, ContactsCanBeLookedUpWhileADecisionIsMade) {
  save(w, {ada(w)});
  w.database->insert(w.row());
  std::size_t seen = 0;
  const auto decision = w.decide(w.a);
  must(w.a->expand(w.now, w.a.id, 10, [&](std::span<const OutboxRow> rows) {
    const std::vector<ContactRef> refs{{w.acme, "ada"}};
    seen += must(w.a->find_contacts(refs)).size();
    const std::vector<SuppressionRef> none{{w.acme, Channel::Email, "ada@example.org"}};
    seen += must(w.a->find_suppressions(none)).size();
    return decision(rows);
  }));
  EXPECT_EQ(seen, 1U);
  EXPECT_EQ(w.claim(10).size(), 1U) << "the transaction went on";
}

TEST_P(People, WhatWasSavedIsThereAfterARestart) {
  save(w, {ada(w)});
  w.a.session.reset();
  w.database->reopen();
  w.a = w.join("b");
  expect_same(find(w, w.acme, "ada"), ada(w));
}

POSTRIDER_FOR_EVERY_STORE(People);

}  // namespace
}  // namespace postrider::conformance
