#include <set>

#include "store/conformance/world.h"

namespace postrider::conformance {
namespace {

using Ids = std::vector<RowId>;

const Plan kFailed{.deliveries = 0, .state = MessageState::Failed, .reason = Reason::TemplateNotFound};

TEST_P(Looking, APlainRowInTheOutboxIsAPendingMessage) {
  OutboxRow row = w.row();
  row.id[0] = 'A';
  w.database->insert(row);
  const MessageView view = w.look(parse_uuid(row.id).value());
  EXPECT_EQ(view.state, MessageState::Pending);
  EXPECT_EQ(view.reason, Reason::Waiting);
  EXPECT_EQ(view.message.type, "booking.made");
  EXPECT_EQ(view.message.tenant, w.acme);
  EXPECT_EQ(error_of(w.a->message(w.other, parse_uuid(row.id).value())), ErrorCode::NotFound);
}

TEST_P(Looking, AMessageOfAnotherTenantIsNotFound) {
  const Sent sent = w.send_one();
  EXPECT_EQ(must(w.a->message(w.acme, sent.uuid)).message.uuid, sent.uuid);
  EXPECT_EQ(error_of(w.a->message(w.other, sent.uuid)), ErrorCode::NotFound);
  EXPECT_EQ(error_of(w.a->message({}, w.uuid())), ErrorCode::NotFound);
}

TEST_P(Looking, OneIdInTwoTenantsIsTwoMessages) {
  OutboxRow mine = w.row("mine", "acme");
  OutboxRow theirs = w.row("theirs", "other");
  theirs.id = mine.id;
  w.send_one({}, mine);
  w.send_one({}, theirs);
  const Uuid id = parse_uuid(mine.id).value();
  EXPECT_EQ(must(w.a->message(w.acme, id)).message.type, "mine");
  EXPECT_EQ(must(w.a->message(w.other, id)).message.type, "theirs");
  EXPECT_EQ(must(w.a->message({}, id)).message.type, "mine");
}

TEST_P(Looking, AStoryTellsEveryAttemptOfEveryDelivery) {
  const Sent sent = w.send_one({.deliveries = 2});
  const auto claims = w.claim(2);
  w.record(w.completion(claims[1], DeliveryState::Delivered));
  Completion again = w.completion(claims[0], DeliveryState::Retrying);
  again.verdict.due_at = w.now;
  w.record(again);
  must(w.a->promote(w.now, 10));
  w.record(w.completion(w.claim_one(), DeliveryState::Parked));
  const MessageView view = w.look(sent.uuid);
  ASSERT_EQ(view.deliveries.size(), 2U);
  EXPECT_EQ(view.deliveries[0].delivery.id, sent.deliveries[0]);
  ASSERT_EQ(view.deliveries[0].tries.size(), 2U);
  EXPECT_EQ(view.deliveries[0].tries[0].number, 1);
  EXPECT_EQ(view.deliveries[0].tries[1].number, 2);
  EXPECT_EQ(view.deliveries[0].attempts, 2);
  EXPECT_EQ(view.deliveries[1].tries.size(), 1U);
}

TEST_P(Looking, TheListIsNewestFirstDeliveriesAndBareMessagesMixed) {
  const Sent first = w.send_one();
  w.pass(std::chrono::seconds{1});
  const Sent failed = w.send_one(kFailed);
  w.pass(std::chrono::seconds{1});
  const Sent last = w.send_one({.deliveries = 2});
  const auto items = must(w.a->list({}));
  ASSERT_EQ(items.size(), 4U);
  EXPECT_EQ(items[0].id, last.deliveries[1]);
  EXPECT_EQ(items[1].id, last.deliveries[0]);
  EXPECT_EQ(items[2].id, failed.id);
  EXPECT_EQ(items[3].id, first.deliveries[0]);
  EXPECT_FALSE(items[2].delivery.has_value());
  EXPECT_EQ(items[2].message_state, MessageState::Failed);
  EXPECT_EQ(items[2].reason, Reason::TemplateNotFound);
  ASSERT_TRUE(items[0].delivery.has_value());
  EXPECT_EQ(items[0].delivery->state, DeliveryState::Queued);
  EXPECT_EQ(items[0].delivery->delivery.recipient, "ada@example.org");
  EXPECT_EQ(items[0].message_state, MessageState::Expanded);
  EXPECT_EQ(items[0].message_uuid, last.uuid);
  EXPECT_EQ(items[0].type, "booking.made");
  EXPECT_EQ(items[0].tenant, w.acme);
  EXPECT_EQ(items[0].accepted_at, w.now);
}

TEST_P(Looking, PagesHaveNoGapsAndNoRepeats) {
  std::set<RowId> wanted;
  for (int i = 0; i < 7; ++i) {
    for (const Sent& s : w.send(3)) wanted.insert(s.deliveries.begin(), s.deliveries.end());
    wanted.insert(w.send_one(kFailed).id);
    w.pass(std::chrono::milliseconds{i});
  }
  std::set<RowId> seen;
  ListFilter filter{.count_max = 4};
  for (;;) {
    const auto page = must(w.a->list(filter));
    if (page.empty()) break;
    EXPECT_LE(page.size(), 4U);
    for (const ListItem& item : page) {
      EXPECT_TRUE(seen.insert(item.id).second);
      EXPECT_LT(item.id, filter.before.value_or(item.id + 1));
      filter.before = item.id;
    }
  }
  EXPECT_EQ(seen, wanted);
}

TEST_P(Looking, PendingRowsStandOnTheFirstPageOnly) {
  const Sent sent = w.send_one();
  OutboxRow row = w.row();
  w.database->insert(row);
  w.database->insert(w.row("t", "other"));
  const auto first = must(w.a->list({.tenant = w.acme, .count_max = 1}));
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(first[0].id, 0);
  EXPECT_EQ(first[0].message_state, MessageState::Pending);
  EXPECT_EQ(format_uuid(first[0].message_uuid), row.id);
  EXPECT_EQ(first[1].id, sent.deliveries[0]);
  EXPECT_TRUE(must(w.a->list({.tenant = w.acme, .before = first[1].id})).empty());
  EXPECT_EQ(must(w.a->list({.state = "pending"})).size(), 2U);
  EXPECT_EQ(must(w.a->list({.state = "queued"})).size(), 1U);
}

TEST_P(Looking, EveryStateOfADeliveryCanBeAskedFor) {
  std::vector<std::pair<std::string, Sent>> made;
  for (const DeliveryState state :
       {DeliveryState::Sent, DeliveryState::Delivered, DeliveryState::Retrying, DeliveryState::Parked,
        DeliveryState::Cancelled, DeliveryState::Suppressed, DeliveryState::Expired}) {
    const Sent sent = w.send_one();
    w.record(w.completion(w.claim_one(), state));
    made.emplace_back(to_text(state), sent);
  }
  const Sent discarded = w.send_one();
  w.park(w.claim_one());
  must(w.a->discard(w.now, w.by_ada, discarded.deliveries));
  made.emplace_back("discarded", discarded);
  made.emplace_back("sending", w.send_one());
  w.claim_one();
  made.emplace_back("queued", w.send_one());
  for (const auto& [state, sent] : made) {
    for (const auto& tenant : {std::optional<TenantId>{}, std::optional{w.acme}}) {
      const auto items = must(w.a->list({.tenant = tenant, .state = state}));
      ASSERT_EQ(items.size(), 1U) << state;
      EXPECT_EQ(items[0].id, sent.deliveries[0]) << state;
      EXPECT_EQ(to_text(items[0].delivery->state), state);
    }
    EXPECT_TRUE(must(w.a->list({.tenant = w.other, .state = state})).empty()) << state;
  }
}

TEST_P(Looking, AMessagesStateCanBeAskedFor) {
  const Sent failed = w.send_one(kFailed);
  const Sent ignored = w.send_one({.deliveries = 0, .state = MessageState::Ignored, .reason = Reason::NoRoute});
  const Sent nobody = w.send_one({.placement = {DeliveryState::Suppressed, Reason::NoRecipient, "", {}},
                                  .state = MessageState::Failed,
                                  .reason = Reason::NoRecipient});
  const Sent fine = w.send_one();
  auto items = must(w.a->list({.state = "failed"}));
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0].id, nobody.deliveries[0]);
  EXPECT_EQ(items[1].id, failed.id);
  items = must(w.a->list({.tenant = w.acme, .state = "ignored"}));
  ASSERT_EQ(items.size(), 1U);
  EXPECT_EQ(items[0].id, ignored.id);
  items = must(w.a->list({.state = "expanded"}));
  ASSERT_EQ(items.size(), 1U);
  EXPECT_EQ(items[0].id, fine.deliveries[0]);
  EXPECT_TRUE(must(w.a->list({.tenant = w.other, .state = "failed"})).empty());
  EXPECT_EQ(error_of(w.a->list({.state = "lost"})), ErrorCode::Invalid);
}

