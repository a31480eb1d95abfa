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

bool was_sent(DeliveryState state) { return state == DeliveryState::Sent || state == DeliveryState::Delivered; }
bool has_failed(DeliveryState state) { return state == DeliveryState::Parked || state == DeliveryState::Expired; }

std::string of_type(std::string_view type) { return fmt::format("event_type=\"{}\"", label(type)); }

void add_times(Page& page, const DispatchCounts& counts) {
  static constexpr std::string_view kName = "notifications_dispatch_seconds";
  page.family(kName, "histogram", "How long provider calls took, by event type.");
  for (const auto& [type, times] : counts.times_by_type) {
    std::uint64_t so_far = 0;
    for (std::size_t i = 0; i < CallTimes::kBoundsMs.size(); ++i) {
      so_far += times.buckets.at(i);
      page.sample(fmt::format("{}_bucket", kName),
                  fmt::format("{},le=\"{}\"", of_type(type), CallTimes::kBoundsMs.at(i) / 1000.0), number(so_far));
    }
    page.sample(fmt::format("{}_bucket", kName), of_type(type) + ",le=\"+Inf\"", number(times.calls));
    page.sample(fmt::format("{}_sum", kName), of_type(type), static_cast<double>(times.total.count()) / 1e6);
    page.sample(fmt::format("{}_count", kName), of_type(type), number(times.calls));
  }
}

void add_outcomes(Page& page, const MetricsInput& in) {
  const DispatchCounts& counts = in.counts;
  page.family("notifications_outbox_attempt_total", "counter", "Provider calls by event type.");
  for (const auto& [type, count] : counts.attempts_by_type)
    page.sample("notifications_outbox_attempt_total", of_type(type), number(count));
  std::map<std::pair<std::string, std::string_view>, std::uint64_t> ends;
  for (const auto& [key, count] : counts.by_type_and_state) {
    const auto& [type, state] = key;
    if (was_sent(state)) ends[{type, "sent"}] += count;
    if (has_failed(state)) ends[{type, "failed"}] += count;
  }
  page.family("notifications_outbox_total", "counter", "Deliveries by final outcome and event type.");
  for (const auto& [key, count] : ends) {
    page.sample("notifications_outbox_total", fmt::format("status=\"{}\",{}", key.second, of_type(key.first)),
                number(count));
  }
  add_times(page, counts);
  page.single("notifications_delivery_errors_total", "counter",
              "Provider calls that were not accepted; a recipient that does not exist is no error.",
              number(counts.call_errors));
  if (!in.stats_known) return;
  const QueueStats& s = in.stats;
  page.single("notifications_outbox_pending", "gauge",
              "Messages and deliveries that are not finished: to be expanded, queued, sending or retrying.",
              number(s.outbox + s.queued + s.sending + s.retrying));
}

void add_ends(Page& page, const DispatchCounts& counts) {
  std::map<DeliveryState, std::uint64_t> ends;
  for (const auto& [key, count] : counts.by_type_and_state) ends[key.second] += count;
  page.family("outcomes_total", "counter", "What calls came to, by the state that followed.");
  for (const auto& [state, count] : ends)
    page.sample("outcomes_total", fmt::format("state=\"{}\"", to_text(state)), number(count));
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
  add_ends(page, in.counts);
  add_outcomes(page, in);
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

std::string metrics_lite_text(const MetricsInput& in) {
  Page page{in.prefix};
  add_outcomes(page, in);
  return page.take();
}

}  // namespace postrider
