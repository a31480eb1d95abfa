// The stage between the outbox and the queue: takes rows, lets the core decide, and writes everything in one
// transaction.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/prng.h"
#include "core/rules.h"
#include "pipeline/places.h"
#include "ports/store.h"

namespace postrider {

class ExpandStage {
 public:
  struct Parts {
    StoreSession& store;
    const Rules& rules;
    IdSource& ids;
    NodeId node = 0;
    Places* places = nullptr;  // null: this process does not send, nothing is owned
  };
  ExpandStage(Parts parts, std::uint64_t seed) : parts_(parts), random_(seed) {}

  /// One batch of outbox rows. Rows = 0: nothing was waiting. A batch that the store refuses is tried again in halves,
  /// so that one bad row holds up nobody but itself.
  Result<ExpandReport> turn(Instant now);
  /// One chunk of expand work, if there is any: large messages, replayed ones. What is begun is carried on first.
  Result<ExpandReport> work(Instant now);

 private:
  std::vector<ExpandedMessage> decide(Instant now, std::span<const OutboxRow> rows);
  ExpandedMessage decide_one(Instant now, const OutboxRow& row);
  void own(ExpandedMessage& expanded);
  void give_back_unused(const ExpandReport& report);
  Result<ExpandReport> work_one(Instant now, ExpandWork& work);
  Result<Done> put_off(Instant now);
  void note_refusal(const Error& error);
  ExpandedMessage give_up(Instant now, const OutboxRow& row);

  Parts parts_;
  Prng random_;
  std::size_t rows_max_ = kRowsPerTurn;
  std::optional<ExpandWork> begun_;                           // held by this node, some chunks written
  std::optional<std::pair<ExpandWork, std::string>> failed_;  // still to be put off, and why
  int refused_alone_ = 0;                                     // how often the store refused one row by itself
  std::string refusal_;
  std::map<ProviderId, int> reserved_;  // in the transaction that is under way
  static constexpr std::size_t kRowsPerTurn = 500;
  static constexpr int kRefusalsMax = 3;
};

}  // namespace postrider
