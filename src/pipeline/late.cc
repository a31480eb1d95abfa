#include "pipeline/late.h"

namespace postrider {
namespace {

void blacken(std::string& text, const std::vector<std::string>& secrets) {
  for (const std::string& secret : secrets) {
    for (std::size_t at = 0; (at = text.find(secret, at)) != std::string::npos;) text.replace(at, secret.size(), "***");
  }
}

Reply blackened(Reply reply, const std::vector<std::string>& secrets) {
  if (auto* http = std::get_if<HttpReply>(&reply)) blacken(http->body, secrets);
  if (auto* mail = std::get_if<MailReply>(&reply)) blacken(mail->text, secrets);
  return reply;
}

}  // namespace

Outcome interpret_discreetly(const Provider& adapter, const Reply& reply, Instant now,
                             const std::vector<std::string>& secrets) {
  Outcome outcome = adapter.interpret(reply, now);
  if (secrets.empty()) return outcome;
  // Adapters keep the beginning of an answer. Where that ends inside a secret, nobody would know its first half.
  Outcome told = adapter.interpret(blackened(reply, secrets), now);
  outcome.detail = std::move(told.detail);
  outcome.provider_message_id = std::move(told.provider_message_id);
  for (std::string* text : {&outcome.detail, &outcome.provider_message_id}) blacken(*text, secrets);
  return outcome;
}

}  // namespace postrider
