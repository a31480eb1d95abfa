// Why something is in the state it is in: a closed list. Every state write carries one, and `explain` tells it in
// words.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace postrider {

// name, stored number, code, words. Numbers are stored: never reuse one.
#define POSTRIDER_REASONS(X)                                                                                          \
  X(Waiting, 1, "waiting", "waiting for its turn")                                                                    \
  X(Scheduled, 2, "scheduled", "due later")                                                                           \
  X(Expanded, 3, "expanded", "turned into its deliveries")                                                            \
  X(Expanding, 4, "expanding", "being turned into its deliveries, in chunks")                                         \
  X(NoRoute, 10, "no_route", "no route and no template knows this type; replay it when one appears")                  \
  X(TemplateNotFound, 11, "template_not_found", "Template not found")                                                 \
  X(NoRecipient, 12, "no_recipient", "No recipient")                                                                  \
  X(UnknownTenant, 13, "unknown_tenant", "this tenant is not known here")                                             \
  X(InvalidPayload, 14, "invalid_payload", "the payload is not a JSON object")                                        \
  X(InvalidLane, 15, "invalid_lane", "the lane is not one of priority, standard, bulk")                               \
  X(InvalidTime, 16, "invalid_time", "a time is not an RFC 3339 time")                                                \
  X(InvalidChannel, 17, "invalid_channel", "the channel is not a known one")                                          \
  X(InvalidField, 18, "invalid_field", "a field is too long or malformed")                                            \
  X(DuplicateMessage, 19, "duplicate_message", "the same id or idempotency key came before")                          \
  X(DuplicateDelivery, 20, "duplicate_delivery", "this fact was already turned into a delivery")                      \
  X(MissingData, 21, "missing_data", "Missing data")                                                                  \
  X(TemplateBroken, 22, "template_broken", "the template cannot be rendered")                                         \
  X(TooManyRecipients, 23, "too_many_recipients", "more recipients than one message may have")                        \
  X(ExpansionFailed, 24, "expansion_failed", "turning it into deliveries failed")                                     \
  X(Replayed, 25, "replayed", "an operator asked for it to be expanded again")                                        \
  X(NoContent, 26, "no_content", "a direct message needs a body or a template")                                       \
  X(NoProvider, 27, "no_provider", "no provider is configured for this channel")                                      \
  X(ContentTooLarge, 28, "content_too_large", "the rendered content is larger than allowed")                          \
  X(AcceptedByProvider, 30, "accepted_by_provider", "the provider accepted it")                                       \
  X(AcceptanceIsTheEnd, 31, "acceptance_is_the_end", "the provider accepted it and reports nothing further")          \
  X(Expired, 32, "expired", "its expiry passed before it could be sent")                                              \
  X(CancelledByOperator, 33, "cancelled_by_operator", "cancelled by an operator")                                     \
  X(DiscardedByOperator, 34, "discarded_by_operator", "discarded by an operator")                                     \
  X(RetriedByOperator, 35, "retried_by_operator", "queued again by an operator")                                      \
  X(Released, 36, "released", "given back before anything was sent")                                                  \
  X(DispatchedByOperator, 37, "dispatched_by_operator", "made due at once by an operator")                            \
  X(RateLimited, 40, "rate_limited", "the provider asked to slow down")                                               \
  X(ServerBusy, 41, "server_busy", "the provider is temporarily unavailable")                                         \
  X(ServerFault, 42, "server_fault", "the provider failed; it may or may not have acted")                             \
  X(ConnectFailed, 43, "connect_failed", "no connection to the provider")                                             \
  X(DnsFailed, 44, "dns_failed", "the provider's name could not be resolved")                                         \
  X(TlsFailed, 45, "tls_failed", "no trusted TLS connection to the provider")                                         \
  X(Timeout, 46, "timeout", "the provider did not answer in time")                                                    \
  X(ConnectionLost, 47, "connection_lost", "the connection broke before the answer came")                             \
  X(GarbageAnswer, 48, "garbage_answer", "the provider's answer could not be read")                                   \
  X(RequestRefused, 49, "request_refused", "the provider refused the request")                                        \
  X(InvalidRecipient, 50, "invalid_recipient", "the provider says the recipient does not exist or cannot be reached") \
  X(ProviderMisconfigured, 51, "provider_misconfigured", "our settings for the provider are wrong")                   \
  X(NodeLost, 52, "node_lost", "the node that was sending it stopped before the outcome was known")                   \
  X(Aborted, 53, "aborted", "stopped by us while the call was open")                                                  \
  X(RetriesUsedUp, 54, "retries_used_up", "all attempts failed")                                                      \
  X(UnclearNotRepeated, 55, "unclear_not_repeated", "it may have been sent, and must not be sent twice")              \
  X(UnclearReconcile, 56, "unclear_reconcile", "it may have been sent; the provider must be asked first")             \
  X(UnmappedAnswer, 57, "unmapped_answer", "the provider's answer is not one we know")                                \
  X(EndpointGone, 58, "endpoint_gone", "the endpoint is gone for good")                                               \
  X(ContentRefused, 59, "content_refused", "the provider refused the content")                                        \
  X(CallCapReached, 60, "call_cap_reached", "the hard limit of calls for one delivery is reached")                    \
  X(ShimFailure, 61, "shim_failure", "the shim was told to fail")                                                     \
  X(ForbiddenAddress, 62, "forbidden_address", "the address is an internal one and not allowed")                      \
  X(LateAnswer, 63, "late_answer", "the answer came after the lease had passed to another node")                      \
  X(TooLargeAnswer, 64, "too_large_answer", "the provider's answer was larger than allowed")                          \
  X(OptedOut, 70, "opted_out", "the contact does not want this")                                                      \
  X(SuppressedAddress, 71, "suppressed_address", "the address is on the suppression list")                            \
  X(QuietHours, 72, "quiet_hours", "quiet hours: it waits until they end")                                            \
  X(CancelledByCondition, 73, "cancelled_by_condition", "its record says that it is no longer wanted")                \
  X(CancelledWithEntity, 74, "cancelled_with_entity", "everything that waited about its entity was cancelled")        \
  X(UnknownContact, 75, "unknown_contact", "this contact is not known here")                                          \
  X(UnknownList, 76, "unknown_list", "this list is not known here")                                                   \
  X(ContextFailed, 77, "context_failed", "asking the application's database failed")                                  \
  X(ContextAmbiguous, 78, "context_ambiguous", "the application's database gave more than one row")                   \
  X(InvalidSchedule, 79, "invalid_schedule", "the date that it is scheduled by is not a date")                        \
  X(LimitedByRate, 80, "limited_by_rate", "it waits for a rate limit")                                                \
  X(LimitedByConcurrency, 81, "limited_by_concurrency", "it waits for a limit of open calls")                         \
  X(SecretMissing, 82, "secret_missing", "its sealed secret is gone or cannot be opened")                             \
  X(ResentByOperator, 83, "resent_by_operator", "sent again by an operator, beside the first one")

enum class Reason : std::uint8_t {
#define X(name, number, code, words) name = number,
  POSTRIDER_REASONS(X)
#undef X
};

std::string_view code_of(Reason reason);   // "no_recipient"
std::string_view words_of(Reason reason);  // "No recipient"
/// A message waits to be expanded again because of it.
bool is_failure_of_expansion(Reason reason);
std::optional<Reason> parse_reason(std::string_view code);
std::optional<Reason> reason_from(int number);

}  // namespace postrider
