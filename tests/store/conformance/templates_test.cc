#include "store/conformance/world.h"

namespace postrider::conformance {
namespace {

class Templates : public Conformance {
 protected:
  StoredTemplate entry(const std::string& key = "made", const std::string& type = "booking.made") {
    StoredTemplate out;
    out.tenant = w.acme;
    out.key = key;
    out.name = "Booking made";
    out.type = type;
    out.channel = Channel::Email;
    out.texts = {{.locale = "en-US", .subject = "Hello", .body = "Dear {{name}}", .html = "<p>{{name}}</p>"}};
    return out;
  }
  std::vector<StoredTemplate> save(const std::vector<StoredTemplate>& wanted) {
    return must(w.a->save_templates(w.now, w.by_ada, wanted));
  }
  StoredTemplate save(const StoredTemplate& wanted) { return save(std::vector{wanted}).at(0); }
  ErrorCode refused(const std::vector<StoredTemplate>& wanted) {
    return error_of(w.a->save_templates(w.now, w.by_ada, wanted));
  }
  StoredTemplate look(std::int64_t id, int version = 0) { return must(w.a->template_version({}, id, version)); }
  std::vector<StoredTemplate> all(const TemplateFilter& filter = {}) { return must(w.a->templates(filter)); }
  std::int64_t catalog() { return must(w.a->catalog_version()); }
  [[nodiscard]] OperatorAction by(TenantId tenant) const { return {.actor = "bo", .why = "x", .tenant = tenant}; }