TEST_P(Looking, TheListCanBeNarrowedByTypeChannelRecipientAndTime) {
  const Instant begin = w.now;
  const Sent mail = w.send_one({.recipient = "ada@example.org"}, w.row("a"));
  w.pass(std::chrono::minutes{1});
  const Sent text = w.send_one({.channel = Channel::Sms, .recipient = "+4930123"}, w.row("b"));
  w.pass(std::chrono::minutes{1});
  const Sent theirs = w.send_one({.recipient = "ada@example.org"}, w.row("a", "other"));
  const auto ids = [&](const ListFilter& filter) {
    std::vector<RowId> out;
    for (const ListItem& item : must(w.a->list(filter))) out.push_back(item.id);
    return out;
  };
  using Found = std::vector<RowId>;
  EXPECT_EQ(ids({.type = "a"}), (Found{theirs.deliveries[0], mail.deliveries[0]}));
  EXPECT_EQ(ids({.tenant = w.acme, .type = "a"}), (Found{mail.deliveries[0]}));
  EXPECT_EQ(ids({.channel = Channel::Sms}), (Found{text.deliveries[0]}));
  EXPECT_EQ(ids({.recipient = "ada@example.org"}), (Found{theirs.deliveries[0], mail.deliveries[0]}));
  EXPECT_EQ(ids({.tenant = w.other, .recipient = "ada@example.org"}), (Found{theirs.deliveries[0]}));
  EXPECT_EQ(ids({.tenant = w.acme, .recipient = "ada"}), Ids{});
  EXPECT_EQ(ids({.state = "queued", .recipient = "+4930123"}), (Found{text.deliveries[0]}));
  EXPECT_EQ(ids({.state = "parked", .recipient = "+4930123"}), Ids{});
  EXPECT_EQ(ids({.from = begin + std::chrono::minutes{1}, .until = begin + std::chrono::minutes{2}}),
            (Found{text.deliveries[0]}));
  EXPECT_EQ(ids({.until = begin}), Ids{});
  EXPECT_EQ(ids({.from = begin + std::chrono::minutes{2}}), (Found{theirs.deliveries[0]}));
}

