#include "providers/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/check.h"
#include "base/limits.h"
#include "base/text.h"

namespace postrider {
namespace {

Reason reason_of(BrokenBy by) {
  switch (by) {
    case BrokenBy::Dns: return Reason::DnsFailed;
    case BrokenBy::Connect: return Reason::ConnectFailed;
    case BrokenBy::Tls: return Reason::TlsFailed;
    case BrokenBy::Timeout: return Reason::Timeout;
    case BrokenBy::Reset: return Reason::ConnectionLost;
    case BrokenBy::Garbage: return Reason::GarbageAnswer;
    case BrokenBy::TooLarge: return Reason::TooLargeAnswer;
    case BrokenBy::Forbidden: return Reason::ForbiddenAddress;
    case BrokenBy::Invalid: return Reason::RequestRefused;
    case BrokenBy::Aborted: return Reason::Aborted;
  }
  POSTRIDER_DIE("a BrokenBy outside its enum");
}

// "Sun, 06 Nov 1994 08:49:37 GMT", the one form that is sent today.
std::optional<Instant> parse_http_date(std::string_view text) {
  static constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  if (text.size() != 29 || text.substr(3, 2) != ", " || !text.ends_with(" GMT")) return std::nullopt;
  const auto month = std::find(kMonths.begin(), kMonths.end(), text.substr(8, 3));
  if (month == kMonths.end()) return std::nullopt;
  return parse_instant(fmt::format("{}-{:02}-{}T{}Z", text.substr(12, 4), month - kMonths.begin() + 1,
                                   text.substr(5, 2), text.substr(17, 8)));
}

}  // namespace

Outcome outcome_of(const Broken& broken) {
  const Reason reason = reason_of(broken.by);
  // A request that cannot be written is wrong for this one delivery; it will be wrong the next time too.
  if (broken.at == BrokenAt::Nothing && (broken.by == BrokenBy::Invalid || broken.by == BrokenBy::Forbidden)) {
    return {.kind = OutcomeKind::Permanent, .reason = reason, .detail = broken.detail};
  }
  switch (broken.at) {
    case BrokenAt::Nothing: return {.kind = OutcomeKind::NotSent, .reason = reason, .detail = broken.detail};
    case BrokenAt::Partly:  // A correct server cannot have acted on half a request; an incorrect one might.
    case BrokenAt::Whole: return {.kind = OutcomeKind::Unclear, .reason = reason, .detail = broken.detail};
  }
  POSTRIDER_DIE("a BrokenAt outside its enum");
}

const std::string* find_header(const HttpReply& reply, std::string_view name) {
  const auto found =
      std::find_if(reply.headers.begin(), reply.headers.end(), [&](const Header& h) { return h.first == name; });
  return found == reply.headers.end() ? nullptr : &found->second;
}

std::optional<Duration> retry_after(const HttpReply& reply, Instant now) {
  const std::string* header = find_header(reply, "retry-after");
  if (header == nullptr) return std::nullopt;
  const std::string_view text = trim(*header);
  constexpr Duration kLongest = std::chrono::hours{24};
  if (!text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos) {
    std::int64_t seconds = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (error != std::errc{}) return kLongest;  // More digits than fit: a very long wait was meant.
    return std::min<Duration>(kLongest, std::chrono::seconds{std::min<std::int64_t>(seconds, 86'400)});
  }
  const auto at = parse_http_date(text);
  if (!at || *at <= now) return std::nullopt;
  return std::min<Duration>(kLongest, *at - now);
}

Outcome outcome_of_status(const HttpReply& reply, Instant now) {
  const auto made = [&](OutcomeKind kind, Reason reason) {
    std::string detail =
        fmt::format("HTTP {}{}{}", reply.status, reply.body.empty() ? "" : ": ", excerpt(printable(reply.body), 200));
    return Outcome{.kind = kind, .reason = reason, .detail = std::move(detail), .retry_after = retry_after(reply, now)};
  };
  if (reply.status / 100 == 2)
    return {.kind = OutcomeKind::Accepted,
            .reason = Reason::AcceptedByProvider,
            .detail = "HTTP " + std::to_string(reply.status)};
  if (reply.status / 100 == 3)
    return made(OutcomeKind::Permanent, Reason::RequestRefused);  // Redirects are not followed.
  switch (reply.status) {
    case 408:
    case 425:
    case 429: return made(OutcomeKind::Transient, Reason::RateLimited);
    case 503: return made(OutcomeKind::Transient, Reason::ServerBusy);
    case 410: return made(OutcomeKind::Permanent, Reason::EndpointGone);
    default: break;
  }
  if (reply.status / 100 == 4) return made(OutcomeKind::Permanent, Reason::RequestRefused);
  if (reply.status / 100 == 5) return made(OutcomeKind::Unclear, Reason::ServerFault);
  return made(OutcomeKind::Unclear, Reason::GarbageAnswer);
}

}  // namespace postrider
