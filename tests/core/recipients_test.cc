// Whom a message reaches, where people are known: contacts, lists, wishes, quiet hours.
#include <gtest/gtest.h>

#include "base/limits.h"
#include "core/expand.h"

namespace postrider {
namespace {

class Utc final : public Zones {
 public:
  [[nodiscard]] bool knows(std::string_view zone) const override { return zone == "UTC" || zone == "Etc/Plus2"; }
  [[nodiscard]] std::optional<Duration> offset_at(Instant, std::string_view zone) const override {
    return zone == "Etc/Plus2" ? std::chrono::hours{2} : std::chrono::hours{0};
  }
  [[nodiscard]] std::optional<Instant> moment_of(std::int64_t us, std::string_view zone) const override {
    return instant_from_us(us) - *offset_at({}, zone);
  }
};

class Recipients : public ::testing::Test {
 protected:
  Recipients() {
    rules.tenants.push_back({.id = 1, .name = "acme", .exempt_categories = {"security"}});
    rules.routes.push_back({.type = "paid",
                            .category = "receipts",
                            .recipients = {{.channel = Channel::Email, .field = "mail"}},
                            .contact_field = "who",
                            .list = "readers"});
    rules.templates.add({.key = "paid-mail",
                         .type = "paid",
                         .channel = Channel::Email,
                         .texts = {{.body = CompiledText::compile("Hello {{contact.name}}").value()}}});
    rules.zones = &zones;
    rules.index();
    Contact ada;
    ada.tenant = 1;
    ada.key = "ada";
    ada.name = "Ada";
    ada.locale = "de-DE";
    ada.addresses = {{Channel::Email, "ada@example.org"}};
    people.add(ada);
  }

