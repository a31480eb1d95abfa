// The stage between the outbox and the queue: takes rows, lets the core decide, and writes everything in one
// transaction. What takes time (a list, a record of the application, very many recipients) becomes work of its own.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "base/prng.h"
#include "core/rules.h"
#include "pipeline/catalog.h"
#include "pipeline/places.h"
#include "ports/context.h"
#include "ports/store.h"

namespace postrider {

class ExpandStage {
 public:
  struct Parts {
    StoreSession& store;
    const Rules& rules;
    IdSource& ids;
    NodeId node = 0;
    Places* places = nullptr;          // null: this process does not send, nothing is owned
    ContextSource* context = nullptr;  // null: routes that ask for a record fail
    /// Set by anybody at any time: templates changed, and are read again before anything more is decided.
    std::atomic<bool>* catalog_changed = nullptr;
  };
  ExpandStage(Parts parts, std::uint64_t seed) : parts_(parts), random_(seed), catalog_(parts.rules) {}

  /// One batch of outbox rows. Rows = 0: nothing was waiting. A batch that the store refuses is tried again in halves,
  /// so that one bad row holds up nobody but itself.
  Result<ExpandReport> turn(Instant now);
  /// Some expand work, if there is any: large messages, lists, records, replayed ones. What is begun is carried on
  /// first.
  Result<ExpandReport> work(Instant now);
  [[nodiscard]] const Catalog& catalog() const { return catalog_; }
  /// Work is begun and waits for its turn.
  [[nodiscard]] bool has_begun() const { return !begun_.empty(); }

 private:
  struct Late {  // still to be put off, and why
    ExpandWork work = {};
    Reason reason = Reason::ExpansionFailed;
    std::string why = {};
    bool lasting = false;               // trying again cannot help
    std::optional<Instant> until = {};  // nothing failed: its time is still to come
  };
  struct Writing {  // chunks that are written together, and what came of those before
    Instant now = {};
    std::vector<ExpandWork> works = {};
    std::vector<ExpandStep> chunks = {};
    std::size_t deliveries = 0;
    ExpandReport report = {};
    std::optional<Error> trouble = {};
  };
  Result<Done> keep_up(Instant now);
  Result<Done> read_templates_again();
  Result<ExpandReport> take_rows(Instant now);
  std::vector<ExpandedMessage> decide(Instant now, std::span<const OutboxRow> rows);
  void expand_all(Instant now, std::vector<ExpandedMessage>& decided);
  void decide_again_when_templates_changed();
  void look_again_for_templates(const std::vector<ExpandedMessage>& decided);
  ExpandedMessage read_one(Instant now, const OutboxRow& row);
  void expand_one(Instant now, const People& people, ExpandedMessage& out);
  void suppress(std::vector<ExpandedMessage>& decided);
  Result<Done> suppress(const std::vector<ExpandedDelivery*>& live);
  template <class T>
  T ask(Result<T> answer);
  void own(ExpandedMessage& expanded);
  void give_back_unused(const ExpandReport& report);
  std::vector<ExpandWork> next_together();
  Result<ExpandReport> work_on(Instant now, std::vector<ExpandWork> together);
  void write(Writing& writing);
  std::optional<Error> write_at_once(Writing& writing, std::span<ExpandWork> works, std::span<const ExpandStep> chunks);
  Result<ExpandChunk> make_chunk(Instant now, const ExpandWork& work, const People& people, std::string_view record);
  Result<ExpandChunk> make_list_chunk(Instant now, const ExpandWork& work, const ExpandNeeds& needs,
                                      std::string_view record);
  Result<Done> add_deliveries(Instant now, Expansion& expansion, ExpandChunk& chunk);
  Result<People> people_of(const std::vector<ExpandWork>& together);
  Result<People> people_of(std::vector<ContactRef> refs);
  static std::optional<Late> refusal(const ExpandWork& work, const ContextRecord& record);
  [[nodiscard]] std::optional<Instant> waits_until(Instant now, const ExpandWork& work, std::string_view record) const;
  Result<Done> put_off(Instant now);
  void note_refusal(const Error& error);
  ExpandedMessage give_up(Instant now, const OutboxRow& row);

  Parts parts_;
  Prng random_;
  Catalog catalog_;
  std::optional<Error> look_up_failed_;  // inside the decision that is under way
  bool catalog_stale_ = false;
  std::size_t rows_max_ = kRowsPerTurn;
  std::deque<ExpandWork> begun_;  // held by this node
  std::vector<Late> failed_;
  int refused_alone_ = 0;  // how often the store refused one row by itself
  std::string refusal_;
  std::map<ProviderId, int> reserved_;  // in the transaction that is under way
  static constexpr std::size_t kRowsPerTurn = 500;
  static constexpr std::size_t kWorkAtOnce = 100;
  static constexpr int kRefusalsMax = 3;
  static constexpr int kDecidedAgainMax = 5;
};

}  // namespace postrider
