#include "runtime/metrics.h"

#include <gtest/gtest.h>

#include <set>

#include "base/text.h"

namespace postrider {
namespace {

MetricsInput some_work() {
  MetricsInput in{.prefix = "shop"};
  in.counts.attempts_by_type["booking.made"] = 3;
  in.counts.by_type_and_state[{"booking.made", DeliveryState::Sent}] = 1;
  in.counts.by_type_and_state[{"booking.made", DeliveryState::Delivered}] = 4;
  in.counts.by_type_and_state[{"booking.made", DeliveryState::Retrying}] = 2;
  in.counts.by_type_and_state[{"booking.made", DeliveryState::Parked}] = 5;
  in.counts.by_type_and_state[{"booking.made", DeliveryState::Expired}] = 6;
  in.counts.call_errors = 7;
  for (const int ms : {1, 5, 6, 20, 600, 11'000})
    in.counts.times_by_type["booking.made"].add(std::chrono::milliseconds{ms});
  in.stats = {.outbox = 1, .queued = 20, .sending = 300, .retrying = 4000, .parked = 50'000};
  in.stats_known = true;
  return in;
}

bool has_line(const std::string& text, std::string_view wanted) {
  for (const std::string_view line : split(text, '\n')) {
    if (line == wanted) return true;
  }
  return false;
}

TEST(Metrics, OutcomesOfTheOutboxUnderThePrefixOfTheConfiguration) {
  for (const std::string& text : {metrics_text(some_work()), metrics_lite_text(some_work())}) {
    for (const std::string_view line : {
             "shop_notifications_outbox_attempt_total{event_type=\"booking.made\"} 3",
             "shop_notifications_outbox_total{status=\"sent\",event_type=\"booking.made\"} 5",
             "shop_notifications_outbox_total{status=\"failed\",event_type=\"booking.made\"} 11",
             "shop_notifications_delivery_errors_total 7",
             "shop_notifications_outbox_pending 4321",
             "# TYPE shop_notifications_dispatch_seconds histogram",
         }) {
      EXPECT_TRUE(has_line(text, line)) << line << "\n" << text;
    }
  }
  EXPECT_TRUE(has_line(metrics_text(some_work()), "shop_outcomes_total{state=\"retrying\"} 2"));
}

TEST(Metrics, TheLiteOnesHaveNothingElse) {
  const std::string text = metrics_lite_text(some_work());
  std::set<std::string> families;
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with("# TYPE ")) families.emplace(split(line, ' ').at(2));
  }
  EXPECT_EQ(families,
            (std::set<std::string>{"shop_notifications_outbox_attempt_total", "shop_notifications_outbox_total",
                                   "shop_notifications_dispatch_seconds", "shop_notifications_delivery_errors_total",
                                   "shop_notifications_outbox_pending"}));
}

TEST(Metrics, AHistogramCountsUpwards) {
  const std::string text = metrics_lite_text(some_work());
  const std::string bucket = "shop_notifications_dispatch_seconds_bucket{event_type=\"booking.made\",le=\"";
  for (const std::string_view end :
       {"0.005\"} 2", "0.01\"} 3", "0.025\"} 4", "0.5\"} 4", "1\"} 5", "10\"} 5", "+Inf\"} 6"})
    EXPECT_TRUE(has_line(text, bucket + std::string{end})) << end << "\n" << text;
  EXPECT_TRUE(has_line(text, "shop_notifications_dispatch_seconds_count{event_type=\"booking.made\"} 6"));
  EXPECT_TRUE(has_line(text, "shop_notifications_dispatch_seconds_sum{event_type=\"booking.made\"} 11.632")) << text;
}

TEST(Metrics, WhatTheStoreDoesNotSayIsLeftOut) {
  MetricsInput in = some_work();
  in.stats_known = false;
  EXPECT_EQ(metrics_lite_text(in).find("outbox_pending"), std::string::npos);
  EXPECT_TRUE(has_line(metrics_lite_text(in), "shop_notifications_delivery_errors_total 7"));
}

TEST(Metrics, ATypeWithQuotesAndLineEndsStaysInsideItsLabel) {
  MetricsInput in{.prefix = "p"};
  in.counts.attempts_by_type["a\"b\\c\nd"] = 1;
  EXPECT_TRUE(has_line(metrics_lite_text(in), "p_notifications_outbox_attempt_total{event_type=\"a\\\"b\\\\c d\"} 1"));
}

}  // namespace
}  // namespace postrider
