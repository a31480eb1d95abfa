// What every HTTP and SMTP adapter shares: how far the bytes got decides what a break means, and how Retry-After is
// read.
#pragma once
#include <optional>
#include <string_view>

#include "core/outcome.h"
#include "ports/transport.h"

namespace postrider {

/// Phase and cause of a broken call as an outcome (RELIABILITY: nothing left = not sent; all left, no answer =
/// unclear).
Outcome outcome_of(const Broken& broken);
/// Seconds or an HTTP date; empty for garbage and negatives; at most 24 hours.
std::optional<Duration> retry_after(const HttpReply& reply, Instant now);
const std::string* find_header(const HttpReply& reply, std::string_view name);
/// The classes that hold for any HTTP provider where its own codes say nothing else.
Outcome outcome_of_status(const HttpReply& reply, Instant now);

}  // namespace postrider
