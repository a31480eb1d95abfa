// Writes what was decided about a batch of outbox rows, column by column, in one statement per table.
#pragma once
#include <map>
#include <vector>

#include "store/postgres/rows.h"

namespace postrider::postgres {

/// Taken as new: one that exists undoes everything. Tried as new: they are written once more, asking first.
enum class Keys : std::uint8_t { AskFirst, TakenAsNew, TriedAsNew };

class ExpansionWriter {
 public:
  ExpansionWriter(Connection& c, Instant now, NodeId node, IdSource& ids, UsedTemplates& used,
                  Keys keys = Keys::AskFirst)
      : c_(c), now_(now), node_(node), ids_(ids), used_(used), keys_(keys) {
    used_.begin();
  }

  /// Everything for these rows. Called once.
  void write(const std::vector<OutboxRow>& rows, std::vector<ExpandedMessage>& decided);
  struct Chunk {  // deliveries of one message that exists
    RowId message = 0;
    std::vector<ExpandedDelivery> deliveries = {};
    std::string skipped = {};  // keys that existed are added
    Made made = Made::Nothing;
  };
  /// Called once.
  void write_chunks(std::vector<Chunk>& chunks);

  std::vector<Claim>& owned() { return owned_; }
  Groups& groups() { return groups_; }
  [[nodiscard]] bool met_old_keys() const { return met_old_keys_; }  // where they were tried as new

 private:
  struct Entry {  // one message on its way
    ExpandedMessage* decided = nullptr;
    bool admitted = false;                 // by the HTTP API: its dedup entries are its own
    std::optional<DedupEntry> other = {};  // the message that came first
    std::string skipped = {};
    Made made = Made::Nothing;
    bool live = false;
  };

  std::set<DedupKey> add(const std::vector<NewDedup>& entries);
  bool were_new(const std::vector<NewDedup>& entries);
  void find_admitted(const std::vector<OutboxRow>& rows);
  void claim_ids();
  void claim_keys();
  void add_messages();
  void add_deliveries();
  void mark_used();
  void add_states();
  void keep(Entry& entry, ExpandedDelivery& made);
  void place(const ExpandedDelivery& made);
  void queue_expand(const Message& message, const std::optional<Instant>& at);

  Connection& c_;
  Instant now_;
  NodeId node_;
  IdSource& ids_;
  UsedTemplates& used_;
  Keys keys_;
  bool met_old_keys_ = false;
  std::vector<Entry> entries_;
  std::map<DedupKey, DedupEntry> in_batch_;
  std::vector<Claim> owned_;
  Groups groups_;
  QueueRows queue_;
  DeferredRows deferred_;
  SettledRows settled_;
};

}  // namespace postrider::postgres
