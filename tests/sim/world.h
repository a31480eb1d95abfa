// One seed: processes on one database, producers, providers and everything that
// goes wrong between them. First a phase in which faults strike, then a healed
// one in which all must come to rest.
#pragma once
#include <fmt/format.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ports/provider.h"
#include "sim/application.h"
#include "sim/clockwork.h"
#include "sim/faults.h"
#include "sim/network.h"
#include "sim/process.h"
#include "sim/watcher.h"
#include "store/model/model_store.h"

namespace postrider::sim {

struct Outcome {
  std::uint64_t seed = 0;
  std::uint64_t deliveries = 0;
  std::uint64_t faults = 0;
  std::uint64_t steps = 0;
  std::uint64_t trace = 0;  // the same for the same seed
  Duration simulated = {};
  std::vector<Violation> violations = {};
};

enum class Trace : bool { No, Print };

class World {
 public:
  explicit World(std::uint64_t seed, Trace trace = Trace::No);
  ~World();
  Outcome run();

  // --- for processes, sessions and the network
  Clockwork& clock() { return clock_; }
  Prng& random() { return random_; }
  Faults& faults() { return faults_; }
  Network& network() { return network_; }
  const Rules& rules() const { return rules_; }
  const std::map<ProviderId, const Provider*>& adapters() const { return adapters_; }
  const model::ModelDatabase& database() const { return *database_; }
  std::unique_ptr<StoreSession> open_session(Owner owner);
  void set_database_clock() { database_->clock = clock_.instant() + clock_step_; }
  [[nodiscard]] bool store_is_gone() const { return !faults_.healed() && clock_.now() < store_gone_until_; }
  [[nodiscard]] bool is_alive(Owner process) const { return processes_.contains(process); }
  /// A short time, now and then a longer one.
  Duration moment(int milliseconds);
  void note(std::string_view what, std::string_view about);
  void ended(Process& process);
  void crash(Owner process);
  [[nodiscard]] RowId delivery_of(const std::string& recipient);
  [[nodiscard]] const RecordFacts& record_of(std::string_view entity) const { return records_.find(entity)->second; }

  // --- what happened, for the checkers
  void claimed(const Claim& claim, NodeId node);
  void leased(const Claim& claim, NodeId node);
  void recorded(const Completion& completion, Recorded result);
  void given_back(std::span<const Lease> leases);
  void beaten(NodeId node);
  void removed(NodeId node);
  void call_begins(const CallFacts& facts);
  void call_ends(const CallFacts& facts);
  void call_not_counted(RowId delivery);
  void cancelled(RowId delivery);
  void suppressed(const std::string& recipient);
  void retried(RowId delivery);
  void dispatched(RowId delivery);
  void told_to_wait(const CallFacts& facts, Instant until);
  void effect(const CallFacts& facts);
  /// The producer hears of it.
  void answered(const Order& order, const Result<std::vector<std::vector<Admitted>>>& admitted);
  void refused(const Order& order);

 private:
  void make_rules();
  void make_tenants();
  void make_providers();
  void make_routes();
  void add_template(const std::string& type, Channel channel, const char* body);
  void start_process(int place);
  void plan_orders();
  Order make_order(int number);
  std::string new_id();
  OutboxRow make_row(Order& order, int number);
  void steal_key(const Order& order);
  void send(int number);
  void send_once(int number);
  void give_back(const Order& told);
  void repeat_until_answered(int number);
  void no_longer_waits_for_answer(const Order& order);
  void plan_people();
  std::optional<RowId> one_that_is_held();
  void operate();
  void retry_one();
  void discard_one();
  void dispatch_one();
  void cancel_one();
  void suppress_one();
  void change_record(const std::string& entity);
  void plan_trouble();
  void trouble();
  void heal();
  [[nodiscard]] bool at_rest() const;
  void step();
  void skip_quiet_time();
  void look();
  [[nodiscard]] Process* any_process();
  template <class Call>
  void tell(Call call) {
    for (const auto& checker : checkers_) call(*checker);
  }
  void mix(std::uint64_t value) { trace_ = (trace_ ^ value) * 0x100000001B3ULL; }

  std::uint64_t seed_;
  Trace printing_;
  Prng random_;
  Faults faults_;
  Clockwork clock_;
  Network network_;
  Rules rules_;
  std::vector<std::unique_ptr<Provider>> owned_adapters_;
  std::map<ProviderId, const Provider*> adapters_;
  std::shared_ptr<model::ModelDatabase> database_ = std::make_shared<model::ModelDatabase>();
  model::ModelStore store_{database_};
  Utc zones_;
  IdSource operator_ids_{0};
  std::unique_ptr<StoreSession> operator_session_;
  std::map<std::string, RecordFacts, std::less<>> records_;  // by entity
  std::vector<std::unique_ptr<Checker>> checkers_;
  std::map<Owner, std::unique_ptr<Process>> processes_;
  std::vector<std::unique_ptr<Process>> ended_;
  std::set<int> starting_;  // places whose next process is on its way
  std::vector<Order> orders_;
  std::vector<OutboxRow> rows_;
  std::set<int> unanswered_;
  std::map<std::string, RowId> delivery_of_;
  Owner last_owner_ = kWorld;
  int places_ = 1;
  Duration clock_step_ = {};
  Duration store_gone_until_ = {};
  Duration sending_ends_ = {};
  std::uint64_t steps_ = 0;
  std::uint64_t trace_ = 0xCBF29CE484222325ULL;
};

}  // namespace postrider::sim
