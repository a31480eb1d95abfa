// Writes what was decided about outbox rows and chunks: messages, dedup entries, deliveries and where they go.
#pragma once
#include <string>
#include <vector>

#include "store/rules.h"
#include "store/sqlite/rows.h"
#include "store/template_rules.h"

namespace postrider::sqlite {

class ExpansionWriter {
 public:
  ExpansionWriter(Connection& c, Instant now, NodeId node, IdSource& ids, UsedTemplates& used);

  /// One outbox row with all that follows from it. Takes the deliveries' texts out of `decided`.
  void write(const OutboxRow& row, ExpandedMessage& decided);
  /// One delivery, unless its key exists: then the key is added to `skipped`. True when it was made.
  bool add(ExpandedDelivery made, RowId message, std::string& skipped);

  std::vector<Claim>& owned() { return owned_; }
  [[nodiscard]] const Groups& groups() const { return groups_; }

 private:
  std::optional<Uuid> find_first(const OutboxRow& row, ExpandedMessage& decided);
  Made add_all(ExpandedMessage& decided, std::string& skipped);
  void mark_used(Delivery& delivery);
  void place(const ExpandedDelivery& made);
  void queue(const ExpandedDelivery& made);
  void queue_expand(const Message& message, const std::optional<Instant>& at);

  Connection& c_;
  Instant now_;
  NodeId node_;
  IdSource& ids_;
  UsedTemplates& used_;
  std::vector<Claim> owned_;
  Groups groups_;
  bool live_ = false;  // the message being written has a delivery that is not settled
};

}  // namespace postrider::sqlite
