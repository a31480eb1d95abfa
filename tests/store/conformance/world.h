// A small world around one store: two tenants, two providers, nodes that join, messages that become deliveries.
#pragma once
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "store/conformance/harness.h"

namespace postrider::conformance {

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error{"the store said: " + result.error().text};
  return std::move(result).value();
}
template <class T>
ErrorCode error_of(const Result<T>& result) {
  if (result.has_value()) throw std::runtime_error{"the store accepted what it had to refuse"};
  return result.error().code;
}

struct Node {
  std::unique_ptr<StoreSession> session;
  NodeId id = 0;
  int slot = 0;
  std::shared_ptr<IdSource> ids;
  StoreSession* operator->() const { return session.get(); }
};

/// What every row of an expansion becomes.
struct Plan {
  int deliveries = 1;
  Channel channel = Channel::Email;
  Lane lane = Lane::Standard;
  Guarantee guarantee = Guarantee::AtLeastOnce;
  Placement placement = {};
  ProviderId own_provider = 0;
  std::string key = {};  // not empty: the delivery's key (":2", ":3" … added behind the first); else one of its own
  std::string recipient = "ada@example.org";
  std::optional<Instant> expires_at = {};
  MessageState state = MessageState::Expanded;
  Reason reason = Reason::Expanded;
  std::string detail = {};
  bool in_chunks = false;
  std::string contact = {};
  std::string category = {};
  Rendering rendering = Rendering::Early;
};

struct Sent {  // one message that was expanded
  Uuid uuid = {};
  RowId id = 0;
  std::vector<RowId> deliveries = {};
};

class World {
 public:
  explicit World(const StoreFactory& factory);

  Node join(const std::string& name);
  OutboxRow row(const std::string& type = "booking.made", const std::string& tenant = "acme");
  Uuid uuid();
  Uuid checked_uuid();
  NewMessage offered(OutboxRow row);
  /// The decision that follows `plan`; what it decided is kept in `decided`.
  ExpandDecision decide(const Node& node, Plan plan = {});
  ExpandedMessage expanded(const Node& node, const OutboxRow& row, const Plan& plan);
  ExpandedDelivery delivery(const Node& node, const Message& message, const Plan& plan, int number);

  /// Inserts `count` rows as a producer would and expands them.
  std::vector<Sent> send(int count, Plan plan = {}, const OutboxRow& like = {});
  Sent send_one(Plan plan = {}, const OutboxRow& like = {});

  [[nodiscard]] ClaimRequest request(int quota, const Plan& plan = {}, ClaimWhat what = ClaimWhat::Prefetchable) const;
  std::vector<Claim> claim(int quota, const Plan& plan = {}, ClaimWhat what = ClaimWhat::Prefetchable);
  Claim claim_one(const Plan& plan = {});
  [[nodiscard]] AttemptEnd attempt(OutcomeKind outcome, Reason reason = Reason::AcceptedByProvider) const;
  /// A completion that ends in `state`; with the attempt that such an end has.
  [[nodiscard]] Completion completion(const Claim& claim, DeliveryState state) const;
  Recorded record(const Completion& completion);
  void park(const Claim& claim);

  MessageView look(const Uuid& uuid) { return must(a->message({}, uuid, {.count_max = 100'000})); }
  DeliveryView look(const Sent& sent, std::size_t index = 0) { return look(sent.uuid).deliveries.at(index); }
  void pass(Duration time) { now += time; }

  std::unique_ptr<Database> database;
  Instant now = instant_from_us(1'790'000'000'000'000);
  Node a;
  TenantId acme = 0;
  TenantId other = 0;
  ProviderId mail = 0;
  ProviderId sandbox = 0;
  std::vector<ExpandedMessage> decided;
  OperatorAction by_ada{.actor = "ada", .why = "because"};

 private:
  std::uint64_t drawn_ = 0;
};

class Conformance : public ::testing::TestWithParam<StoreFactory> {
 protected:
  World w{GetParam()};
};
class Intake : public Conformance {};
class Expanding : public Conformance {};
class Claiming : public Conformance {};
class Recording : public Conformance {};
class Waiting : public Conformance {};
class Membership : public Conformance {};
class Looking : public Conformance {};
class Operating : public Conformance {};
class Keys : public Conformance {};
class Concurrency : public Conformance {};
class People : public Conformance {};
class Lists : public Conformance {};
class Suppressions : public Conformance {};

#define POSTRIDER_FOR_EVERY_STORE(Suite)                                          \
  INSTANTIATE_TEST_SUITE_P(Stores, Suite, ::testing::ValuesIn(store_factories()), \
                           [](const auto& parameter) { return parameter.param.name; })

}  // namespace postrider::conformance
