// What the world shows to those who judge it. A checker sees facts (what was promised to a producer, what the database
// handed out, what reached the provider), never the engine's own account of them.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ports/store.h"
#include "sim/clockwork.h"
#include "store/model/model_database.h"

namespace postrider::sim {

/// What a producer wants, and what must come of it.
struct Order {
  std::string id = {};   // UUID text; empty when the engine gives one
  std::string key = {};  // idempotency key; empty when it has none
  std::string tenant = {};
  std::vector<std::string> recipients = {};  // one delivery each, whatever happens
  std::optional<MessageState> ends = {};     // a message that cannot become deliveries
};

struct CallFacts {
  RowId delivery = 0;
  int fence = 0;
  Owner process = 0;
  NodeId node = 0;
  std::string recipient = {};
  Instant node_time = {};         // by the clock of the process
  Duration since_last_beat = {};  // since the database last took a beat of this process, by the world's time
};

struct Violation {
  std::string rule = {};
  std::string text = {};
};

class Checker {
 public:
  explicit Checker(std::string rule) : rule_(std::move(rule)) {}
  virtual ~Checker() = default;
  Checker(const Checker&) = delete;
  Checker& operator=(const Checker&) = delete;

  /// The producer was told that this is kept (or committed the row itself); `id` is what it was told.
  virtual void promised(const Order&, const std::string& /*id*/) {}
  /// The database committed a lease.
  virtual void leased(const Claim&, NodeId) {}
  virtual void recorded(const Completion&, Recorded) {}
  /// An operator was told that it is cancelled, or will not be tried again; it had been handed out with this fence.
  virtual void cancelled(RowId /*delivery*/, int /*fence*/) {}
  /// The first byte of a call leaves.
  virtual void call_begins(const CallFacts&) {}
  /// The provider did what it was asked to.
  virtual void effect(const CallFacts&) {}
  /// The answer says that nothing was done because of our settings: not counted as an attempt.
  virtual void call_not_counted(RowId /*delivery*/) {}
  /// Now and then, and at the end.
  virtual void look(const model::ModelDatabase&) {}
  /// Everything has come to rest.
  virtual void at_rest(const model::ModelDatabase&) {}

  [[nodiscard]] const std::vector<Violation>& violations() const { return violations_; }

 protected:
  void violated(std::string text) {
    if (violations_.size() < kKeptMax) violations_.push_back({rule_, std::move(text)});
  }

 private:
  static constexpr std::size_t kKeptMax = 5;  // the first counter-examples are enough
  std::string rule_;
  std::vector<Violation> violations_;
};

/// All rules that hold at this stage, one object each.
std::vector<std::unique_ptr<Checker>> all_checkers(const Rules& rules);

}  // namespace postrider::sim
