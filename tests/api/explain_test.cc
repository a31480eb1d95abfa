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

TEST(Explain, EveryStateOfADeliveryIsASentence) {
  for (const DeliveryState state : kDeliveryStates) {
    MessageView view = booked();
    DeliveryView& delivery = view.deliveries.emplace_back();
    delivery.delivery.recipient = "ada@example.org";
    delivery.state = state;
    delivery.provider = "smtp";
    const Story story = explain_message(view, Addresses::Plain);
    EXPECT_TRUE(tells(story, "The delivery by email to ada@example.org: "));
    EXPECT_TRUE(story.back().text.ends_with(".")) << story.back().text;
    EXPECT_FALSE(tells(explain_message(view, Addresses::Masked), "ada@example.org"));
  }
}

TEST(Explain, AttemptsAreToldWithWhatTheyCameTo) {
  MessageView view = booked();
  DeliveryView& delivery = view.deliveries.emplace_back();
  delivery.delivery.recipient = "ada@example.org";
  delivery.state = DeliveryState::Sent;
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

TEST(Explain, ByRecipient) {
  World world;
  const std::string id = world.accepted(R"({"type":"booking.confirmed","payload":{"email":"ada@example.org"}})");
  world.expand();
  const std::string key = world.key(Role::Operator);
  const Answer found = world.get("/api/v1/explain?recipient=ada%40example.org&type=booking.confirmed&since=1h", key);
  EXPECT_NE(found.at("story.0.text").find(id), std::string::npos) << found.body;
  EXPECT_EQ(found.at("story.1"), "<none>");
  const Answer nothing = world.get("/api/v1/explain?recipient=bob%40example.org", key);
  EXPECT_EQ(nothing.status, 200);
  EXPECT_NE(nothing.at("story.0.text").find("Nothing is known"), std::string::npos);
  EXPECT_NE(world.get("/api/v1/explain?recipient=ada%40example.org", world.foreign_key(Role::Operator))
                .at("story.0.text")
                .find("Nothing is known"),
            std::string::npos);
}

TEST(Explain, NeedsAMessageOrARecipientAndNotBoth) {
  World world;
  const std::string key = world.key(Role::Viewer);
  for (const std::string query :
       {"", "?recipient=", "?message=a&recipient=b", "?message=a&type=x", "?message=a&since=1h"}) {
    EXPECT_EQ(world.get("/api/v1/explain" + query, key).code(), "INVALID_PARAMETER") << query;
  }
  EXPECT_EQ(world.get("/api/v1/explain?message=a", key).code(), "NOT_FOUND");
}

}  // namespace
}  // namespace postrider::testing
