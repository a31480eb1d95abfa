// The application's own database, asked for the present state of what an event is about.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/context.h"

namespace postrider {

struct ContextAsk {  // one message
  std::string_view tenant = {};
  std::string_view entity_id = {};
  std::string_view payload = {};  // a JSON object
};

class ContextSource {
 public:
  virtual ~ContextSource() = default;
  /// One record per ask, in their order. Waits for a free connection and for the database, at most for its time-outs.
  /// A rule whose SQL is for_many() is asked once for all. Nothing is ever written: each query runs in a read-only
  /// transaction. May be called by many threads at once.
  virtual std::vector<ContextRecord> load(const ContextRule& rule, std::span<const ContextAsk> asks) = 0;
};

}  // namespace postrider
