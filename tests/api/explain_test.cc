#include "api/explain.h"

#include <gtest/gtest.h>

#include "api/world.h"

namespace postrider::testing {
namespace {

bool tells(const Story& story, std::string_view words) {
  for (const StoryLine& line : story) {
    if (line.text.find(words) != std::string::npos) return true;
  }
  return false;
}

MessageView booked() {
  MessageView view;
  view.message.type = "booking.confirmed";
  view.message.tenant_name = "acme";
  view.message.entity_id = "4711";
  view.message.accepted_at = instant_from_us(1'772'000'000'000'000);
  view.state = MessageState::Expanded;
  view.reason = Reason::Expanded;
  return view;
}

DeliveryView& add_delivery(MessageView& view, DeliveryState state) {
  DeliveryView& delivery = view.deliveries.emplace_back();
  delivery.delivery.recipient = "ada@example.org";
  delivery.state = state;
  ++view.counts.by_state[state];
  ++view.counts.total;
  return delivery;
}

TEST(Explain, EveryStateOfAMessageIsASentence) {
  for (const MessageState state : kMessageStates) {
    MessageView view = booked();
    view.state = state;
    const Story story = explain_message(view, Addresses::Plain);
    ASSERT_GE(story.size(), 2U);
    EXPECT_TRUE(story.back().text.ends_with(".")) << story.back().text;
  }
  EXPECT_TRUE(
      tells(explain_message(booked(), Addresses::Plain), "Accepted for tenant acme: booking.confirmed about 4711."));
}

TEST(Explain, WhatIsAskedAgainLaterSaysWhyAndWhen) {
  MessageView view = booked();
  view.state = MessageState::Expanding;
  view.reason = Reason::ContextFailed;
  view.detail = "database \"shop\": no connection";
  view.attempts = 2;
  view.next_attempt = parse_instant("2026-03-01T09:00:00Z");
  const Story failed = explain_message(view, Addresses::Plain);
  EXPECT_TRUE(tells(failed, "Turning it into deliveries failed 2 times: "));
  EXPECT_TRUE(tells(failed, "database \"shop\": no connection"));
  EXPECT_TRUE(tells(failed, "It is tried again at 2026-03-01T09:00:00.000Z."));
  view.reason = Reason::Scheduled;
  view.attempts = 0;
  const Story waits = explain_message(view, Addresses::Plain);
  EXPECT_TRUE(tells(waits, "It waits until 2026-03-01T09:00:00.000Z, and is turned into deliveries then."));
}

TEST(Explain, EveryStateOfADeliveryIsASentence) {
  for (const DeliveryState state : kDeliveryStates) {
    MessageView view = booked();
    DeliveryView& delivery = add_delivery(view, state);
    delivery.provider = "smtp";
    const Story story = explain_message(view, Addresses::Plain);
    EXPECT_TRUE(tells(story, "The delivery by email to ada@example.org: "));
    EXPECT_TRUE(story.back().text.ends_with(".")) << story.back().text;
    EXPECT_FALSE(tells(explain_message(view, Addresses::Masked), "ada@example.org"));
  }
}

TEST(Explain, AttemptsAreToldWithWhatTheyCameTo) {
  MessageView view = booked();
  DeliveryView& delivery = add_delivery(view, DeliveryState::Sent);
  delivery.reason = Reason::AcceptedByProvider;
  delivery.tries.push_back({.number = 1,
                            .fence = 1,
                            .provider = "smtp",
                            .outcome = OutcomeKind::Unclear,
                            .reason = Reason::Timeout,
                            .excerpt = "nothing came"});
  delivery.tries.push_back({.number = 2,
                            .fence = 2,
                            .provider = "smtp",
                            .outcome = OutcomeKind::Accepted,
                            .reason = Reason::AcceptedByProvider,
                            .provider_message_id = "m-1"});
  const Story story = explain_message(view, Addresses::Plain);
  EXPECT_TRUE(tells(story, "Turned into 1 delivery."));
  EXPECT_TRUE(tells(story, "Attempt 1 by email to ada@example.org through smtp: unclear, it may have been sent"));
  EXPECT_TRUE(tells(story, "Its id there is m-1."));
  EXPECT_TRUE(tells(story, "may have got it twice"));
  const std::string text = story_text(story);
  EXPECT_NE(text.find("[timeout]\n"), std::string::npos) << text;
}

TEST(Explain, ByHttpAsJsonAndAsText) {
  World world;
  const std::string id = world.accepted(R"({"type":"nobody.knows"})");
  world.expand();
  const std::string path = "/api/v1/explain?message=" + id;
  const Answer json = world.get(path, world.key(Role::Viewer));
  EXPECT_EQ(json.at("story.1.reason"), "no_route");
  EXPECT_NE(json.at("story.1.text").find("Ignored"), std::string::npos) << json.body;
  const Answer text = world.send({.path = path, .key = world.key(Role::Viewer), .headers = {{"accept", "text/plain"}}});
  EXPECT_EQ(text.content_type, "text/plain; charset=utf-8");
  EXPECT_NE(text.body.find("[no_route]\n"), std::string::npos) << text.body;
}

constexpr std::string_view kAdaStory = "/api/v1/explain?recipient=ada%40example.org";

/// The texts of a story, in order.
std::vector<std::string> texts(const Answer& answer) {
  std::vector<std::string> out;
  for (int i = 0;; ++i) {
    std::string text = answer.at("story." + std::to_string(i) + ".text");
    if (text == "<none>") return out;
    out.push_back(std::move(text));
  }
}
bool says(const Answer& answer, std::string_view words) {
  for (const std::string& text : texts(answer)) {
    if (text.find(words) != std::string::npos) return true;
  }
  return false;
}
void add_ada(World& world, std::string_view preferences) {
  const std::string body = R"({"addresses":{"email":"ada@example.org"},"quiet_hours":"22:00-08:00","timezone":"UTC",)" +
                           std::string{R"("preferences":[)"} + std::string{preferences} + "]}";
  ASSERT_EQ(world.put("/api/v1/contacts/c-1", world.key(Role::Admin), body).status, 201);
}

TEST(Explain, ByRecipient) {
  World world;
  const std::string id = world.accepted(R"({"type":"booking.confirmed","payload":{"email":"ada@example.org"}})");
  world.expand();
  const std::string key = world.key(Role::Operator);
  const Answer found = world.get(std::string{kAdaStory} + "&type=booking.confirmed&since=1h", key);
  EXPECT_NE(found.at("story.0.text").find(id), std::string::npos) << found.body;
  EXPECT_NE(found.at("story.1.text").find("nobody can know"), std::string::npos) << found.body;
  EXPECT_EQ(found.at("story.2"), "<none>");
  EXPECT_EQ(found.at("next"), "null");
  const Answer nothing = world.get("/api/v1/explain?recipient=bob%40example.org&since=30m", key);
  EXPECT_EQ(nothing.status, 200);
  EXPECT_NE(nothing.at("story.0.text").find("Nothing is known for this recipient since 2026-"), std::string::npos);
  EXPECT_FALSE(says(world.get(std::string{kAdaStory} + "&type=other", key), id));
  EXPECT_FALSE(says(world.get(kAdaStory, world.foreign_key(Role::Operator)), id));
  world.clock.advance(std::chrono::hours{2});
  EXPECT_FALSE(says(world.get(std::string{kAdaStory} + "&since=1h", key), id));
  EXPECT_TRUE(says(world.get(std::string{kAdaStory} + "&since=2026-01-01", key), id));
}

TEST(Explain, WhatARecipientDidNotGetAndWhy) {
  World world;
  const std::string key = world.key(Role::Operator);
  const std::string unknown = world.accepted(R"({"type":"nobody.knows","payload":{"who":{"mail":"ada@example.org"}}})");
  const std::string waits = world.accepted(R"({"type":"booking.confirmed","payload":{"email":"ada@example.org"}})");
  world.expand();
  ASSERT_EQ(world
                .post("/api/v1/suppressions", key,
                      R"({"channel":"email","address":"ada@example.org","cause":"complaint","evidence":"she called"})")
                .status,
            200);
  const std::string late = world.accepted(R"({"type":"booking.confirmed","payload":{"email":"ada@example.org"}})");
  const Answer told = world.get(kAdaStory, key);
  EXPECT_TRUE(says(told,
                   "Nothing is sent by email to ada@example.org for tenant acme: the address is on the "
                   "suppression list (complaint on 2026-"))
      << told.body;
  EXPECT_TRUE(says(told, "(message " + unknown + "): Ignored, and kept: no route")) << told.body;
  EXPECT_TRUE(says(told, "(message " + waits + ") by email to ada@example.org: not sent; the address is on the"))
      << told.body;
  EXPECT_TRUE(says(told, "(message " + late + "): Waiting to be turned into deliveries.")) << told.body;
}

TEST(Explain, WhoseAddressItIsAndWhatTheyWish) {
  World world;
  add_ada(world, R"({"channel":"email","category":"marketing","allowed":false,"source":"asked by phone"})");
  const std::string missing = world.accepted(R"({"type":"note","channel":"sms","contact":"c-1","body":"B"})");
  world.expand();
  const Answer told = world.get(kAdaStory, world.key(Role::Operator));
  EXPECT_TRUE(says(told, "ada@example.org is the email address of contact \"c-1\" of tenant acme.")) << told.body;
  EXPECT_TRUE(says(told, "contact \"c-1\" opted out of email for marketing (asked by phone).")) << told.body;
  EXPECT_TRUE(says(told, "Between 22:00-08:00 (UTC) it is not written to.")) << told.body;
  EXPECT_TRUE(says(told, "(message " + missing + ")")) << "for want of an sms address" << told.body;
  EXPECT_FALSE(says(world.get(kAdaStory, world.foreign_key(Role::Operator)), "c-1"));
}

TEST(Explain, AViewerReadsNoAddress) {
  World world;
  add_ada(world, "");
  world.accepted(R"({"type":"booking.confirmed","payload":{"email":"ada@example.org"}})");
  world.accepted(R"({"type":"nobody.knows","payload":{"email":"ada@example.org"}})");
  world.expand();
  ASSERT_EQ(world
                .post("/api/v1/suppressions", world.key(Role::Operator),
                      R"({"channel":"email","address":"ada@example.org","evidence":"ada@example.org bounced"})")
                .status,
            200);
  const Answer masked = world.get(kAdaStory, world.key(Role::Viewer));
  EXPECT_GE(texts(masked).size(), 5U) << masked.body;
  EXPECT_EQ(masked.body.find("ada@example.org"), std::string::npos) << masked.body;
  EXPECT_TRUE(says(masked, "a•••@example.org"));
}

TEST(Explain, ARecipientsStoryComesInPages) {
  World world;
  const std::string key = world.key(Role::Operator);
  std::vector<std::string> sent;
  for (int i = 0; i < 5; ++i)
    sent.push_back(world.accepted(R"({"type":"booking.confirmed","payload":{"email":"ada@example.org"}})"));
  world.expand();
  std::string cursor;
  std::size_t told = 0;
  for (int page = 0; page < 3; ++page) {
    const Answer answer =
        world.get(std::string{kAdaStory} + "&limit=2" + (cursor.empty() ? "" : "&cursor=" + cursor), key);
    for (const std::string& id : sent) told += says(answer, id) ? 1U : 0U;
    cursor = answer.at("next");
    EXPECT_EQ(cursor == "null", page == 2) << answer.body;
    EXPECT_EQ(says(answer, "is not on this page"), page < 2);
  }
  EXPECT_EQ(told, 5U);
  const Answer text =
      world.send({.path = std::string{kAdaStory} + "&limit=1", .key = key, .headers = {{"accept", "text/plain"}}});
  EXPECT_NE(text.body.find("next page: cursor="), std::string::npos) << text.body;
}

TEST(Explain, NeedsAMessageOrARecipientAndNotBoth) {
  World world;
  const std::string key = world.key(Role::Viewer);
  for (const std::string query :
       {"", "?recipient=", "?message=a&recipient=b", "?message=a&type=x", "?message=a&since=1h", "?message=a&limit=1",
        "?message=a&cursor=0", "?recipient=a&since=yesterday", "?recipient=a&limit=0", "?recipient=a&cursor=x"}) {
    EXPECT_EQ(world.get("/api/v1/explain" + query, key).code(), "INVALID_PARAMETER") << query;
  }
  EXPECT_EQ(world.get("/api/v1/explain?message=a", key).code(), "NOT_FOUND");
}

}  // namespace
}  // namespace postrider::testing
