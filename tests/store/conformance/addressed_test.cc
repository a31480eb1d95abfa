// What was for one address, and what would have been.
#include <algorithm>

#include "store/conformance/world.h"

namespace postrider::conformance {
namespace {

class Addressing : public Conformance {
 protected:
  static constexpr const char* kAda = "ada@example.org";

  std::vector<RowId> ids(AddressedFilter filter = {}) {
    if (filter.address.empty()) filter.address = kAda;
    const AddressedPage page = must(w.a->addressed(filter));
    EXPECT_FALSE(page.next.has_value());
    std::vector<RowId> out;
    for (const ListItem& item : page.items) out.push_back(item.id);
    return out;
  }
  /// A message that became nothing.
  RowId bare(OutboxRow row, MessageState state = MessageState::Failed, Reason reason = Reason::TemplateNotFound) {
    w.pass(std::chrono::seconds{1});
    return w.send_one({.deliveries = 0, .state = state, .reason = reason, .detail = "why"}, row).id;
  }
  OutboxRow row_with(const std::string& payload, const std::string& tenant = "acme") {
    OutboxRow row = w.row("booking.made", tenant);
    row.payload = payload;
    return row;
  }
};

using RowIds = std::vector<RowId>;

TEST_P(Addressing, DeliveriesOfEveryEndNewestFirst) {
  const Sent delivered = w.send_one();
  w.record(w.completion(w.claim_one(), DeliveryState::Delivered));
  w.pass(std::chrono::seconds{1});
  const Sent refused = w.send_one({.placement = {DeliveryState::Suppressed, Reason::OptedOut, "she said so", {}}});
  w.pass(std::chrono::seconds{1});
  const Sent waits = w.send_one();
  w.send_one({.recipient = "bob@example.org"});
  w.send_one({.recipient = "ada@example.org.uk"});
  EXPECT_EQ(ids(), (RowIds{waits.deliveries[0], refused.deliveries[0], delivered.deliveries[0]}));
  const auto page = must(w.a->addressed({.address = kAda}));
  ASSERT_TRUE(page.items.at(1).delivery.has_value());
  EXPECT_EQ(page.items[1].delivery->state, DeliveryState::Suppressed);
  EXPECT_EQ(page.items[1].delivery->reason, Reason::OptedOut);
  EXPECT_EQ(page.items[1].delivery->detail, "she said so");
  EXPECT_EQ(page.items[1].type, "booking.made");
  EXPECT_EQ(page.items[1].message_uuid, refused.uuid);
}

TEST_P(Addressing, OfOneTenantOneTypeAndSinceATime) {
  const Sent early = w.send_one();
  w.pass(std::chrono::hours{1});
  const Sent other_type = w.send_one({}, w.row("other"));
  w.pass(std::chrono::seconds{1});
  const Sent theirs = w.send_one({}, w.row("booking.made", "other"));
  EXPECT_EQ(ids({.tenant = w.acme}), (RowIds{other_type.deliveries[0], early.deliveries[0]}));
  EXPECT_EQ(ids({.tenant = w.other}), (RowIds{theirs.deliveries[0]}));
  EXPECT_EQ(ids({.type = "other"}), (RowIds{other_type.deliveries[0]}));
  EXPECT_EQ(ids({.from = w.now - std::chrono::minutes{1}}), (RowIds{theirs.deliveries[0], other_type.deliveries[0]}));
  EXPECT_EQ(ids({.address = "nobody@example.org"}), RowIds{});
}

TEST_P(Addressing, WhatAContactCouldNotGetForWantOfAnAddress) {
  const Placement nowhere{DeliveryState::Suppressed, Reason::NoRecipient, "contact \"c-1\" has no sms address", {}};
  const Sent lacking = w.send_one({.channel = Channel::Sms, .placement = nowhere, .recipient = "", .contact = "c-1"},
                                  w.row("booking.made"));
  w.send_one({.channel = Channel::Sms, .placement = nowhere, .recipient = "", .contact = "c-2"});
  w.send_one({.channel = Channel::Sms, .recipient = "+4930123", .contact = "c-1"});
  w.send_one({.channel = Channel::Sms, .placement = nowhere, .recipient = "", .contact = "c-1"}, w.row("t", "other"));
  EXPECT_EQ(ids(), RowIds{});
  EXPECT_EQ(ids({.contacts = {{w.acme, "c-1"}}}), (RowIds{lacking.deliveries[0]}));
  EXPECT_EQ(ids({.contacts = {{w.acme, "c-1"}}, .type = "none"}), RowIds{});
}

TEST_P(Addressing, MessagesThatBecameNothingAndNameTheAddress) {
  OutboxRow direct = w.row();
  direct.channel = "email";
  direct.recipient = kAda;
  OutboxRow to_contact = w.row();
  to_contact.contact = "c-1";
  const RowId by_address = bare(direct);
  const RowId by_contact = bare(to_contact, MessageState::Failed, Reason::UnknownContact);
  const RowId by_payload =
      bare(row_with(R"({"guest":{"email":"ada@example.org"}})"), MessageState::Ignored, Reason::NoRoute);
  bare(row_with(R"({"guest":{"email":"bada@example.org"},"note":"ask ada@example.org"})"));
  w.send_one({.recipient = "bob@example.org"}, row_with(R"({"email":"ada@example.org"})"));
  EXPECT_EQ(ids(), (RowIds{by_payload, by_address}));
  EXPECT_EQ(ids({.contacts = {{w.acme, "c-1"}}}), (RowIds{by_payload, by_contact, by_address}));
  EXPECT_EQ(ids({.contacts = {{w.other, "c-1"}}}), (RowIds{by_payload, by_address})) << "another tenant's person";
  EXPECT_EQ(ids({.tenant = w.other}), RowIds{});
  EXPECT_EQ(ids({.type = "none"}), RowIds{});
  const auto page = must(w.a->addressed({.address = kAda}));
  EXPECT_FALSE(page.items.at(0).delivery.has_value());
  EXPECT_EQ(page.items[0].message_state, MessageState::Ignored);
  EXPECT_EQ(page.items[0].reason, Reason::NoRoute);
  EXPECT_EQ(page.items[0].detail, "why");
}

TEST_P(Addressing, AnAddressWithQuotesIsFoundAsItStandsInJson) {
  const RowId quoted = bare(row_with(R"({"email":"\"ada\"@example.org"})"));
  EXPECT_EQ(ids({.address = R"("ada"@example.org)"}), (RowIds{quoted}));
  EXPECT_EQ(ids({.address = "%"}), RowIds{});
  EXPECT_EQ(ids({.address = "'; DROP TABLE x; --"}), RowIds{});
}

TEST_P(Addressing, WhatStillWaitsInTheOutboxStandsFirstAndOnTheFirstPageOnly) {
  const Sent sent = w.send_one();
  w.database->insert(row_with(R"({"email":"ada@example.org"})"));
  OutboxRow direct = w.row();
  direct.recipient = kAda;
  w.database->insert(direct);
  OutboxRow theirs = w.row("t", "other");
  theirs.contact = "c-1";
  w.database->insert(theirs);
  w.database->insert(w.row());
  EXPECT_EQ(ids(), (RowIds{0, 0, sent.deliveries[0]}));
  EXPECT_EQ(ids({.contacts = {{w.other, "c-1"}}}), (RowIds{0, 0, 0, sent.deliveries[0]}));
  EXPECT_EQ(ids({.tenant = w.acme, .contacts = {{w.other, "c-1"}}}), (RowIds{0, 0, sent.deliveries[0]}));
  EXPECT_EQ(ids({.contacts = {{w.other, "c-1"}}, .type = "t"}), (RowIds{0}));
  EXPECT_EQ(ids({.before = sent.deliveries[0] + 1}), (RowIds{sent.deliveries[0]}));
  EXPECT_EQ(must(w.a->addressed({.address = kAda})).items.at(0).message_state, MessageState::Pending);
}

TEST_P(Addressing, PagesHaveNoGapsAndNoRepeatsHoweverFewAreLookedAt) {
  RowIds wanted;
  for (int i = 0; i < 6; ++i) {
    w.pass(std::chrono::milliseconds{3});
    wanted.push_back(w.send_one().deliveries[0]);
    wanted.push_back(bare(row_with(R"({"to":"ada@example.org"})")));
    bare(row_with("{}"));
    bare(row_with("{}", "other"));
  }
  std::sort(wanted.rbegin(), wanted.rend());
  for (const std::size_t count : {1U, 3U, 50U}) {
    for (const std::size_t looked_at : {1U, 4U, 1000U}) {
      AddressedFilter filter{.tenant = w.acme, .address = kAda, .count_max = count, .looked_at_max = looked_at};
      RowIds seen;
      for (int pages = 0; pages < 100; ++pages) {
        const AddressedPage page = must(w.a->addressed(filter));
        EXPECT_LE(page.items.size(), count);
        for (const ListItem& item : page.items) seen.push_back(item.id);
        if (!page.next) break;
        ASSERT_TRUE(!filter.before || *page.next < *filter.before);
        filter.before = page.next;
      }
      EXPECT_EQ(seen, wanted) << count << " of " << looked_at;
    }
  }
}

}  // namespace
POSTRIDER_FOR_EVERY_STORE(Addressing);
}  // namespace postrider::conformance
