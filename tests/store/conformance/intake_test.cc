#include <fmt/format.h>

#include "store/conformance/world.h"

namespace postrider::conformance {
namespace {

using Groups = std::vector<IntakeGroup>;

TEST_P(Intake, ANewMessageIsPendingAtOnceAndSurvivesAReopening) {
  const NewMessage made = w.offered(w.row());
  const auto answers = must(w.a->accept(w.now, Groups{{made}}));
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0][0].verdict, Admission::New);
  EXPECT_EQ(answers[0][0].first, made.candidate.uuid);
  w.a.session.reset();
  w.database->reopen();
  w.a = w.join("again");
  const MessageView view = w.look(made.candidate.uuid);
  EXPECT_EQ(view.state, MessageState::Pending);
  EXPECT_EQ(view.message.type, "booking.made");
  EXPECT_EQ(view.message.tenant, w.acme);
  EXPECT_EQ(view.message.payload, R"({"name":"Ada"})");
}

TEST_P(Intake, NothingToAcceptIsFine) { EXPECT_TRUE(must(w.a->accept(w.now, Groups{})).empty()); }

TEST_P(Intake, TheSameKeyAndBodyAgainIsADuplicateThatNamesTheFirst) {
  OutboxRow row = w.row();
  row.idempotency_key = "k1";
  const NewMessage first = w.offered(row);
  row.id = format_uuid(w.uuid());
  const NewMessage second = w.offered(row);
  must(w.a->accept(w.now, Groups{{first}}));
  const auto answers = must(w.a->accept(w.now, Groups{{second}}));
  EXPECT_EQ(answers[0][0].verdict, Admission::Duplicate);
  EXPECT_EQ(answers[0][0].first, first.candidate.uuid);
  EXPECT_EQ(must(w.a->stats({})).outbox, 1U);
}

TEST_P(Intake, WhatAnOperatorHadMadeLeavesALineOnceItIsNew) {
  OutboxRow row = w.row();
  row.idempotency_key = "manual:1";
  NewMessage made = w.offered(row);
  made.note = AuditNote{.by = w.by_ada, .action = "resend", .delivery = 7, .detail = "manual:1"};
  EXPECT_EQ(must(w.a->accept(w.now, Groups{{made}}))[0][0].verdict, Admission::New);
  EXPECT_EQ(must(w.a->accept(w.now, Groups{{made}}))[0][0].verdict, Admission::Duplicate);
  const auto audit = w.database->audit();
  ASSERT_EQ(audit.size(), 1U);
  EXPECT_EQ(audit[0].actor, "ada");
  EXPECT_EQ(audit[0].action, "resend");
  EXPECT_EQ(audit[0].why, "because");
  EXPECT_EQ(audit[0].delivery, 7);
  must(w.a->expand(w.now, w.a.id, 10, w.decide(w.a)));
  EXPECT_EQ(audit[0].message, w.look(made.candidate.uuid).message.id);
}

TEST_P(Intake, TheSameIdAgainIsADuplicate) {
  const NewMessage made = w.offered(w.row());
  must(w.a->accept(w.now, Groups{{made}}));
  EXPECT_EQ(must(w.a->accept(w.now, Groups{{made}}))[0][0].verdict, Admission::Duplicate);
  EXPECT_EQ(must(w.a->stats({})).outbox, 1U);
}

TEST_P(Intake, ADuplicateIsStillSeenAfterTheFirstWasExpanded) {
  OutboxRow row = w.row();
  row.idempotency_key = "k1";
  const NewMessage first = w.offered(row);
  must(w.a->accept(w.now, Groups{{first}}));
  must(w.a->expand(w.now, w.a.id, 10, w.decide(w.a)));
  row.id = format_uuid(w.uuid());
  const auto answers = must(w.a->accept(w.now, Groups{{w.offered(row)}}));
  EXPECT_EQ(answers[0][0].verdict, Admission::Duplicate);
  EXPECT_EQ(answers[0][0].first, first.candidate.uuid);
}