  static Message event(std::string payload) {
    Message m;
    m.id = 1;
    m.uuid = make_uuid7(instant_from_us(1'790'000'000'000'000), 1, 2);
    m.tenant = 1;
    m.tenant_name = "acme";
    m.type = "paid";
    m.payload = std::move(payload);
    return m;
  }
  Expansion expand(const Message& m, std::optional<std::span<const ListMember>> members = {}) {
    ExpandWith with{.rules = rules, .templates = rules.templates, .people = people, .now = now};
    with.members = members;
    return postrider::expand(m, with, {0, 500});
  }

  Utc zones;
  Rules rules;
  People people;
  Instant now = instant_from_us(1'790'000'000'000'000);  // 2026-09-21T14:13:20Z
};

TEST_F(Recipients, GetNothingInsteadOfATextWithoutItsSecret) {
  rules.templates.add({.key = "reset",
                       .type = "reset",
                       .channel = Channel::Email,
                       .texts = {{.body = CompiledText::compile("Your code: {{secret.code}}").value()}}});
  Message m = event(R"({"email":"own@example.org"})");
  m.type = "reset";
  const Expansion out = expand(m);
  ASSERT_EQ(out.deliveries.size(), 1U);
  EXPECT_EQ(out.deliveries[0].placement.state, DeliveryState::Suppressed);
  EXPECT_EQ(out.deliveries[0].placement.reason, Reason::SecretMissing);
  EXPECT_EQ(out.deliveries[0].delivery.body, "");
  EXPECT_EQ(out.state, MessageState::Failed) << "it can be replayed";
  EXPECT_EQ(out.reason, Reason::SecretMissing);

  m.sealed = "a box";
  const Expansion late = expand(m);
  ASSERT_EQ(late.deliveries.size(), 1U);
  EXPECT_EQ(late.deliveries[0].placement.state, DeliveryState::Queued);
  EXPECT_EQ(late.deliveries[0].delivery.rendering, Rendering::Late) << "it is opened just before it is sent";
  EXPECT_EQ(late.deliveries[0].delivery.body, "");
}

TEST_F(Recipients, GetNoTextWithoutItsSecretBehindWhateverNameOrPartial) {
  const auto compiled = [](std::string_view text) { return CompiledText::compile(text).value(); };
  Message m = event(R"({"email":"own@example.org"})");
  m.type = "reset";
  struct Case {
    std::string_view body;
    DeliveryState bare;  // what becomes of a message that carries no box
  };
  for (const Case& c : std::vector<Case>{{"{{Secret.code}}", DeliveryState::Suppressed},
                                         {"{{#SECRET}}{{code}}{{/SECRET}}", DeliveryState::Suppressed},
                                         {"{{> foot}}", DeliveryState::Suppressed},
                                         {"{{> outer}}", DeliveryState::Suppressed},
                                         {"{{secretCode}}", DeliveryState::Queued},  // it may be a key of the payload
                                         {"{{> theirs}}", DeliveryState::Queued}}) {
    TemplateSet set;
    set.add({.key = "reset", .type = "reset", .channel = Channel::Email, .texts = {{.body = compiled(c.body)}}});
    ASSERT_TRUE(set.add_partial("", "outer", "", "{{> foot}}"));
    ASSERT_TRUE(set.add_partial("acme", "foot", "", "Your code: {{secret.code}}"));
    ASSERT_TRUE(set.add_partial("globex", "theirs", "", "Your code: {{secret.code}}"));
    const auto made = [&] {
      ExpandWith with{.rules = rules, .templates = set, .people = people, .now = now};
      return postrider::expand(m, with, {0, 500}).deliveries.at(0);
    };
    m.sealed.clear();
    EXPECT_EQ(made().placement.state, c.bare) << c.body;
    m.sealed = "a box";
    const bool asks = c.body != "{{> theirs}}";  // another tenant's partial is none of ours
    EXPECT_EQ(made().delivery.rendering, asks ? Rendering::Late : Rendering::Early) << c.body;
  }
}

TEST_F(Recipients, NobodyIsLeftWhateverEachChannelLacksAndTheMessageFails) {
  const auto add = [&](Channel channel, std::string_view body) {
    rules.templates.add(
        {.key = "t", .type = "reset", .channel = channel, .texts = {{.body = CompiledText::compile(body).value()}}});
  };
  add(Channel::Email, "x");
  add(Channel::Sms, "{{#deep}}{{#deep}}{{#deep}}{{#deep}}x{{/deep}}{{/deep}}{{/deep}}{{/deep}}");
  std::string many = "1";
  for (int i = 0; i < 100; ++i) many += ",1";
  Message m = event(R"({"phone":"+4915112345678","deep":[)" + many + "]}");
  m.type = "reset";
  const Expansion out = expand(m);
  ASSERT_EQ(out.deliveries.size(), 2U);
  EXPECT_EQ(out.deliveries[0].placement.reason, Reason::NoRecipient);
  EXPECT_EQ(out.deliveries[1].placement.reason, Reason::TemplateBroken);
  EXPECT_EQ(out.state, MessageState::Failed) << "it can be replayed when either is mended";
  EXPECT_EQ(out.reason, Reason::NoRecipient);
  m.payload = R"({"email":"ann@example.org","deep":1})";
  EXPECT_EQ(expand(m).state, MessageState::Expanded) << "one channel is left";
}

TEST_F(Recipients, FieldsAreFoundInEitherCaseOfLetters) {
  rules.routes.front().list.clear();
  rules.routes.front().cancel_when = {.field = "bookingStatus", .values = {"Cancelled"}};
  const Message m = event(R"({"MAIL":"field@example.org","bookingstatus":"cancelled"})");
  EXPECT_EQ(expand(m).state, MessageState::Cancelled) << "a database folds the names of its columns";
  EXPECT_EQ(expand(m).detail, "bookingStatus is cancelled");
  rules.routes.front().cancel_when = {.field = "stay.state.word", .values = {"Cancelled"}};
  EXPECT_EQ(expand(event(R"({"Stay":{"STATE":{"Word":"cancelled"}}})")).state, MessageState::Cancelled);
  for (const char* other : {R"({"Stay":{"STATE":"cancelled"}})", R"({"Stay":"cancelled"})", R"({"stays":1})"}) {
    EXPECT_NE(expand(event(other)).state, MessageState::Cancelled) << other;
  }
  rules.routes.front().cancel_when = {};
  EXPECT_EQ(expand(m).deliveries.at(0).delivery.recipient, "field@example.org");
  EXPECT_EQ(
      expand(event(R"({"mail":"exact@example.org","MAIL":"other@example.org"})")).deliveries.at(0).delivery.recipient,
      "exact@example.org");
}

TEST_F(Recipients, ComeFromTheAddressThenTheContactThenTheListThenTheFields) {
  Message m = event(R"({"who":"ada","mail":"field@example.org"})");
  m.recipient = "own@example.org";
  EXPECT_EQ(expand(m).deliveries.at(0).delivery.recipient, "own@example.org");
  m.recipient.clear();
  EXPECT_TRUE(needs_of(m, rules).list.empty());
  const Delivery to_contact = expand(m).deliveries.at(0).delivery;
  EXPECT_EQ(to_contact.recipient, "ada@example.org");
  EXPECT_EQ(to_contact.contact, "ada");
  EXPECT_EQ(to_contact.category, "receipts");
  EXPECT_EQ(to_contact.locale, "de-DE");
  EXPECT_EQ(to_contact.body, "Hello Ada");
  m.payload = R"({"mail":"field@example.org"})";
  EXPECT_EQ(needs_of(m, rules).list, "readers");
  const std::vector<ListMember> members{{.id = 1, .address = "member@example.org"}};
  EXPECT_EQ(expand(m, std::span{members}).deliveries.at(0).delivery.recipient, "member@example.org");
  rules.routes.front().list.clear();
  EXPECT_TRUE(needs_of(m, rules).list.empty());
  EXPECT_EQ(expand(m).deliveries.at(0).delivery.recipient, "field@example.org");
}

TEST_F(Recipients, MembersOfAListHaveKeysOfTheirOwnThatTheStoreCompares) {
  Message m = event("{}");
  m.channel = Channel::Email;
  m.list = "readers";
  m.body = "x";
  const std::vector<ListMember> members{
      {.id = 1, .contact = "ada"}, {.id = 2, .address = "Ada@Example.org"}, {.id = 3, .contact = "gone"}};
  const Expansion made = expand(m, std::span{members});
  ASSERT_EQ(made.deliveries.size(), 3U);
  EXPECT_EQ(made.deliveries[0].delivery.key, made.deliveries[1].delivery.key) << "one address, one delivery";
  EXPECT_FALSE(made.deliveries[0].key_is_own) << "another chunk may have the same";
  EXPECT_EQ(made.deliveries[2].placement.reason, Reason::NoRecipient);
}

TEST_F(Recipients, AWishStopsWhatItForbidsAndExemptCategoriesPass) {
  Contact bob;
  bob.tenant = 1;
  bob.key = "bob";
  bob.addresses = {{Channel::Email, "bob@example.org"}};
  bob.preferences = {{.allowed = false, .source = "api"}};
  people.add(bob);
  Message m = event(R"({"who":"bob"})");
  const Expansion refused = expand(m);
  EXPECT_EQ(refused.deliveries.at(0).placement.state, DeliveryState::Suppressed);
  EXPECT_EQ(refused.deliveries.at(0).placement.reason, Reason::OptedOut);
  EXPECT_EQ(refused.deliveries.at(0).placement.detail, "contact \"bob\" opted out of every channel (api)");
  m.category = "security";
  EXPECT_EQ(expand(m).deliveries.at(0).placement.state, DeliveryState::Queued);
}

TEST_F(Recipients, QuietHoursOfTheContactGoBeforeTheTenants) {
  Contact bob;
  bob.tenant = 1;
  bob.key = "bob";
  bob.timezone = "Etc/Plus2";
  bob.quiet_hours = QuietHours{16 * 60, 17 * 60};  // 14:00 to 15:00 UTC
  bob.addresses = {{Channel::Email, "bob@example.org"}};
  people.add(bob);
  const Message m = event(R"({"who":"bob"})");
  const NewDelivery waits = expand(m).deliveries.at(0);
  EXPECT_EQ(waits.placement.state, DeliveryState::Retrying);
  EXPECT_EQ(waits.placement.reason, Reason::QuietHours);
  EXPECT_EQ(waits.delivery.quiet, "16:00-17:00 Etc/Plus2");
  EXPECT_EQ(format_instant(waits.placement.due_at), "2026-09-21T15:00:00.000Z");
  rules.tenants.front().quiet_hours = QuietHours{14 * 60, 20 * 60};
  EXPECT_EQ(expand(m).deliveries.at(0).placement.due_at, waits.placement.due_at);
  EXPECT_EQ(format_instant(expand(event(R"({"who":"ada"})")).deliveries.at(0).placement.due_at),
            "2026-09-21T20:00:00.000Z");
}

TEST_F(Recipients, WhoIsNamedButNotKnownStopsTheMessageUnlessAnAddressIsGiven) {
  Message m = event("{}");
  m.contact = "nobody";
  EXPECT_EQ(expand(m).reason, Reason::UnknownContact);
  EXPECT_EQ(expand(m).detail, "contact \"nobody\"");
  m.recipient = "own@example.org";
  const Delivery addressed = expand(m).deliveries.at(0).delivery;
  EXPECT_EQ(addressed.recipient, "own@example.org");
  EXPECT_EQ(addressed.contact, "");
}

TEST_F(Recipients, AMessageItselfMayNameItsContact) {
  Message m = event(R"({"who":"somebody else"})");
  m.contact = "ada";
  EXPECT_EQ(needs_of(m, rules).contacts, std::vector<std::string>{"ada"});
  EXPECT_EQ(expand(m).deliveries.at(0).delivery.recipient, "ada@example.org");
  m.channel = Channel::Email;
  m.body = "x";
  EXPECT_EQ(expand(m).deliveries.at(0).delivery.recipient, "ada@example.org") << "directly too";
  m.channel = Channel::Sms;
  EXPECT_EQ(expand(m).reason, Reason::NoRecipient);
  EXPECT_EQ(expand(m).detail, "contact \"ada\" has no sms address");
  m.contact = "nobody";
  EXPECT_EQ(expand(m).reason, Reason::UnknownContact);
}

TEST_F(Recipients, APayloadThatCannotBeReadNamesNobody) {
  EXPECT_TRUE(needs_of(event("{"), rules).contacts.empty());
  EXPECT_EQ(expand(event("{")).reason, Reason::InvalidPayload);
}

TEST_F(Recipients, AProgramIsCalledAtItsOwnAddressWhoeverTheContactIs) {
  rules.routes.front().recipients.push_back({.channel = Channel::Webhook, .field = "hook"});
  rules.tenants.front().quiet_hours = QuietHours{14 * 60, 20 * 60};
  const Expansion to_contact = expand(event(R"({"who":"ada","hook":"https://example.org/x"})"));
  ASSERT_EQ(to_contact.deliveries.size(), 2U);
  EXPECT_EQ(to_contact.deliveries[0].delivery.recipient, "ada@example.org");
  EXPECT_EQ(to_contact.deliveries[0].placement.reason, Reason::QuietHours);
  EXPECT_EQ(to_contact.deliveries[1].delivery.recipient, "https://example.org/x");
  EXPECT_EQ(to_contact.deliveries[1].placement.state, DeliveryState::Queued) << "it does not sleep";
  const std::vector<ListMember> members{{.id = 1, .address = "member@example.org"}};
  const Expansion to_list = expand(event(R"({"hook":"https://example.org/x"})"), std::span{members});
  ASSERT_EQ(to_list.deliveries.size(), 2U);
  EXPECT_EQ(to_list.deliveries[0].delivery.recipient, "member@example.org");
  EXPECT_EQ(to_list.deliveries[1].delivery.recipient, "https://example.org/x");
}

TEST_F(Recipients, MembersThatAreContactsNoMoreAreToldOneByOne) {
  const std::vector<ListMember> members{{.id = 1, .contact = "eve"}, {.id = 2, .contact = "zoe"}};
  const Expansion out = expand(event("{}"), std::span{members});
  ASSERT_EQ(out.deliveries.size(), 2U);
  EXPECT_NE(out.deliveries[0].delivery.key, out.deliveries[1].delivery.key);
  EXPECT_EQ(out.deliveries[1].delivery.contact, "zoe");
  EXPECT_EQ(out.deliveries[1].placement.reason, Reason::NoRecipient);
  EXPECT_EQ(out.deliveries[1].placement.detail, "contact \"zoe\" was removed");
}

TEST_F(Recipients, MembersWithoutAnAddressOfTheChannelMakeNoDelivery) {
  const std::vector<ListMember> members{{.id = 1, .channel = Channel::Sms, .address = "+4915112345678"}};
  const Expansion out = expand(event("{}"), std::span{members});
  EXPECT_EQ(out.state, MessageState::Expanded) << "the rest of the list may have one";
  EXPECT_TRUE(out.deliveries.empty());
}

TEST_F(Recipients, AListIsNotWrittenToWithoutATemplate) {
  const std::vector<ListMember> members{{.id = 1, .address = "member@example.org"}};
  rules.templates = {};
  EXPECT_EQ(expand(event("{}"), std::span{members}).reason, Reason::TemplateNotFound);
  rules.templates.add({.key = "paid-sms",
                       .type = "paid",
                       .channel = Channel::Sms,
                       .texts = {{.body = CompiledText::compile("Hello").value()}}});
  const Expansion other = expand(event("{}"), std::span{members});
  EXPECT_EQ(other.state, MessageState::Failed) << "the route writes by mail alone";
  EXPECT_EQ(other.reason, Reason::TemplateNotFound);
}

TEST_F(Recipients, QuietHoursOfTheTenantHoldForAddressesThatNobodyKnows) {
  rules.routes.front().list.clear();
  rules.tenants.front().quiet_hours = QuietHours{14 * 60, 15 * 60};
  Message m = event(R"({"mail":"field@example.org"})");
  const NewDelivery waits = expand(m).deliveries.at(0);
  EXPECT_EQ(waits.delivery.quiet, "14:00-15:00 UTC");
  EXPECT_EQ(format_instant(waits.placement.due_at), "2026-09-21T15:00:00.000Z");
  m.expires_at = now + std::chrono::minutes{10};
  const Placement expired = expand(m).deliveries.at(0).placement;
  EXPECT_EQ(expired.state, DeliveryState::Expired);
  EXPECT_EQ(expired.detail, "quiet hours end only after it expires");
  rules.tenants.front().quiet_hours = QuietHours{20 * 60, 8 * 60};
  const NewDelivery awake = expand(m).deliveries.at(0);
  EXPECT_EQ(awake.placement.state, DeliveryState::Queued);
  EXPECT_EQ(awake.delivery.quiet, "20:00-08:00 UTC") << "for the day that it is put off to them";
}

TEST_F(Recipients, GetNothingWhereTheTemplateLacksTheirLanguage) {
  rules.templates = {};
  rules.templates.add({.key = "paid-mail",
                       .type = "paid",
                       .channel = Channel::Email,
                       .texts = {{.locale = "en-US", .body = CompiledText::compile("Hello").value()}}});
  const Expansion out = expand(event(R"({"who":"ada"})"));
  EXPECT_EQ(out.state, MessageState::Failed);
  EXPECT_EQ(out.reason, Reason::TemplateNotFound);
  EXPECT_EQ(out.detail, "Template paid-mail not found for locale de-DE");
  rules.tenants.front().writing.fallbacks = {"en-US"};
  const Expansion fallen_back = expand(event(R"({"who":"ada"})"));
  EXPECT_EQ(fallen_back.deliveries.at(0).delivery.locale, "en-US");
  EXPECT_EQ(fallen_back.deliveries.at(0).delivery.body, "Hello");
}

TEST_F(Recipients, MoreThanCanBeReadTogetherIsToldAndNotLeftOut) {
  const std::string much = R"({"notes":")" + std::string(4 * kPayloadBytesMax - 16, 'x') + "\"}";
  Contact bob;
  bob.tenant = 1;
  bob.key = "bob";
  bob.addresses = {{Channel::Email, "bob@example.org"}};
  bob.attributes = much;
  people.add(bob);
  const Placement unread = expand(event(R"({"who":"bob"})")).deliveries.at(0).placement;
  EXPECT_EQ(unread.state, DeliveryState::Suppressed);
  EXPECT_EQ(unread.reason, Reason::InvalidPayload);
  const Expansion failed = postrider::expand(
      event(R"({"mail":"field@example.org"})"),
      {.rules = rules, .templates = rules.templates, .people = people, .now = now, .record = much}, {0, 500});
  EXPECT_EQ(failed.state, MessageState::Failed);
  EXPECT_EQ(failed.reason, Reason::InvalidPayload);
}

TEST_F(Recipients, ASuppressedAddressLosesItsContent) {
  NewDelivery made = expand(event(R"({"who":"ada"})")).deliveries.at(0);
  apply({.cause = SuppressionCause::Complaint, .evidence = "told us", .at = now}, made);
  EXPECT_EQ(made.placement.reason, Reason::SuppressedAddress);
  EXPECT_EQ(made.placement.detail, "complaint on " + format_instant(now) + ": told us");
  EXPECT_TRUE(made.delivery.body.empty());
}

}  // namespace
}  // namespace postrider
