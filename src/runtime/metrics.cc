#include "runtime/metrics.h"

#include <fmt/format.h>

namespace postrider {
namespace {

std::string label(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

class Page {
 public:
  explicit Page(std::string prefix) : prefix_(std::move(prefix)) {}
  void family(std::string_view name, std::string_view type, std::string_view help) {
    text_ += fmt::format("# HELP {0}_{1} {3}\n# TYPE {0}_{1} {2}\n", prefix_, name, type, help);
  }
  void sample(std::string_view name, std::string_view labels, double value) {
    text_ += fmt::format("{}_{}{}{}{} {}\n", prefix_, name, labels.empty() ? "" : "{", labels,
                         labels.empty() ? "" : "}", value);
  }
  void single(std::string_view name, std::string_view type, std::string_view help, double value) {
    family(name, type, help);
    sample(name, "", value);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string prefix_;
  std::string text_;
};

double number(std::uint64_t value) { return static_cast<double>(value); }

void add_outcomes(Page& page, const DispatchCounts& counts) {
  page.family("notifications_outbox_attempt_total", "counter", "Provider calls by event type.");
  for (const auto& [type, count] : counts.attempts_by_type) {
    page.sample("notifications_outbox_attempt_total", fmt::format("event_type=\"{}\"", label(type)), number(count));
  }
  page.family("notifications_outbox_total", "counter", "Deliveries by final outcome and event type.");
  std::uint64_t errors = 0;
  for (const auto& [key, count] : counts.by_type_and_state) {
    const auto& [type, state] = key;
    const bool sent = state == DeliveryState::Sent || state == DeliveryState::Delivered;
    const bool failed = state == DeliveryState::Parked || state == DeliveryState::Expired;
    if (!sent && !failed) continue;
    if (failed) errors += count;
    page.sample("notifications_outbox_total",
                fmt::format("status=\"{}\",event_type=\"{}\",state=\"{}\"", sent ? "sent" : "failed", label(type),
                            to_text(state)),
                number(count));
  }
  page.single("notifications_delivery_errors_total", "counter", "Deliveries that ended without being accepted.",
              number(errors));
}

}  // namespace

std::string metrics_text(const MetricsInput& in) {
  Page page{in.prefix};
  page.single("up", "gauge", "1 while the store can be reached.", in.health.store_reachable ? 1 : 0);
  page.single("nodes", "gauge", "Living nodes on this store.", in.health.living_nodes);
  page.single("expanded_total", "counter", "Outbox rows turned into deliveries by this node.", number(in.expanded));
  page.single("claimed_total", "counter", "Queue rows claimed by this node.", number(in.counts.claimed));
  page.single("owned_total", "counter", "Rows inserted already held by this node.", number(in.counts.owned));
  page.single("calls_total", "counter", "Provider calls started by this node.", number(in.counts.calls));
  page.single("recorded_total", "counter", "Outcomes recorded by this node.", number(in.counts.recorded));
  page.single("stale_total", "counter", "Outcomes that came after the lease was lost.", number(in.counts.stale));
  page.single("released_total", "counter", "Rows given back before anything was sent.", number(in.counts.released));
  page.single("taken_over_total", "counter", "Rows of lost nodes taken over.", number(in.counts.taken_over));
  page.single("possible_duplicates_total", "counter", "Deliveries repeated after an unclear outcome.",
              number(in.counts.possible_duplicates));
  add_outcomes(page, in.counts);
  if (in.stats_known) {
    page.family("deliveries", "gauge", "What waits, by state.");
    page.sample("deliveries", "state=\"pending\"", number(in.stats.outbox));
    page.sample("deliveries", "state=\"queued\"", number(in.stats.queued));
    page.sample("deliveries", "state=\"sending\"", number(in.stats.sending));
    page.sample("deliveries", "state=\"retrying\"", number(in.stats.retrying));
    page.sample("deliveries", "state=\"parked\"", number(in.stats.parked));
    const double age = in.stats.oldest ? static_cast<double>((in.now - *in.stats.oldest).count()) / 1e6 : 0.0;
    page.single("oldest_seconds", "gauge", "Age of the oldest waiting delivery.", age < 0 ? 0 : age);
  }
  page.family("http_requests_total", "counter", "HTTP requests by route and status.");
  for (const auto& [key, count] : in.http_requests) {
    page.sample("http_requests_total", fmt::format("route=\"{}\",status=\"{}\"", label(key.first), key.second),
                number(count));
  }
  return page.take();
}

}  // namespace postrider