TEST_P(Intake, AReusedKeyRefusesItsWholeGroupAndNoOther) {
  OutboxRow taken = w.row();
  taken.idempotency_key = "k1";
  must(w.a->accept(w.now, Groups{{w.offered(taken)}}));
  OutboxRow reused = w.row("something.else");
  reused.idempotency_key = "k1";
  const NewMessage innocent = w.offered(w.row());
  const NewMessage elsewhere = w.offered(w.row());
  const auto answers = must(w.a->accept(w.now, Groups{{innocent, w.offered(reused)}, {elsewhere}}));
  EXPECT_EQ(answers[0][0].verdict, Admission::New);
  EXPECT_EQ(answers[0][1].verdict, Admission::KeyReused);
  EXPECT_EQ(answers[1][0].verdict, Admission::New);
  EXPECT_EQ(must(w.a->stats({})).outbox, 2U);
  EXPECT_EQ(error_of(w.a->message({}, innocent.candidate.uuid)), ErrorCode::NotFound);
  EXPECT_EQ(w.look(elsewhere.candidate.uuid).state, MessageState::Pending);
}

TEST_P(Intake, ARefusedGroupLeavesItsKeysFree) {
  OutboxRow taken = w.row();
  taken.idempotency_key = "k1";
  must(w.a->accept(w.now, Groups{{w.offered(taken)}}));
  OutboxRow reused = w.row("something.else");
  reused.idempotency_key = "k1";
  OutboxRow fresh = w.row();
  fresh.idempotency_key = "k2";
  must(w.a->accept(w.now, Groups{{w.offered(fresh), w.offered(reused)}}));
  EXPECT_EQ(must(w.a->accept(w.now, Groups{{w.offered(fresh)}}))[0][0].verdict, Admission::New);
}

TEST_P(Intake, OfTwoWithOneKeyInOneBatchTheEarlierIsNew) {
  OutboxRow row = w.row();
  row.idempotency_key = "k1";
  const NewMessage first = w.offered(row);
  row.id = format_uuid(w.uuid());
  const NewMessage second = w.offered(row);
  row.id = format_uuid(w.uuid());
  const NewMessage third = w.offered(row);
  const auto answers = must(w.a->accept(w.now, Groups{{first, second}, {third}}));
  EXPECT_EQ(answers[0][0].verdict, Admission::New);
  EXPECT_EQ(answers[0][1].verdict, Admission::Duplicate);
  EXPECT_EQ(answers[1][0].verdict, Admission::Duplicate);
  EXPECT_EQ(answers[1][0].first, first.candidate.uuid);
  EXPECT_EQ(must(w.a->stats({})).outbox, 1U);
}

TEST_P(Intake, OneKeyInTwoTenantsIsTwoKeys) {
  OutboxRow mine = w.row("t", "acme");
  OutboxRow theirs = w.row("t", "other");
  mine.idempotency_key = theirs.idempotency_key = "k1";
  const auto answers = must(w.a->accept(w.now, Groups{{w.offered(mine)}, {w.offered(theirs)}}));
  EXPECT_EQ(answers[0][0].verdict, Admission::New);
  EXPECT_EQ(answers[1][0].verdict, Admission::New);
}

TEST_P(Intake, ARowThatWasAcceptedKeepsItsInnerIdWhenItIsExpanded) {
  const NewMessage made = w.offered(w.row());
  must(w.a->accept(w.now, Groups{{made}}));
  const RowId promised = w.look(made.candidate.uuid).message.id;
  EXPECT_NE(promised, 0);
  must(w.a->expand(w.now, w.a.id, 10, w.decide(w.a)));
  const MessageView view = w.look(made.candidate.uuid);
  EXPECT_EQ(view.message.id, promised);
  EXPECT_EQ(view.state, MessageState::Expanded);
  EXPECT_EQ(view.deliveries.size(), 1U);
}

// As the HTTP API makes them where the caller gave neither an id nor a key: nothing can repeat them, so they have no
// entry before they are expanded.
NewMessage with_own_id(World& w, const std::string& tenant = "acme") {
  OutboxRow row = w.row("booking.made", tenant);
  row.id = format_uuid(w.checked_uuid());
  NewMessage made = w.offered(row);
  made.candidate.fresh = true;
  return made;
}

