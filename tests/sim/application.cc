#include "sim/application.h"

#include <fmt/format.h>

#include "base/canary.h"
#include "sim/world.h"

namespace postrider::sim {

std::vector<ContextRecord> Records::load(const ContextRule&, std::span<const ContextAsk> asks) {
  if (world_.faults().strikes(Fault::ContextSlow))
    took_ += std::chrono::milliseconds{500 + world_.random().below(20'000)};
  std::vector<ContextRecord> records;
  if (world_.faults().strikes(Fault::ContextGone)) {
    records.assign(asks.size(), RecordFailed{.text = "the database cannot be reached"});
    return records;
  }
  for (const ContextAsk& ask : asks) {
    const RecordFacts& record = world_.record_of(ask.entity_id);
    std::string row = fmt::format(R"({{"seen":{},"status":"{}"}})", record.seen, record.off ? "off" : "on");
    const auto first = first_.emplace(ask.entity_id, row).first;
    records.emplace_back(canary("old_record") ? first->second : std::move(row));
  }
  return records;
}

Result<std::string> Boxes::open(std::string_view sealed) {
  return fmt::format(R"({{"code":"code-{}"}})", sealed.substr(sealed.size() - 4));
}

std::string sealed_box(int number) { return fmt::format("{:A<60}{:04}", "", number); }

}  // namespace postrider::sim
