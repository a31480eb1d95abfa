// Who is still alive. A node is dead only after several of our own successful rounds saw its beat unmoved: a stall of
// the database, or of ourselves, kills nobody.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "base/ids.h"

namespace postrider {

class NodeWatch {
 public:
  explicit NodeWatch(NodeId self) : self_(self) {}
  struct Seen {
    NodeId node = 0;
    std::int64_t beats = 0;
  };
  /// One successful round: what the store shows now. Returns the nodes found dead in this round.
  std::vector<NodeId> round(const std::vector<Seen>& nodes);

 private:
  struct Record {
    std::int64_t beats = 0;
    int unmoved = 0;
  };
  NodeId self_;
  std::map<NodeId, Record> records_;
};

}  // namespace postrider
