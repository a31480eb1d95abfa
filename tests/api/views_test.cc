#include "api/views.h"

#include <gtest/gtest.h>

namespace postrider::testing {
namespace {

using D = DeliveryState;
using M = MessageState;

MessageView message_of(M state, std::vector<D> deliveries) {
  MessageView view;
  view.state = state;
  for (const D d : deliveries) {
    view.deliveries.emplace_back().state = d;
    view.deliveries.back().reason = d == D::Retrying ? Reason::ServerBusy : Reason::Waiting;
    ++view.counts.by_state[d];
    ++view.counts.total;
  }
  return view;
}

TEST(Status, IsOneWordForAWholeMessage) {
  struct Row {
    M state;
    std::vector<D> deliveries;
    std::string_view word;
  };
  const std::vector<Row> table{
      {M::Pending, {}, "pending"},
      {M::Expanding, {}, "pending"},
      {M::Expanding, {D::Delivered}, "pending"},
      {M::Ignored, {}, "ignored"},
      {M::Duplicate, {}, "duplicate"},
      {M::Failed, {}, "failed"},
      {M::Cancelled, {}, "cancelled"},
      {M::Expanded, {D::Queued}, "pending"},
      {M::Expanded, {D::Sending}, "pending"},
      {M::Expanded, {D::Retrying}, "retrying"},
      {M::Expanded, {D::Queued, D::Retrying, D::Parked, D::Delivered}, "retrying"},
      {M::Expanded, {D::Queued, D::Parked, D::Delivered}, "pending"},
      {M::Expanded, {D::Parked, D::Delivered, D::Sent}, "parked"},
      {M::Expanded, {D::Sent, D::Delivered, D::Suppressed}, "delivered"},
      {M::Expanded, {D::Sent, D::Expired}, "sent"},
      {M::Expanded, {D::Sent}, "sent"},
      {M::Expanded, {D::Expired, D::Suppressed}, "expired"},
      {M::Expanded, {D::Suppressed, D::Cancelled}, "suppressed"},
      {M::Expanded, {D::Cancelled, D::Discarded}, "cancelled"},
      {M::Expanded, {D::Discarded}, "discarded"},
      {M::Failed, {D::Delivered}, "delivered"},
  };
  for (const Row& row : table) EXPECT_EQ(message_status(message_of(row.state, row.deliveries)), row.word);
}

TEST(Status, DueLaterIsPendingAndNotRetrying) {
  MessageView view = message_of(M::Expanded, {D::Retrying});
  view.deliveries[0].reason = Reason::Scheduled;
  view.counts.scheduled = 1;
  EXPECT_EQ(message_status(view), "pending");
}

TEST(Status, EveryStateHasAWord) {
  for (const D state : kDeliveryStates) EXPECT_FALSE(message_status(message_of(M::Expanded, {state})).empty());
  for (const M state : kMessageStates) EXPECT_FALSE(message_status(message_of(state, {})).empty());
}

AttemptView attempt(int fence, OutcomeKind outcome, bool late = false) {
  AttemptView view;
  view.number = fence;
  view.fence = fence;
  view.outcome = outcome;
  view.late = late;
  return view;
}

TEST(PossibleDuplicate, IsAnUnclearCallThatWasFollowedByAnother) {
  const auto judged = [](D state, std::vector<AttemptView> tries) {
    DeliveryView view;
    view.state = state;
    view.tries = std::move(tries);
    return possible_duplicate(view);
  };
  using O = OutcomeKind;
  EXPECT_FALSE(judged(D::Sent, {attempt(1, O::Accepted)}));
  EXPECT_FALSE(judged(D::Parked, {attempt(1, O::Unclear)}));
  EXPECT_FALSE(judged(D::Retrying, {attempt(1, O::Unclear)}));
  EXPECT_TRUE(judged(D::Sending, {attempt(1, O::Unclear)}));
  EXPECT_TRUE(judged(D::Sent, {attempt(1, O::Unclear), attempt(2, O::Accepted)}));
  EXPECT_TRUE(judged(D::Parked, {attempt(1, O::Unclear), attempt(2, O::Permanent)}));
  EXPECT_FALSE(judged(D::Sent, {attempt(1, O::Transient), attempt(2, O::Accepted)}));
  EXPECT_FALSE(judged(D::Sent, {attempt(1, O::Transient), attempt(2, O::Unclear)}));
  EXPECT_FALSE(judged(D::Sent, {attempt(1, O::Unclear), attempt(1, O::Accepted, true)}))
      << "the same call, heard twice";
}

TEST(Mask, FindsAddressesWhereverTheyStand) {
  Mask mask{Addresses::Masked};
  mask.learn("device-token-1234567890");
  EXPECT_EQ(mask.text("to <ada@example.org>: no such user ada@example.org."),
            "to <a•••@example.org>: no such user a•••@example.org.");
  EXPECT_EQ(mask.text("call +491701234567 now"), "call +49•••4567 now");
  EXPECT_EQ(mask.text("push:device-token-1234567890:x").find("token-12"), std::string::npos);
  EXPECT_EQ(mask.text("nothing to hide: 12 @ noon"), "nothing to hide: 12 @ noon");
  EXPECT_EQ(mask.json(R"({"a":["ada@example.org",1,true,null],"b":{"c":"https://example.org/x?y"}})"),
            R"({"a":["a•••@example.org",1,true,null],"b":{"c":"https://example.org/•••"}})");
  EXPECT_EQ(mask.json("{"), "null");
  EXPECT_EQ(mask.text(""), "");
}

TEST(Mask, LeavesEverythingToWhoMaySeeIt) {
  Mask mask{Addresses::Plain};
  mask.learn("ada@example.org");
  EXPECT_EQ(mask.text("to ada@example.org"), "to ada@example.org");
  EXPECT_EQ(mask.address("ada@example.org"), "ada@example.org");
  EXPECT_EQ(mask.json(R"({"a":"ada@example.org"})"), R"({"a":"ada@example.org"})");
}

}  // namespace
}  // namespace postrider::testing