TEST_P(Intake, AnIdThatWasMadeHereNeedsNoEntryBeforeItIsExpanded) {
  const NewMessage made = with_own_id(w);
  EXPECT_EQ(must(w.a->accept(w.now, Groups{{made}}))[0][0].verdict, Admission::New);
  EXPECT_EQ(w.look(made.candidate.uuid).state, MessageState::Pending);
  EXPECT_EQ(error_of(w.a->message(w.other, made.candidate.uuid)), ErrorCode::NotFound);
  EXPECT_EQ(must(w.a->expand(w.now, w.a.id, 10, w.decide(w.a))).rows, 1U);
  const MessageView view = w.look(made.candidate.uuid);
  EXPECT_EQ(view.state, MessageState::Expanded);
  EXPECT_NE(view.message.id, 0);
  EXPECT_EQ(view.deliveries.size(), 1U);
}

TEST_P(Intake, AnIdThatWasMadeHereAndIsGivenBackIsADuplicateAlsoWhileItsMessageWaits) {
  const NewMessage made = with_own_id(w);
  must(w.a->accept(w.now, Groups{{made}}));
  const NewMessage again = w.offered(made.row);
  OutboxRow changed = made.row;
  changed.payload = R"({"name":"Grace"})";
  const auto look = [&] {
    const auto answers = must(w.a->accept(w.now, Groups{{again}, {w.offered(changed)}}));
    EXPECT_EQ(answers[0][0].verdict, Admission::Duplicate);
    EXPECT_EQ(answers[0][0].first, made.candidate.uuid);
    EXPECT_EQ(answers[1][0].verdict, Admission::KeyReused);
    EXPECT_EQ(answers[1][0].first, made.candidate.uuid);
  };
  look();
  EXPECT_EQ(must(w.a->stats({})).outbox, 1U);
  must(w.a->expand(w.now, w.a.id, 10, w.decide(w.a)));
  look();
  EXPECT_EQ(must(w.a->stats({})).outbox, 0U);
  EXPECT_EQ(w.look(made.candidate.uuid).state, MessageState::Expanded);
}

TEST_P(Intake, AnIdThatWasMadeForOneTenantIsFreeForAnother) {
  const NewMessage made = with_own_id(w);
  must(w.a->accept(w.now, Groups{{made}}));
  OutboxRow row = made.row;
  row.tenant = "other";
  EXPECT_EQ(must(w.a->accept(w.now, Groups{{w.offered(row)}}))[0][0].verdict, Admission::New);
}

TEST_P(Intake, AProducersRowWithAnIdLikeOursIsFoundWhileItWaits) {
  OutboxRow row = with_own_id(w).row;
  w.database->insert(row);
  EXPECT_EQ(must(w.a->accept(w.now, Groups{{w.offered(row)}}))[0][0].verdict, Admission::Duplicate);
}

TEST_P(Intake, MessagesWithAndWithoutAnEntryGoTogether) {
  for (const std::size_t count : {3U, 200U}) {  // with the COMMIT, and by COPY
    IntakeGroup group;
    std::vector<Uuid> all;
    for (std::size_t i = 0; i < count; ++i) {
      OutboxRow keyed = w.row();
      keyed.idempotency_key = fmt::format("{}:{}", count, i);
      group.push_back(i % 3 == 1 ? w.offered(keyed) : with_own_id(w));
      all.push_back(group.back().candidate.uuid);
    }
    const auto answers = must(w.a->accept(w.now, Groups{group}));
    for (const Admitted& each : answers[0]) EXPECT_EQ(each.verdict, Admission::New);
    while (must(w.a->expand(w.now, w.a.id, 500, w.decide(w.a))).rows > 0) {
    }
    for (const Uuid& id : all) EXPECT_EQ(w.look(id).state, MessageState::Expanded);
  }
}

OutboxRow full_row(World& w) {
  OutboxRow row = w.row();
  row.topic = "topic";
  row.entity_id = "e1";
  row.version = "2";
  row.idempotency_key = "key \xE2\x82\xAC";
  row.sealed = "c2VhbGVk";
  row.lane = "bulk";
  row.category = "marketing";
  row.locale = "de-AT";
  row.origin = "shop";
  row.correlation_id = "c1";
  row.traceparent = "00-abc";
  row.schema_version = "1.0";
  row.occurred_at = "2026-03-15T09:30:00Z";
  row.due_at = "@1790000000000001";
  row.expires_at = "2026-12-31T00:00:00Z";
  row.source_site = "site";
  row.source_instance = "instance";
  row.source_script = "script";
  row.site_enqueued_at = "2026-03-15T09:30:00Z";
  row.type_data = R"({"a":1})";
  row.channel = "email";
  row.recipient = "bob@example.org";
  row.contact = "bob";
  row.list = "all";
  row.subject = "s";
  row.body = "b\nc";
  row.template_key = "t";
  return row;
}

