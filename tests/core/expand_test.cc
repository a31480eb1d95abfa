// From a message to its deliveries.
#include "core/expand.h"

#include <gtest/gtest.h>

#include <set>

#include "base/json.h"
#include "base/limits.h"
#include "base/text.h"

namespace postrider {
namespace {

using std::chrono::hours;

constexpr Instant kNow = instant_from_us(1'800'000'000'000'000);
constexpr ExpandRange kFirstChunk{0, kDeliveriesPerExpansionMax};

CompiledText text(std::string_view source) { return *CompiledText::compile(source); }

Template mail(std::string key = "mail-1", std::string tenant = "") {
  return {.key = std::move(key),
          .tenant = std::move(tenant),
          .type = "paid",
          .channel = Channel::Email,
          .version = 3,
          .texts = {{.subject = text("Order {{id}}"), .body = text("Dear {{name}}"), .html = text("<p>{{name}}</p>")}}};
}
Template sms() {
  return {.key = "sms-1", .type = "paid", .channel = Channel::Sms, .texts = {{.body = text("{{name}} paid")}}};
}

struct World {
  Rules rules;
  Message message;

  World() {
    rules.tenants = {{1, "acme", {}}, {2, "globex", {}}};
    message.id = 100;
    message.uuid = *parse_uuid("018f0000-0000-7000-8000-000000000001");
    message.tenant = 1;
    message.tenant_name = "acme";
    message.type = "paid";
    message.entity_id = "42";
    message.payload = R"({"id":42,"name":"Ann","email":"ann@example.org","phone":"+4915112345678"})";
    message.accepted_at = kNow;
  }
  World& knows(Template entry) { return rules.templates.add(std::move(entry)), *this; }
  World& routes(std::vector<RecipientSource> recipients) {
    Route route{.type = "paid"};
    route.recipients = std::move(recipients);
    rules.routes.push_back(std::move(route));
    return *this;
  }
  World& posts_to(std::string url) {
    rules.providers.push_back(
        {.id = 1, .name = "hook", .channel = Channel::Webhook, .fixed_recipient = std::move(url)});
    rules.chains[Channel::Webhook] = {1};
    return *this;
  }
  World& becomes_direct(Channel channel, std::string recipient) {
    message.channel = channel;
    message.recipient = std::move(recipient);
    return *this;
  }
  Expansion expand(ExpandRange range = kFirstChunk) {
    rules.index();
    return postrider::expand(message, rules, kNow, range);
  }
};

std::vector<std::string> recipients_of(const Expansion& out) {
  std::vector<std::string> all;
  for (const NewDelivery& d : out.deliveries) all.push_back(d.delivery.recipient);
  return all;
}
std::set<std::string> keys_of(const Expansion& out) {
  std::set<std::string> all;
  for (const NewDelivery& d : out.deliveries) all.insert(d.delivery.key);
  return all;
}
void expect_failed(const Expansion& out, MessageState state, Reason reason) {
  EXPECT_EQ(to_text(out.state), to_text(state));
  EXPECT_EQ(code_of(out.reason), code_of(reason));
}

// --- templates × recipients

TEST(Expand, AnEventBecomesOneDeliveryPerMatchingTemplate) {
  const Expansion out = World{}.knows(sms()).knows(mail()).expand();
  EXPECT_EQ(out.state, MessageState::Expanded);
  ASSERT_EQ(out.deliveries.size(), 2U);
  EXPECT_EQ(recipients_of(out), (std::vector<std::string>{"ann@example.org", "+4915112345678"}));
  for (const NewDelivery& made : out.deliveries) EXPECT_EQ(made.placement.state, DeliveryState::Queued);
}

TEST(Expand, ADeliveryCarriesEverythingThatSendingNeeds) {
  World world;
  world.message.origin = "shop";
  world.message.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  world.message.expires_at = kNow + hours{1};
  const Delivery d = world.knows(mail()).expand().deliveries.at(0).delivery;
  EXPECT_EQ(d.message, 100);
  EXPECT_EQ(d.message_uuid, world.message.uuid);
  EXPECT_EQ(d.tenant, 1);
  EXPECT_EQ(d.channel, Channel::Email);
  EXPECT_EQ(d.origin, "shop");
  EXPECT_EQ(d.traceparent, world.message.traceparent);
  EXPECT_EQ(d.template_key, "mail-1");
  EXPECT_EQ(d.template_version, 3);
  EXPECT_EQ(d.subject, "Order 42");
  EXPECT_EQ(d.body, "Dear Ann");
  EXPECT_EQ(d.html, "<p>Ann</p>");
  EXPECT_EQ(d.expires_at, kNow + hours{1});
  EXPECT_EQ(d.warnings, "");
}

TEST(Expand, ArrayFieldsGiveOneDeliveryPerMemberAndTemplate) {
  World world;
  world.message.payload = R"({"to":["a@b.co","c@d.co","a@b.co"],"phones":["+4915112345678"]})";
  world.knows(mail()).knows(sms()).routes(
      {{Channel::Email, "to", RecipientShape::Array}, {Channel::Sms, "phones", RecipientShape::Array}});
  const Expansion out = world.expand();
  EXPECT_EQ(recipients_of(out), (std::vector<std::string>{"a@b.co", "c@d.co", "+4915112345678"}))
      << "a member named twice gets one delivery";
  EXPECT_EQ(keys_of(out), (std::set<std::string>{"42:paid:email:mail-1:a@b.co", "42:paid:email:mail-1:c@d.co",
                                                 "42:paid:sms:sms-1:+4915112345678"}));
}

TEST(Expand, ADottedPathLeadsThroughObjects) {
  World world;
  world.message.payload = R"({"guest":{"contact":{"mail":"g@h.co"}}})";
  EXPECT_EQ(recipients_of(world.knows(mail()).routes({{Channel::Email, "guest.contact.mail"}}).expand()),
            std::vector<std::string>{"g@h.co"});
}

TEST(Expand, AnExplicitAddressWinsOverThePayload) {
  World world;
  world.message.recipient = "boss@example.org";
  const Expansion out = world.knows(mail()).routes({{Channel::Email, "email", RecipientShape::Array}}).expand();
  EXPECT_EQ(recipients_of(out), std::vector<std::string>{"boss@example.org"});
}

TEST(Expand, ARouteThatListsItsChannelsUsesNoOther) {
  const Expansion out = World{}.knows(mail()).knows(sms()).routes({{Channel::Sms, "phone"}}).expand();
  ASSERT_EQ(out.deliveries.size(), 1U);
  EXPECT_EQ(out.deliveries[0].delivery.channel, Channel::Sms);
}

TEST(Expand, AnArrayInAFieldThatTheRouteCallsSingleStillReachesEveryMember) {
  World world;
  world.message.payload = R"({"email":["a@b.co","c@d.co"]})";
  const Expansion out = world.knows(mail()).expand();
  EXPECT_EQ(out.deliveries.size(), 2U);
  EXPECT_EQ(keys_of(out).size(), 2U) << "deliveries with one key would be taken for repetitions of each other";
}

TEST(Expand, MembersThatAreNoAddressesAreSuppressedAndTheOthersGo) {
  World world;
  world.message.payload = R"({"to":["a@b.co",null,17,{"x":1},[],"","a b@c.co"]})";
  const Expansion out = world.knows(mail()).routes({{Channel::Email, "to", RecipientShape::Array}}).expand();
  EXPECT_EQ(out.state, MessageState::Expanded);
  int queued = 0;
  for (const NewDelivery& made : out.deliveries) {
    const bool goes = made.placement.state == DeliveryState::Queued;
    queued += goes ? 1 : 0;
    EXPECT_EQ(made.placement.reason, goes ? Reason::Waiting : Reason::NoRecipient);
  }
  EXPECT_EQ(queued, 1);
}

// --- keys

TEST(DeliveryKey, HasNoNulWhateverAListOfRecipientsHolds) {
  World world;
  world.routes({{Channel::Email, "to", RecipientShape::Array}}).knows(mail());
  for (const char* payload : {R"({"to":["a\u0000@b.co","a@b.co"]})", R"({"to":"a\u0000@b.co"})"}) {
    world.message.payload = payload;
    const Expansion out = world.expand();
    for (const NewDelivery& made : out.deliveries) {
      EXPECT_EQ(made.delivery.key.find('\0'), std::string::npos) << printable(made.delivery.key);
    }
    EXPECT_EQ(out.deliveries.at(0).placement.state, DeliveryState::Suppressed);
    EXPECT_EQ(out.deliveries.back().placement.state,
              out.deliveries.size() == 1 ? DeliveryState::Suppressed : DeliveryState::Queued);
  }
}

TEST(DeliveryKey, IsMadeOfEntityTypeVersionChannelTemplateAndRecipient) {
  Message m;
  m.uuid = *parse_uuid("018f0000-0000-7000-8000-000000000001");
  m.type = "paid";
  m.entity_id = "42";
  EXPECT_EQ(delivery_key(m, Channel::Email, "t1", ""), "42:paid:email:t1");
  m.version = "3";
  EXPECT_EQ(delivery_key(m, Channel::Sms, "t1", ""), "42:paid:3:sms:t1");
  EXPECT_EQ(delivery_key(m, Channel::Sms, "t1", "+491"), "42:paid:3:sms:t1:+491");
  m.entity_id = "";
  EXPECT_EQ(delivery_key(m, Channel::Sms, "t1", ""), "018f0000-0000-7000-8000-000000000001:paid:3:sms:t1");
  m.entity_id = "42";
  m.channel = Channel::Email;
  EXPECT_EQ(delivery_key(m, Channel::Email, "direct", ""), "018f0000-0000-7000-8000-000000000001:paid:3:email:direct");
}

TEST(DeliveryKey, TheRouteDecidesWhetherTheRecipientIsPartOfItNeverTheCount) {
  World world;
  world.message.payload = R"({"to":["a@b.co"]})";
  world.knows(mail()).routes({{Channel::Email, "to", RecipientShape::Array}});
  EXPECT_EQ(keys_of(world.expand()), std::set<std::string>{"42:paid:email:mail-1:a@b.co"});
  world.message.payload = R"({"to":"a@b.co"})";
  EXPECT_EQ(keys_of(world.expand()), std::set<std::string>{"42:paid:email:mail-1:a@b.co"});
}

TEST(DeliveryKey, ASecondMessageForTheSameFactHasTheSameKeyAndAnotherVersionHasNot) {
  World first;
  World second;
  second.message.uuid = *parse_uuid("018f0000-0000-7000-8000-000000000002");
  EXPECT_EQ(keys_of(first.knows(mail()).expand()), keys_of(second.knows(mail()).expand()));
  second.message.version = "2";
  EXPECT_NE(keys_of(first.expand()), keys_of(second.expand()));
}

TEST(DeliveryKey, IsTheMessagesOwnWithoutAnEntityAndForDirectMessages) {
  World event;
  EXPECT_FALSE(event.knows(mail()).expand().deliveries.at(0).key_is_own);
  event.message.entity_id = "";
  EXPECT_TRUE(event.expand().deliveries.at(0).key_is_own);
  World direct;
  direct.becomes_direct(Channel::Email, "a@b.co").message.body = "Hi";
  EXPECT_TRUE(direct.expand().deliveries.at(0).key_is_own);
}

// --- what cannot be sent

TEST(Expand, ATypeThatNothingKnowsIsIgnoredWithItsReason) {
  World world;
  world.message.type = "unheard.of";
  const Expansion out = world.knows(mail()).expand();
  expect_failed(out, MessageState::Ignored, Reason::NoRoute);
  EXPECT_NE(out.detail.find("unheard.of"), std::string::npos);
  EXPECT_TRUE(out.deliveries.empty());
}

TEST(Expand, ARouteWithoutATemplateFailsWithTemplateNotFound) {
  expect_failed(World{}.routes({}).expand(), MessageState::Failed, Reason::TemplateNotFound);
  expect_failed(World{}.knows(sms()).routes({{Channel::Email, "email"}}).expand(), MessageState::Failed,
                Reason::TemplateNotFound);
}

TEST(Expand, AMissingAddressSuppressesThatDeliveryOnly) {
  World world;
  world.message.payload = R"({"phone":"+4915112345678"})";
  const Expansion out = world.knows(mail()).knows(sms()).expand();
  EXPECT_EQ(out.state, MessageState::Expanded);
  ASSERT_EQ(out.deliveries.size(), 2U);
  EXPECT_EQ(out.deliveries[0].placement.state, DeliveryState::Suppressed);
  EXPECT_EQ(out.deliveries[0].placement.reason, Reason::NoRecipient);
  EXPECT_EQ(out.deliveries[1].placement.state, DeliveryState::Queued);
}

TEST(Expand, AMessageFailsWithNoRecipientWhenNoChannelHasOne) {
  for (const char* payload : {"{}", R"({"email":"","phone":"123"})", R"({"email":[],"phone":null})",
                              R"({"email":"a@b.co\r\nBcc: x@y.z","phone":"\u0000"})"}) {
    World world;
    world.message.payload = payload;
    const Expansion out = world.knows(mail()).knows(sms()).expand();
    expect_failed(out, MessageState::Failed, Reason::NoRecipient);
    EXPECT_FALSE(out.detail.empty());
    for (const NewDelivery& made : out.deliveries) {
      EXPECT_EQ(made.placement.state, DeliveryState::Suppressed);
      EXPECT_FALSE(has_control(made.delivery.recipient)) << "what is kept is safe to show";
      EXPECT_TRUE(made.delivery.body.empty()) << "what is not sent is not rendered";
    }
  }
}

TEST(Expand, AnUnknownTenantFailsWithThatReason) {
  World world;
  world.message.tenant = 0;
  world.message.tenant_name = "nobody";
  const Expansion out = world.knows(mail()).expand();
  expect_failed(out, MessageState::Failed, Reason::UnknownTenant);
  EXPECT_NE(out.detail.find("nobody"), std::string::npos);
}

TEST(Expand, APayloadThatCannotBeReadFails) {
  World world;
  world.message.payload = "{";
  expect_failed(world.knows(mail()).expand(), MessageState::Failed, Reason::InvalidPayload);
}

// --- time

TEST(Expand, WhatHasExpiredIsNotQueued) {
  for (const auto& [expires_at, due_at] :
       {std::pair{kNow - hours{1}, std::optional<Instant>{}}, std::pair{kNow, std::optional<Instant>{}},
        std::pair{kNow + hours{1}, std::optional{kNow + hours{1}}},
        std::pair{kNow + hours{1}, std::optional{kNow + hours{2}}}}) {
    World world;
    world.message.expires_at = expires_at;
    world.message.due_at = due_at;
    const Expansion out = world.knows(mail()).expand();
    EXPECT_EQ(out.state, MessageState::Expanded);
    EXPECT_EQ(out.deliveries.at(0).placement.state, DeliveryState::Expired);
    EXPECT_EQ(out.deliveries.at(0).placement.reason, Reason::Expired);
  }
}

TEST(Expand, WhatIsDueLaterWaitsUntilThen) {
  World world;
  world.message.due_at = kNow + hours{24};
  const Placement later = world.knows(mail()).expand().deliveries.at(0).placement;
  EXPECT_EQ(later.state, DeliveryState::Retrying);
  EXPECT_EQ(later.reason, Reason::Scheduled);
  EXPECT_EQ(later.due_at, kNow + hours{24});
  world.message.due_at = kNow - hours{1};
  EXPECT_EQ(world.expand().deliveries.at(0).placement.state, DeliveryState::Queued);
}

// --- lanes and guarantees

TEST(Expand, TheMessagesLaneGoesBeforeTheRoutesAndStandardIsLast) {
  World world;
  world.knows(mail());
  EXPECT_EQ(world.expand().deliveries.at(0).delivery.lane, Lane::Standard);
  world.routes({});
  world.rules.routes[0].lane = Lane::Priority;
  world.rules.routes[0].guarantee = Guarantee::AtMostOnce;
  EXPECT_EQ(world.expand().deliveries.at(0).delivery.lane, Lane::Priority);
  EXPECT_EQ(world.expand().deliveries.at(0).delivery.guarantee, Guarantee::AtMostOnce);
  world.message.lane = Lane::Bulk;
  EXPECT_EQ(world.expand().deliveries.at(0).delivery.lane, Lane::Bulk);
}

TEST(Expand, ATenantsOwnRouteAndTemplateWin) {
  World world;
  world.knows(mail("common")).knows(mail("own", "acme")).routes({});
  Route own{.tenant = "acme", .type = "paid", .lane = Lane::Bulk};
  world.rules.routes.push_back(own);
  const Delivery d = world.expand().deliveries.at(0).delivery;
  EXPECT_EQ(d.template_key, "own");
  EXPECT_EQ(d.lane, Lane::Bulk);
  world.message.tenant = 2;
  world.message.tenant_name = "globex";
  EXPECT_EQ(world.expand().deliveries.at(0).delivery.template_key, "common");
}

// --- content

TEST(Expand, MissingKeysAreAWarningNeverAFailure) {
  World world;
  world.message.payload = R"({"email":"a@b.co"})";
  const NewDelivery made = world.knows(mail()).expand().deliveries.at(0);
  EXPECT_EQ(made.placement.state, DeliveryState::Queued);
  EXPECT_EQ(made.delivery.body, "Dear ");
  EXPECT_EQ(made.delivery.warnings, "no value for id; no value for name");
}

TEST(Expand, ASubjectStaysOneShortLineWhateverTheDataSays) {
  World world;
  world.message.payload = R"({"email":"a@b.co","id":"1\r\nBcc: x@y.z\u0000","name":"n"})";
  EXPECT_FALSE(has_control(world.knows(mail()).expand().deliveries.at(0).delivery.subject));
  world.message.payload = R"({"email":"a@b.co","name":"n","id":")" + std::string(100'000, 'x') + R"("})";
  EXPECT_LT(world.expand().deliveries.at(0).delivery.subject.size(), 2'100U);
}

TEST(Expand, ANulInTheDataNeverReachesTheContentBecauseNotEveryStoreCanKeepIt) {
  World world;
  world.message.payload = R"({"email":"a@b.co","id":"\u0000","name":"A\u0000nn"})";
  const Delivery d = world.knows(mail()).expand().deliveries.at(0).delivery;
  for (const std::string* part : {&d.subject, &d.body, &d.html})
    EXPECT_EQ(part->find('\0'), std::string::npos) << printable(*part);
}

TEST(Expand, ContentThatIsTooLargeIsSuppressedWithThatReason) {
  World world;
  Template huge = mail();
  huge.texts[0].body = text("{{name}}{{name}}{{name}}");
  world.message.payload = R"({"email":"a@b.co","name":")" + std::string(kContentBytesMax / 2, 'x') + R"("})";
  const NewDelivery made = world.knows(std::move(huge)).expand().deliveries.at(0);
  EXPECT_EQ(made.placement.state, DeliveryState::Suppressed);
  EXPECT_EQ(made.placement.reason, Reason::ContentTooLarge);
  EXPECT_TRUE(made.delivery.body.empty());
}

TEST(Expand, ATemplateThatNeverEndsIsSuppressedAsBroken) {
  World world;
  Template endless = mail();
  endless.texts[0].body = text("{{#l}}{{#l}}{{#l}}{{#l}}{{/l}}{{/l}}{{/l}}{{/l}}");
  world.message.payload = R"({"email":"a@b.co","l":[1)";
  for (int i = 0; i < 100; ++i) world.message.payload += ",1";
  world.message.payload += "]}";
  const NewDelivery made = world.knows(std::move(endless)).expand().deliveries.at(0);
  EXPECT_EQ(made.placement.state, DeliveryState::Suppressed);
  EXPECT_EQ(made.placement.reason, Reason::TemplateBroken);
  EXPECT_NE(made.placement.detail.find("steps"), std::string::npos) << made.placement.detail;
}

// Writes what it was asked for, so that a test sees it.
class Echo final : public Formatter {
 public:
  [[nodiscard]] bool append(const FormatRequest& r, std::string& out) const override {
    if (r.argument == "none") return false;
    out += std::string{r.argument} + " " + std::string{r.locale} + " " + std::string{r.zone} +
           (r.spaces == Spaces::Plain ? " plain" : "");
    return true;
  }
  [[nodiscard]] std::string_view plural_form(std::string_view, std::string_view) const override { return "other"; }
};
const Echo kEcho;

TEST(Expand, TemplatesAreWrittenInTheLocaleZoneAndDateFormatOfMessageRouteAndTenant) {
  World world;
  world.rules.formatter = &kEcho;
  world.message.payload = R"({"email":"a@b.co","phone":"+4915112345678","at":"2026-03-15T10:00:00Z"})";
  Template letter = mail();
  letter.texts[0].body = text("{{at | time:short}}, {{at}}");
  Template note = sms();
  note.texts[0].body = letter.texts[0].body;
  world.knows(std::move(letter)).knows(std::move(note));
  const auto bodies = [&] {
    const Expansion out = world.expand();
    return out.deliveries.at(0).delivery.body + "; " + out.deliveries.at(1).delivery.body;
  };
  EXPECT_EQ(bodies(), "short en-US UTC, 2026-03-15T10:00:00Z; short en-US UTC plain, 2026-03-15T10:00:00Z");
  world.rules.tenants[0].writing = {.locale = "de", .timezone = "Europe/Berlin", .date_format = "long"};
  EXPECT_EQ(bodies(),
            "short de Europe/Berlin, long de Europe/Berlin; short de Europe/Berlin plain, long de Europe/Berlin plain");
  world.message.locale = "es-MX";
  world.rules.routes.push_back({.type = "paid", .date_format = "full"});
  EXPECT_TRUE(bodies().starts_with("short es-MX Europe/Berlin, full es-MX Europe/Berlin; ")) << bodies();
}

TEST(Expand, WhatCouldNotBeFormattedOrFoundIsAWarningOnTheDelivery) {
  World world;
  world.rules.formatter = &kEcho;
  Template letter = mail();
  letter.texts[0].body = text("{{id | number:none}} {{nobody}}");
  const Delivery d = world.knows(std::move(letter)).expand().deliveries.at(0).delivery;
  EXPECT_EQ(d.body, "42 ");
  EXPECT_EQ(d.warnings, "no value for nobody; not formatted: id");
}

TEST(Expand, ATenantMayLeavePlaceholdersWithoutAValueStanding) {
  World world;
  world.rules.tenants[0].writing.missing_keys = MissingKey::Kept;
  Template letter = mail();
  letter.texts[0].body = text("Dear {{ nobody }}");
  EXPECT_EQ(world.knows(std::move(letter)).expand().deliveries.at(0).delivery.body, "Dear {{ nobody }}");
}

// --- many

World with_recipients(std::size_t count) {
  World world;
  world.message.payload = R"({"to":[)";
  for (std::size_t i = 0; i < count; ++i) world.message.payload += (i == 0 ? "\"u" : ",\"u") + std::to_string(i) + "\"";
  world.message.payload += "]}";
  Template push{.key = "push-1", .type = "paid", .channel = Channel::Push, .texts = {{.body = text("x")}}};
  world.knows(std::move(push)).routes({{Channel::Push, "to", RecipientShape::Array}});
  return world;
}

TEST(Expand, MoreThanAChunkIsMadeInPiecesThatJoinWithoutGapOrOverlap) {
  World world = with_recipients(1'234);
  std::vector<std::string> all;
  for (std::size_t from = 0; from < 1'234;) {
    const Expansion out = world.expand({from, kDeliveriesPerExpansionMax});
    EXPECT_EQ(out.recipients_total, 1'234U);
    EXPECT_LE(out.deliveries.size(), kDeliveriesPerExpansionMax);
    for (const std::string& one : recipients_of(out)) all.push_back(one);
    from += out.deliveries.size();
  }
  ASSERT_EQ(all.size(), 1'234U);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], "u" + std::to_string(i));
}

TEST(Expand, OneMessageHasAtMostAHundredThousandRecipients) {
  EXPECT_EQ(with_recipients(kRecipientsMax).expand({0, 1}).recipients_total, kRecipientsMax);
  const Expansion out = with_recipients(kRecipientsMax + 1).expand();
  expect_failed(out, MessageState::Failed, Reason::TooManyRecipients);
  EXPECT_TRUE(out.deliveries.empty());
}

// --- direct messages

TEST(ExpandDirect, ItsOwnContentIsSentAsItIs) {
  World world;
  world.becomes_direct(Channel::Email, "a@b.co");
  world.message.subject = "Hi {{name}}";
  world.message.body = "Body {{name}}";
  const Delivery d = world.expand().deliveries.at(0).delivery;
  EXPECT_EQ(d.subject, "Hi {{name}}");
  EXPECT_EQ(d.body, "Body {{name}}");
  EXPECT_EQ(d.recipient, "a@b.co");
}

TEST(ExpandDirect, ATemplateIsRenderedWithThePayload) {
  World world;
  world.becomes_direct(Channel::Email, "a@b.co").message.template_key = "mail-1";
  EXPECT_EQ(world.knows(mail()).expand().deliveries.at(0).delivery.body, "Dear Ann");
}

TEST(ExpandDirect, AnUnknownTemplateOneOfAnotherChannelOrOfAnotherTenantFails) {
  World world;
  world.becomes_direct(Channel::Sms, "+4915112345678").message.template_key = "mail-1";
  expect_failed(world.knows(mail()).expand(), MessageState::Failed, Reason::TemplateNotFound);
  world.becomes_direct(Channel::Email, "a@b.co").message.template_key = "theirs";
  expect_failed(world.knows(mail("theirs", "globex")).expand(), MessageState::Failed, Reason::TemplateNotFound);
}

TEST(ExpandDirect, WithoutContentItFailsWithThatReason) {
  World world;
  expect_failed(world.becomes_direct(Channel::Email, "a@b.co").expand(), MessageState::Failed, Reason::NoContent);
}

TEST(ExpandDirect, WithoutARecipientItFailsWithThatReason) {
  World world;
  world.becomes_direct(Channel::Email, "").message.body = "Hi";
  expect_failed(world.expand(), MessageState::Failed, Reason::NoRecipient);
}

// --- webhooks

TEST(ExpandWebhook, WithoutATemplateTheEventItselfIsTheBody) {
  World world;
  world.message.version = "7";
  world.message.occurred_at = kNow - hours{1};
  world.posts_to("https://example.org/hook").routes({});
  const Delivery d = world.expand().deliveries.at(0).delivery;
  EXPECT_EQ(d.recipient, "https://example.org/hook");
  const auto body = JsonDocument::parse(d.body);
  ASSERT_TRUE(body);
  EXPECT_EQ(body->root().find("id")->text(), "018f0000-0000-7000-8000-000000000001");
  EXPECT_EQ(body->root().find("type")->text(), "paid");
  EXPECT_EQ(body->root().find("entityId")->text(), "42");
  EXPECT_EQ(body->root().find("version")->text(), "7");
  EXPECT_EQ(body->root().find("timestamp")->text(), format_instant(kNow - hours{1}));
  EXPECT_EQ(body->root().find_path("data.name")->text(), "Ann");
}

TEST(ExpandWebhook, AnEventThatIsTooLargeWithItsFrameIsSuppressed) {
  World world;
  world.message.payload = R"({"name":")" + std::string(kContentBytesMax - 20, 'x') + R"("})";
  const NewDelivery made = world.posts_to("https://example.org/hook").routes({}).expand().deliveries.at(0);
  EXPECT_EQ(std::pair(made.placement.reason, made.delivery.body), std::pair(Reason::ContentTooLarge, std::string{}));
}

TEST(ExpandWebhook, AConfiguredUrlIsNotReplacedByAPayloadFieldThatNoRouteNames) {
  World world;
  world.message.payload = R"({"url":"https://attacker.example/"})";
  world.posts_to("https://example.org/hook")
      .knows({.key = "hook-1", .type = "paid", .channel = Channel::Webhook, .texts = {{.body = text("x")}}});
  EXPECT_EQ(recipients_of(world.expand()), std::vector<std::string>{"https://example.org/hook"});
}

TEST(ExpandWebhook, ARouteMayNameTheFieldThatHoldsTheUrl) {
  World world;
  world.message.payload = R"({"callback":"https://customer.example/"})";
  world.posts_to("https://example.org/hook").routes({{Channel::Webhook, "callback"}});
  EXPECT_EQ(recipients_of(world.expand()), std::vector<std::string>{"https://customer.example/"});
}

TEST(ExpandWebhook, ATemplateOfItsOwnReplacesTheEventItself) {
  World world;
  world.posts_to("https://example.org/hook")
      .routes({{Channel::Webhook, "callback"}})
      .knows({.key = "hook-1", .type = "paid", .channel = Channel::Webhook, .texts = {{.body = text("{{name}}")}}});
  const Expansion out = world.expand();
  ASSERT_EQ(out.deliveries.size(), 1U);
  EXPECT_EQ(out.deliveries[0].delivery.body, "Ann");
}

TEST(ExpandWebhook, TooManyReceiversOfTheEventItselfAreRefusedToo) {
  World world;
  world.message.payload = R"({"to":[0)";
  for (std::size_t i = 0; i < kRecipientsMax; ++i) world.message.payload += ",0";
  world.message.payload += "]}";
  const Expansion out = world.routes({{Channel::Webhook, "to", RecipientShape::Array}}).expand();
  expect_failed(out, MessageState::Failed, Reason::TooManyRecipients);
}

TEST(ExpandDirect, AWebhookWithoutContentGetsTheEventAlsoWithoutAnEntity) {
  World world;
  world.message.entity_id.clear();
  const Expansion out = world.becomes_direct(Channel::Webhook, "https://example.org/x").expand();
  const auto body = JsonDocument::parse(out.deliveries.at(0).delivery.body);
  ASSERT_TRUE(body);
  EXPECT_EQ(body->root().find("type")->text(), "paid");
  EXPECT_FALSE(body->root().find("entityId"));
}

TEST(Expand, ARouteThatNamesAnEmptyFieldFindsNobody) {
  World world;
  expect_failed(world.knows(mail()).routes({{Channel::Email, ""}}).expand(), MessageState::Failed, Reason::NoRecipient);
}

TEST(Expand, HtmlThatIsTooLargeIsSuppressedToo) {
  World world;
  Template huge = mail();
  huge.texts[0].html = text("{{name}}{{name}}{{name}}");
  world.message.payload = R"({"email":"a@b.co","name":")" + std::string(kContentBytesMax / 2, 'x') + R"("})";
  const NewDelivery made = world.knows(std::move(huge)).expand().deliveries.at(0);
  EXPECT_EQ(made.placement.reason, Reason::ContentTooLarge);
  EXPECT_TRUE(made.delivery.body.empty() && made.delivery.html.empty());
}

}  // namespace
}  // namespace postrider