TEST_P(Looking, TheSandboxShowsWhatItsProvidersWouldHaveSent) {
  const Sent shown = w.send_one();
  ClaimRequest request = w.request(1);
  request.shares[0].provider = w.sandbox;
  Claim claim = must(w.a->claim(w.now, request)).at(0);
  w.record(w.completion(claim, DeliveryState::Delivered));
  const Sent mailed = w.send_one();
  w.record(w.completion(w.claim_one(), DeliveryState::Delivered));
  w.send_one();
  claim = must(w.a->claim(w.now, request)).at(0);
  w.park(claim);
  const Sent newer = w.send_one({}, w.row("t", "other"));
  request.shares[0].tenant = w.other;
  w.record(w.completion(must(w.a->claim(w.now, request)).at(0), DeliveryState::Delivered));

  const ProviderId ids[] = {w.sandbox};
  auto items = must(w.a->sandbox({}, ids, {}, 10));
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0].id, newer.deliveries[0]);
  EXPECT_EQ(items[1].id, shown.deliveries[0]);
  EXPECT_EQ(items[1].provider, "sandbox");
  EXPECT_EQ(items[1].delivery.body, "Dear Ada");
  EXPECT_EQ(items[1].calls, 1);
  EXPECT_EQ(items[1].sent_at, w.now + std::chrono::milliseconds{20});
  EXPECT_EQ(must(w.a->sandbox(w.acme, ids, {}, 10)).size(), 1U);
  EXPECT_EQ(must(w.a->sandbox({}, ids, {}, 1)).at(0).id, newer.deliveries[0]);
  EXPECT_EQ(must(w.a->sandbox({}, ids, items[0].id, 10)).at(0).id, shown.deliveries[0]);
  const ProviderId both[] = {w.sandbox, w.mail};
  EXPECT_EQ(must(w.a->sandbox({}, both, {}, 10)).size(), 3U);
  EXPECT_TRUE(must(w.a->sandbox({}, std::span<const ProviderId>{}, {}, 10)).empty());
}

TEST_P(Looking, TheStatsCountWhatIsWhere) {
  EXPECT_FALSE(must(w.a->stats({})).oldest.has_value());
  const Instant begin = w.now;
  w.send(6);
  w.pass(std::chrono::seconds{5});
  const auto claims = w.claim(3);
  w.record(w.completion(claims[0], DeliveryState::Retrying));
  w.park(claims[1]);
  w.send(2, {}, w.row("t", "other"));
  w.send_one({.deliveries = 0, .state = MessageState::Expanding, .reason = Reason::Expanding, .in_chunks = true});
  w.database->insert(w.row());
  w.database->insert(w.row("t", "nobody"));
  const QueueStats all = must(w.a->stats({}));
  EXPECT_EQ(all.outbox, 3U) << "expand work is not expanded yet either";
  EXPECT_EQ(all.queued, 5U);
  EXPECT_EQ(all.sending, 1U);
  EXPECT_EQ(all.retrying, 1U);
  EXPECT_EQ(all.parked, 1U);
  EXPECT_EQ(all.oldest, begin);
  const QueueStats mine = must(w.a->stats(w.acme));
  EXPECT_EQ(mine.outbox, 2U);
  EXPECT_EQ(mine.queued, 3U);
  const QueueStats theirs = must(w.a->stats(w.other));
  EXPECT_EQ(theirs.outbox, 0U);
  EXPECT_EQ(theirs.queued, 2U);
  EXPECT_EQ(theirs.parked, 0U);
  EXPECT_EQ(theirs.oldest, w.now);
}

}  // namespace
POSTRIDER_FOR_EVERY_STORE(Looking);
}  // namespace postrider::conformance