  ExpandDecision refers_to(std::int64_t id) {
    return [id, decide = w.decide(w.a)](std::span<const OutboxRow> rows) {
      auto decided = decide(rows);
      for (ExpandedMessage& message : decided) {
        for (ExpandedDelivery& d : message.deliveries) {
          d.made.delivery.template_id = id;
          d.made.delivery.template_version = 1;
        }
      }
      return decided;
    };
  }
  void send_with(std::int64_t id) {
    w.database->insert(w.row());
    ASSERT_EQ(must(w.a->expand(w.now, w.a.id, 10, refers_to(id))).rows, 1U);
  }
  Delivery look_at_last() { return w.look(w.decided.back().message.uuid).deliveries.at(0).delivery; }
};

void expect_same(const StoredTemplate& a, const StoredTemplate& b) {
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(a.tenant, b.tenant);
  EXPECT_EQ(a.key, b.key);
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.type, b.type);
  EXPECT_EQ(a.channel, b.channel);
  EXPECT_EQ(a.scope_type, b.scope_type);
  EXPECT_EQ(a.scope_id, b.scope_id);
  EXPECT_EQ(a.active, b.active);
  EXPECT_EQ(a.version, b.version);
  EXPECT_EQ(a.texts, b.texts);
  EXPECT_EQ(a.created_at, b.created_at);
  EXPECT_EQ(a.updated_at, b.updated_at);
}

TEST_P(Templates, WhatWasSavedIsReadBack) {
  StoredTemplate wanted = entry();
  wanted.scope_type = "listing";
  wanted.scope_id = "10";
  wanted.texts = {
      {.locale = "hi-IN", .body = "नमस्ते", .provider_template = "p", .provider_params = R"([["1","{{a}}"]])"},
      {.locale = "de-DE", .subject = "S", .body = "B", .html = "H"},
      {.locale = "", .body = "every"}};
  const StoredTemplate saved = save(wanted);
  EXPECT_GT(saved.id, 0);
  EXPECT_EQ(saved.version, 1);
  EXPECT_EQ(saved.created_at, w.now);
  EXPECT_EQ(saved.updated_at, w.now);
  ASSERT_EQ(saved.texts.size(), 3U);
  EXPECT_EQ(saved.texts[0].locale, "");
  EXPECT_EQ(saved.texts[1].locale, "de-DE");
  EXPECT_EQ(saved.texts[2].body, "नमस्ते");
  expect_same(look(saved.id), saved);
  ASSERT_EQ(all().size(), 1U);
  expect_same(all()[0], saved);
}

TEST_P(Templates, APartialHasNoChannel) {
  StoredTemplate partial = entry("footer", "");
  partial.channel.reset();
  const StoredTemplate saved = save(partial);
  EXPECT_EQ(look(saved.id).channel, std::nullopt);
  EXPECT_EQ(refused({partial}), ErrorCode::Conflict) << "its key is taken, though NULL is never equal to NULL";
}

TEST_P(Templates, ATemplateMayHaveNoTextYet) {
  StoredTemplate wanted = entry();
  wanted.texts.clear();
  EXPECT_TRUE(look(save(wanted).id).texts.empty());
}

TEST_P(Templates, AChangeMakesANewVersionAndTheOldOneStaysReadable) {
  const StoredTemplate first = save(entry());
  StoredTemplate wanted = first;
  wanted.name = "Another name";
  wanted.texts[0].body = "Hi {{name}}";
  wanted.texts.push_back({.locale = "de-DE", .body = "Hallo"});
  w.pass(std::chrono::hours{1});
  const StoredTemplate second = save(wanted);
  EXPECT_EQ(second.id, first.id);
  EXPECT_EQ(second.version, 2);
  EXPECT_EQ(second.created_at, first.created_at);
  EXPECT_EQ(second.updated_at, w.now);
  EXPECT_EQ(second.texts.size(), 2U);
  expect_same(look(first.id), second);
  expect_same(look(first.id, 2), second);
  expect_same(look(first.id, 1), first);
  EXPECT_EQ(error_of(w.a->template_version({}, first.id, 3)), ErrorCode::NotFound);
  EXPECT_EQ(error_of(w.a->template_version({}, first.id, -1)), ErrorCode::NotFound);
}

TEST_P(Templates, TheTypeIsPartOfTheVersion) {
  const StoredTemplate first = save(entry());
  StoredTemplate wanted = first;
  wanted.type = "booking.changed";
  EXPECT_EQ(save(wanted).version, 2);
  EXPECT_EQ(look(first.id, 1).type, "booking.made");
  EXPECT_EQ(look(first.id).type, "booking.changed");
}

TEST_P(Templates, SavingTheSameAgainChangesNothing) {
  const StoredTemplate first = save(entry());
  const std::int64_t before = catalog();
  const std::size_t audited = w.database->audit().size();
  w.pass(std::chrono::hours{1});
  expect_same(save(first), first);
  EXPECT_EQ(catalog(), before);
  EXPECT_EQ(w.database->audit().size(), audited);
}

TEST_P(Templates, TheActiveFlagChangesWithoutANewVersion) {
  const StoredTemplate first = save(entry());
  const std::int64_t before = catalog();
  StoredTemplate wanted = first;
  wanted.active = false;
  w.pass(std::chrono::hours{1});
  const StoredTemplate resting = save(wanted);
  EXPECT_FALSE(resting.active);
  EXPECT_EQ(resting.version, 1);
  EXPECT_EQ(resting.updated_at, first.updated_at);
  expect_same(look(first.id), resting);
  EXPECT_GT(catalog(), before);
}

TEST_P(Templates, TenantKeyChannelAndScopeStayAsTheyAre) {
  const StoredTemplate first = save(entry());
  StoredTemplate wanted = first;
  wanted.tenant = w.other;
  wanted.key = "other";
  wanted.channel = Channel::Sms;
  wanted.scope_type = "listing";
  wanted.scope_id = "1";
  expect_same(save(wanted), first);
  expect_same(look(first.id), first);
}

TEST_P(Templates, TheCatalogGrowsWithEveryChange) {
  std::int64_t last = catalog();
  const auto grew = [&] {
    const std::int64_t now = catalog();
    const bool more = now > last;
    last = now;
    return more;
  };
  EXPECT_FALSE(grew());
  StoredTemplate saved = save(entry());
  EXPECT_TRUE(grew());
  saved.texts[0].body = "x";
  save(saved);
  EXPECT_TRUE(grew());
  must(w.a->remove_template(w.now, w.by_ada, saved.id));
  EXPECT_TRUE(grew());
  EXPECT_EQ(error_of(w.a->remove_template(w.now, w.by_ada, saved.id)), ErrorCode::NotFound);
  EXPECT_FALSE(grew());
}

TEST_P(Templates, OneKeyChannelAndScopeIsOneTemplate) {
  save(entry());
  EXPECT_EQ(refused({entry()}), ErrorCode::Conflict);
  StoredTemplate same_key_other_type = entry("made", "other.type");
  EXPECT_EQ(refused({same_key_other_type}), ErrorCode::Conflict);
  StoredTemplate sms = entry();
  sms.channel = Channel::Sms;
  StoredTemplate scoped = entry();
  scoped.scope_type = "listing";
  scoped.scope_id = "10";
  StoredTemplate theirs = entry();
  theirs.tenant = w.other;
  StoredTemplate common = entry();
  common.tenant = 0;
  EXPECT_EQ(save({sms, scoped, theirs, common}).size(), 4U);
}

TEST_P(Templates, OneTypeChannelAndScopeHasOneActiveTemplate) {
  const StoredTemplate first = save(entry());
  EXPECT_EQ(refused({entry("second")}), ErrorCode::Conflict);
  StoredTemplate resting = entry("second");
  resting.active = false;
  StoredTemplate second = save(resting);
  second.active = true;
  EXPECT_EQ(refused({second}), ErrorCode::Conflict);
  EXPECT_FALSE(look(second.id).active);
  StoredTemplate gone = first;
  gone.active = false;
  EXPECT_TRUE(save({second, gone})[0].active) << "one takes the other's place, in whatever order";
  EXPECT_FALSE(look(first.id).active);
  EXPECT_EQ(save({entry("a", ""), entry("b", "")}).size(), 2U) << "without a type they never meet";
}

TEST_P(Templates, TwoTakeEachOthersPlace) {
  const auto saved = save({entry("a", "one"), entry("b", "two")});
  StoredTemplate a = saved[0];
  StoredTemplate b = saved[1];
  std::swap(a.type, b.type);
  const auto swapped = save({a, b});
  EXPECT_EQ(look(a.id).type, "two");
  EXPECT_EQ(look(b.id).type, "one");
  EXPECT_TRUE(swapped[0].active && swapped[1].active);
}

TEST_P(Templates, AllOrNone) {
  const StoredTemplate first = save(entry());
  const std::int64_t before = catalog();
  const std::size_t audited = w.database->audit().size();
  StoredTemplate wanted = first;
  wanted.texts[0].body = "changed";
  EXPECT_EQ(refused({wanted, entry("fresh", "fresh"), entry("made", "x")}), ErrorCode::Conflict);
  StoredTemplate unknown = entry("z", "z");
  unknown.id = first.id + 1000;
  EXPECT_EQ(refused({wanted, unknown}), ErrorCode::NotFound);
  EXPECT_EQ(refused({wanted, wanted}), ErrorCode::Invalid) << "named twice";
  StoredTemplate twice = entry("t", "t");
  twice.texts.push_back(twice.texts[0]);
  EXPECT_EQ(refused({wanted, twice}), ErrorCode::Invalid);
  EXPECT_EQ(refused({wanted, entry("", "t")}), ErrorCode::Invalid);
  expect_same(look(first.id), first);
  EXPECT_EQ(all().size(), 1U);
  EXPECT_EQ(catalog(), before);
  EXPECT_EQ(w.database->audit().size(), audited);
  EXPECT_EQ(error_of(w.a->template_version({}, first.id, 2)), ErrorCode::NotFound);
}

TEST_P(Templates, NobodyChangesAnotherTenantsTemplates) {
  const StoredTemplate theirs = save(entry());
  StoredTemplate common = entry("common", "common");
  common.tenant = 0;
  common = save(common);
  for (StoredTemplate wanted : {theirs, common}) {
    wanted.texts[0].body = "mine now";
    EXPECT_EQ(error_of(w.a->save_templates(w.now, by(w.other), {&wanted, 1})), ErrorCode::NotFound);
    EXPECT_EQ(error_of(w.a->remove_template(w.now, by(w.other), wanted.id)), ErrorCode::NotFound);
  }
  const StoredTemplate foreign = entry("planted", "planted");
  EXPECT_EQ(error_of(w.a->save_templates(w.now, by(w.other), {&foreign, 1})), ErrorCode::NotFound);
  expect_same(look(theirs.id), theirs);
  EXPECT_EQ(error_of(w.a->template_version(w.other, theirs.id, 0)), ErrorCode::NotFound);
  expect_same(must(w.a->template_version(w.other, common.id, 0)), common);
  expect_same(must(w.a->template_version(w.acme, theirs.id, 1)), theirs);
  StoredTemplate own = theirs;
  own.texts[0].body = "ours";
  EXPECT_EQ(must(w.a->save_templates(w.now, by(w.acme), {&own, 1})).at(0).version, 2);
}

TEST_P(Templates, TheListIsFilteredAndPaged) {
  StoredTemplate theirs = entry();
  theirs.tenant = w.other;
  StoredTemplate common = entry();
  common.tenant = 0;
  StoredTemplate sms = entry("made_sms");
  sms.channel = Channel::Sms;
  sms.active = false;
  const auto saved = save({entry(), theirs, common, sms, entry("x", "other")});
  const auto ids = [&](const TemplateFilter& filter) {
    std::vector<std::int64_t> out;
    for (const StoredTemplate& each : all(filter)) out.push_back(each.id);
    return out;
  };
  using TemplateIds = std::vector<std::int64_t>;
  EXPECT_EQ(ids({}), (TemplateIds{saved[0].id, saved[1].id, saved[2].id, saved[3].id, saved[4].id}));
  EXPECT_EQ(ids({.tenant = w.other}), (TemplateIds{saved[1].id, saved[2].id}));
  EXPECT_EQ(ids({.type = "other"}), (TemplateIds{saved[4].id}));
  EXPECT_EQ(ids({.tenant = w.acme, .key = "made"}), (TemplateIds{saved[0].id, saved[2].id}));
  EXPECT_EQ(ids({.channel = Channel::Sms}), (TemplateIds{saved[3].id}));
  EXPECT_EQ(ids({.active = false}), (TemplateIds{saved[3].id}));
  EXPECT_EQ(ids({.tenant = w.acme, .active = true}), (TemplateIds{saved[0].id, saved[2].id, saved[4].id}));
  EXPECT_EQ(ids({.count_max = 2}), (TemplateIds{saved[0].id, saved[1].id}));
  EXPECT_EQ(ids({.after = saved[2].id, .count_max = 1}), (TemplateIds{saved[3].id}));
}

TEST_P(Templates, APageCountsTemplatesNotTexts) {
  StoredTemplate many = entry();
  many.texts.push_back({.locale = "de-DE", .body = "x"});
  many.texts.push_back({.locale = "fr-FR", .body = "y"});
  save({many, entry("b", "b")});
  const auto page = all({.count_max = 2});
  ASSERT_EQ(page.size(), 2U);
  EXPECT_EQ(page[0].texts.size(), 3U);
}

TEST_P(Templates, OneThatNobodyUsedIsDeleted) {
  StoredTemplate saved = save(entry());
  saved.texts[0].body = "second";
  save(saved);
  EXPECT_EQ(must(w.a->remove_template(w.now, w.by_ada, saved.id)), Removal::Deleted);
  EXPECT_EQ(error_of(w.a->template_version({}, saved.id, 1)), ErrorCode::NotFound);
  EXPECT_TRUE(all().empty());
  const StoredTemplate again = save(entry());
  EXPECT_GT(again.id, saved.id) << "an id is never given twice: old deliveries may name it";
  EXPECT_EQ(again.version, 1);
}

TEST_P(Templates, OneThatADeliveryRefersToIsDeactivatedInstead) {
  const StoredTemplate saved = save(entry());
  send_with(saved.id);
  EXPECT_EQ(must(w.a->remove_template(w.now, w.by_ada, saved.id)), Removal::Deactivated);
  EXPECT_FALSE(look(saved.id).active);
  EXPECT_EQ(look(saved.id, 1).texts, saved.texts);
  EXPECT_EQ(must(w.a->remove_template(w.now, w.by_ada, saved.id)), Removal::Deactivated) << "and stays";
  StoredTemplate again = saved;
  EXPECT_TRUE(save(again).active);
}

TEST_P(Templates, EverySessionMarksWhatItUses) {
  const auto saved = save({entry("a", "a"), entry("b", "b")});
  send_with(saved[0].id);
  send_with(saved[0].id);
  send_with(saved[1].id);
  EXPECT_EQ(must(w.a->remove_template(w.now, w.by_ada, saved[1].id)), Removal::Deactivated);
}

TEST_P(Templates, AnExpansionThatWasUndoneUsesNothing) {
  const StoredTemplate saved = save(entry());
  w.database->insert(w.row());
  const auto decide = refers_to(saved.id);
  const auto half = [&](std::span<const OutboxRow> rows) {
    auto decided = decide(rows);
    decided.pop_back();
    return decided;
  };
  EXPECT_FALSE(w.a->expand(w.now, w.a.id, 10, half).has_value());
  ASSERT_EQ(must(w.a->expand(w.now, w.a.id, 10, decide)).rows, 1U);
  EXPECT_EQ(must(w.a->remove_template(w.now, w.by_ada, saved.id)), Removal::Deactivated)
      << "it is marked by the one that was committed";
}

TEST_P(Templates, ADeliveryThatWasSkippedUsesNothing) {
  const StoredTemplate saved = save(entry());
  w.send_one({.key = "same"});
  w.database->insert(w.row());
  const auto decide = [&, inner = w.decide(w.a, {.key = "same"})](std::span<const OutboxRow> rows) {
    auto decided = inner(rows);
    for (ExpandedMessage& m : decided) m.deliveries.at(0).made.delivery.template_id = saved.id;
    return decided;
  };
  ASSERT_EQ(must(w.a->expand(w.now, w.a.id, 10, decide)).rows, 1U);
  EXPECT_EQ(must(w.a->remove_template(w.now, w.by_ada, saved.id)), Removal::Deleted);
}

TEST_P(Templates, AChunkMarksWhatItUses) {
  const StoredTemplate saved = save(entry());
  w.send_one({.deliveries = 0, .state = MessageState::Expanding, .reason = Reason::Expanding, .in_chunks = true});
  const ExpandWork work = must(w.a->claim_expand(w.now, w.a.id, 1)).at(0);
  ExpandChunk chunk{.finished = true};
  ExpandedDelivery made = w.delivery(w.a, work.message, {}, 1);
  made.made.delivery.template_id = saved.id;
  chunk.deliveries.push_back(made);
  must(w.a->expand_chunk(w.now, work.lease, chunk));
  EXPECT_EQ(must(w.a->remove_template(w.now, w.by_ada, saved.id)), Removal::Deactivated);
}

TEST_P(Templates, NoDeliveryRefersToOneThatWasDeletedMeanwhile) {
  const auto saved = save({entry("a", "a"), entry("b", "b")});
  EXPECT_EQ(must(w.a->remove_template(w.now, w.by_ada, saved[0].id)), Removal::Deleted);
  for (int i = 0; i < 2; ++i) {
    send_with(saved[0].id);
    EXPECT_EQ(look_at_last().template_id, 0);
  }
  send_with(saved[1].id);
  EXPECT_EQ(look_at_last().template_id, saved[1].id);
  EXPECT_EQ(look_at_last().template_version, 1);
}

TEST_P(Templates, EveryChangeLeavesWhoAndWhy) {
  StoredTemplate saved = save(entry());
  saved.texts[0].body = "x";
  saved = save(saved);
  saved.active = false;
  save(saved);
  must(w.a->remove_template(w.now, w.by_ada, saved.id));
  std::vector<std::string> actions;
  for (const AuditLine& line : w.database->audit()) {
    EXPECT_EQ(line.actor, "ada");
    EXPECT_EQ(line.why, "because");
    actions.push_back(line.action);
  }
  EXPECT_EQ(actions,
            (std::vector<std::string>{"template_create", "template_update", "template_deactivate", "template_delete"}));
}

TEST_P(Templates, TheyOutliveTheProcess) {
  const StoredTemplate saved = save(entry());
  const std::int64_t before = catalog();
  w.a.session.reset();
  w.database->reopen();
  const auto session = must(w.database->store().open_session());
  expect_same(must(session->template_version({}, saved.id, 0)), saved);
  EXPECT_EQ(must(session->catalog_version()), before);
}

POSTRIDER_FOR_EVERY_STORE(Templates);

}  // namespace
}  // namespace postrider::conformance
