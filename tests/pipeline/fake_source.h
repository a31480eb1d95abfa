// A database of the application that answers as it is told.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "ports/context.h"

namespace postrider {

struct FakeSource final : ContextSource {
  std::map<std::string, ContextRecord, std::less<>> records = {};
  std::vector<std::size_t> asked = {};  // how many at once, each time

  std::vector<ContextRecord> load(const ContextRule&, std::span<const ContextAsk> asks) override {
    asked.push_back(asks.size());
    std::vector<ContextRecord> out;
    for (const ContextAsk& each : asks) {
      const auto found = records.find(each.entity_id);
      out.push_back(found != records.end() ? found->second : ContextRecord{NoRecord{}});
    }
    return out;
  }
};

}  // namespace postrider
