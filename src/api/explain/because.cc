#include "api/explain/because.h"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "base/limits.h"

namespace postrider {
namespace {

/// Collects the values of one sentence; what the recorded detail says already is not said again.
class Values {
 public:
  explicit Values(const ReasonValues& known) : known_(known) {
    if (!known.detail.empty()) told_.emplace_back(known.detail);
  }
  Values& type() { return add("type \"{}\"", known_.type); }
  Values& channel() { return add("channel {}", known_.channel); }
  Values& provider() { return add("through {}", known_.provider); }
  Values& quiet_hours() { return add("{}", known_.quiet_hours); }
  Values& attempts() {
    if (known_.attempts > 0)
      told_.push_back(known_.attempts == 1 ? "1 attempt" : fmt::format("{} attempts", known_.attempts));
    return *this;
  }
  Values& due() { return time("until {}", known_.due_at); }
  Values& expiry() { return time("it was good until {}", known_.expires_at); }
  Values& limit(int at_most) {
    told_.push_back(fmt::format("at most {}", at_most));
    return *this;
  }
  [[nodiscard]] std::string in_brackets() const {
    return told_.empty() ? "" : fmt::format(" ({})", fmt::join(told_, ", "));
  }

 private:
  Values& add(std::string_view form, std::string_view value) {
    if (!value.empty() && known_.detail.find(value) == std::string_view::npos)
      told_.push_back(fmt::format(fmt::runtime(form), value));
    return *this;
  }
  Values& time(std::string_view form, const std::optional<Instant>& at) {
    return at ? add(form, format_instant(*at)) : *this;
  }

  const ReasonValues& known_;
  std::vector<std::string> told_;
};

// Which values a reason names. Every reason is in exactly one of these; a new one does not compile until it is.

// Its state says it all, or all of it stands in the detail: a field and what is wrong with it, the key that came
// before, whose wish it was, an operator's words.
constexpr std::array kInTheDetail{Reason::Waiting,
                                  Reason::Expanded,
                                  Reason::Expanding,
                                  Reason::UnknownTenant,
                                  Reason::InvalidPayload,
                                  Reason::InvalidLane,
                                  Reason::InvalidTime,
                                  Reason::InvalidChannel,
                                  Reason::InvalidField,
                                  Reason::DuplicateMessage,
                                  Reason::DuplicateDelivery,
                                  Reason::MissingData,
                                  Reason::TemplateBroken,
                                  Reason::TooManyRecipients,
                                  Reason::ExpansionFailed,
                                  Reason::Replayed,
                                  Reason::ContentTooLarge,
                                  Reason::CancelledByOperator,
                                  Reason::DiscardedByOperator,
                                  Reason::RetriedByOperator,
                                  Reason::ResentByOperator,
                                  Reason::DispatchedByOperator,
                                  Reason::OptedOut,
                                  Reason::SuppressedAddress,
                                  Reason::CancelledByCondition,
                                  Reason::CancelledWithEntity,
                                  Reason::UnknownContact,
                                  Reason::UnknownList,
                                  Reason::ContextFailed,
                                  Reason::ContextAmbiguous,
                                  Reason::InvalidSchedule,
                                  Reason::SecretMissing};
constexpr std::array kOfAType{Reason::NoRoute, Reason::TemplateNotFound};
constexpr std::array kOfAChannel{Reason::NoRecipient, Reason::NoContent, Reason::NoProvider};
constexpr std::array kOfAProvider{Reason::AcceptedByProvider,
                                  Reason::AcceptanceIsTheEnd,
                                  Reason::Released,
                                  Reason::RateLimited,
                                  Reason::ServerBusy,
                                  Reason::ServerFault,
                                  Reason::ConnectFailed,
                                  Reason::DnsFailed,
                                  Reason::TlsFailed,
                                  Reason::Timeout,
                                  Reason::ConnectionLost,
                                  Reason::GarbageAnswer,
                                  Reason::RequestRefused,
                                  Reason::InvalidRecipient,
                                  Reason::ProviderMisconfigured,
                                  Reason::NodeLost,
                                  Reason::Aborted,
                                  Reason::UnclearNotRepeated,
                                  Reason::UnclearReconcile,
                                  Reason::UnmappedAnswer,
                                  Reason::EndpointGone,
                                  Reason::ContentRefused,
                                  Reason::ForbiddenAddress,
                                  Reason::LateAnswer,
                                  Reason::TooLargeAnswer,
                                  Reason::LimitedByRate,
                                  Reason::LimitedByConcurrency};
constexpr std::array kOfItsOwn{Reason::Scheduled,     Reason::QuietHours,     Reason::Expired,
                               Reason::RetriesUsedUp, Reason::CallCapReached, Reason::ShimFailure};

template <std::size_t Count>
constexpr bool has(const std::array<Reason, Count>& list, Reason reason) {
  for (const Reason each : list) {
    if (each == reason) return true;
  }
  return false;
}
constexpr bool is_in_one_list(Reason reason) {
  const int lists = int{has(kInTheDetail, reason)} + int{has(kOfAType, reason)} + int{has(kOfAChannel, reason)} +
                    int{has(kOfAProvider, reason)} + int{has(kOfItsOwn, reason)};
  return lists == 1;
}
#define X(name, number, code, words) static_assert(is_in_one_list(Reason::name), "say which values " code " names");
POSTRIDER_REASONS(X)
#undef X

void name_values(Reason reason, Values& values) {
  if (has(kOfAType, reason)) values.type();
  if (has(kOfAChannel, reason)) values.channel();
  if (has(kOfAProvider, reason)) values.provider();
  if (reason == Reason::Scheduled) values.due();
  if (reason == Reason::QuietHours) values.quiet_hours().due();
  if (reason == Reason::Expired) values.expiry();
  if (reason == Reason::RetriesUsedUp) values.attempts().provider();
  if (reason == Reason::CallCapReached) values.attempts().limit(kCallsPerDeliveryMax);
  if (reason == Reason::ShimFailure) values.type().provider();
}

}  // namespace

std::string because(Reason reason, const ReasonValues& known) {
  Values values{known};
  name_values(reason, values);
  return std::string{words_of(reason)} + values.in_brackets();
}

}  // namespace postrider