TEST_P(Intake, AnIdThatIsGivenBackIsADuplicateWhateverItsMessageSays) {
  OutboxRow row = full_row(w);
  row.idempotency_key.clear();
  row.id = format_uuid(w.checked_uuid());
  NewMessage made = w.offered(row);
  made.candidate.fresh = true;
  ASSERT_TRUE(made.is_row_only());
  must(w.a->accept(w.now, Groups{{made}}));
  EXPECT_EQ(must(w.a->accept(w.now, Groups{{w.offered(row)}}))[0][0].verdict, Admission::Duplicate);
  must(w.a->expand(w.now, w.a.id, 10, w.decide(w.a)));
  EXPECT_EQ(must(w.a->accept(w.now, Groups{{w.offered(row)}}))[0][0].verdict, Admission::Duplicate);
}

TEST_P(Intake, ATimeWithMoreDigitsThanItNeedsHoldsUpNobody) {
  OutboxRow row = w.row();
  row.due_at = "@0000000000001790000000000001";
  row.idempotency_key = "k";
  ASSERT_FALSE(judge_row(row).refusal);
  const auto answers = must(w.a->accept(w.now, Groups{{w.offered(row)}, {w.offered(w.row())}}));
  EXPECT_EQ(answers[0][0].verdict, Admission::New);
  EXPECT_EQ(answers[1][0].verdict, Admission::New);
}

TEST_P(Intake, EveryFieldOfARowComesThrough) {
  const OutboxRow row = full_row(w);
  const NewMessage made = w.offered(row);
  must(w.a->accept(w.now, Groups{{made}}));
  std::vector<OutboxRow> seen;
  must(w.a->expand(w.now, w.a.id, 10, [&](std::span<const OutboxRow> rows) {
    seen.assign(rows.begin(), rows.end());
    return w.decide(w.a)(rows);
  }));
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(body_hash(seen[0]), body_hash(row));
  EXPECT_EQ(seen[0].id, row.id);
  EXPECT_EQ(seen[0].idempotency_key, row.idempotency_key);
  const Message kept = w.look(made.candidate.uuid).message;
  const Message read = read_row(row).message;
  EXPECT_EQ(kept.topic, read.topic);
  EXPECT_EQ(kept.entity_id, read.entity_id);
  EXPECT_EQ(kept.version, read.version);
  EXPECT_EQ(kept.idempotency_key, read.idempotency_key);
  EXPECT_EQ(kept.sealed, read.sealed);
  EXPECT_EQ(kept.lane, read.lane);
  EXPECT_EQ(kept.category, read.category);
  EXPECT_EQ(kept.locale, read.locale);
  EXPECT_EQ(kept.origin, read.origin);
  EXPECT_EQ(kept.correlation_id, read.correlation_id);
  EXPECT_EQ(kept.traceparent, read.traceparent);
  EXPECT_EQ(kept.schema_version, read.schema_version);
  EXPECT_EQ(kept.occurred_at, read.occurred_at);
  EXPECT_EQ(kept.due_at, read.due_at);
  EXPECT_EQ(kept.expires_at, read.expires_at);
  EXPECT_EQ(kept.source_site, read.source_site);
  EXPECT_EQ(kept.source_instance, read.source_instance);
  EXPECT_EQ(kept.source_script, read.source_script);
  EXPECT_EQ(kept.site_enqueued_at, read.site_enqueued_at);
  EXPECT_EQ(kept.type_data, read.type_data);
  EXPECT_EQ(kept.channel, read.channel);
  EXPECT_EQ(kept.recipient, read.recipient);
  EXPECT_EQ(kept.contact, read.contact);
  EXPECT_EQ(kept.list, read.list);
  EXPECT_EQ(kept.subject, read.subject);
  EXPECT_EQ(kept.body, read.body);
  EXPECT_EQ(kept.template_key, read.template_key);
  EXPECT_EQ(kept.tenant_name, "acme");
}

}  // namespace
POSTRIDER_FOR_EVERY_STORE(Intake);
}  // namespace postrider::conformance
