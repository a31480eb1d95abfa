// What the world shows to those who judge it. A checker sees facts (what was
// promised to a producer, what the database handed out, what reached the
// provider), never the engine's own account of them.
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
  std::string ref = {};                      // what its texts say: "m7"
  std::vector<std::string> recipients = {};  // one delivery each, whatever happens
  std::optional<MessageState> ends = {};     // a message that cannot become deliveries
  std::optional<Instant> due_at = {};        // nobody is to hear of it before
  bool steals_key = false;                   // another message under a key that is taken
};

struct CallFacts {
  RowId delivery = 0;
  int fence = 0;
  Owner process = 0;
  NodeId node = 0;
  std::string recipient = {};
  std::string text = {};          // what it says
  Instant decided_at = {};        // when the engine handed it to the transport, by the
                                  // clock of the process
  Instant node_time = {};         // by the clock of the process
  Duration since_last_beat = {};  // since the database last took a beat of this
                                  // process, by the world's time
};

/// What the application knows of what an order is about.
struct RecordFacts {
  std::string ref = {};  // of the order
  int seen = 1;          // grows with each change
  bool off = false;      // called off: nobody is to be told any more
};
inline bool is_mail(std::string_view recipient) { return recipient.find('@') != std::string_view::npos; }

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

  /// A producer will send this.
  virtual void ordered(const Order&) {}
  /// The producer was told that this is kept (or committed the row itself);
  /// `id` is what it was told.
  virtual void promised(const Order&, const std::string& /*id*/) {}
  /// The producer was told that another message has this key.
  virtual void key_refused(const Order&) {}
  /// The producer was told that its message is kept, under a key that was
  /// another message's.
  virtual void key_stolen(const Order&) {}
  virtual void node_begins(NodeId, Duration /*at*/) {}
  /// The database committed a lease that a node had asked for, or that it made
  /// with its delivery.
  virtual void claimed(const Claim&, NodeId, Duration /*at*/) {}
  /// The database committed a lease: asked for, made with its delivery, or
  /// taken over.
  virtual void leased(const Claim&, NodeId) {}
  virtual void recorded(const Completion&, Recorded) {}
  /// The database committed that a lease was given back, if it was still held.
  virtual void given_back(const Lease&) {}
  /// The database committed that a node is no more. `silent_for`: since its last
  /// beat; nothing when the node itself left, or its process is gone.
  virtual void removed(NodeId, std::optional<Duration> /*silent_for*/) {}
  /// A node that was asked to end is done with all that it knew of, and left.
  virtual void left(NodeId) {}
  /// The first byte of a call leaves.
  virtual void call_begins(const CallFacts&) {}
  /// The process has its answer, or its end.
  virtual void call_ends(const CallFacts&) {}
  /// The database committed that it was called off.
  virtual void cancelled(RowId /*delivery*/) {}
  /// The database committed that this address is not to be written to.
  virtual void suppressed(const std::string& /*recipient*/) {}
  /// An operator had a parked delivery tried again.
  virtual void retried(const Delivery&) {}
  /// An operator did not want to wait for the due time.
  virtual void dispatched(RowId /*delivery*/) {}
  virtual void record_changed(const RecordFacts&) {}
  /// The provider does not want to be asked again about this before then.
  virtual void told_to_wait(const CallFacts&, Instant /*until*/) {}
  /// From now on the database's clock is not the world's.
  virtual void clock_stepped() {}
  /// The provider did what it was asked to.
  virtual void effect(const CallFacts&) {}
  /// The answer says that nothing was done because of our settings: not counted
  /// as an attempt.
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
/// Those about whose turn it is, how often and when.
std::vector<std::unique_ptr<Checker>> turn_checkers(const Rules& rules);
/// Those about what is said, to whom and when.
std::vector<std::unique_ptr<Checker>> wish_checkers(const Rules& rules);

}  // namespace postrider::sim
