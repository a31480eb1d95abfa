// The client's side of HTTP: whatever a provider answers, the call ends once; an answer is the same however its bytes
// were cut; only a complete one keeps the connection; and what the adapter makes of it can be stored and shown.
#include <boost/asio/co_spawn.hpp>

#include "base/json.h"
#include "base/limits.h"
#include "base/text.h"
#include "fuzz/input.h"
#include "fuzz/socket_pair.h"
#include "providers/registry.h"
#include "transport/connection.h"

namespace postrider::net {
namespace {

using fuzz::Cut;

struct Ended {
  Exchange exchange = {};
  bool bytes_left = false;  // came before the end of the call and are not part of the answer
};

Ended exchange(std::string_view bytes, const std::string& method, Cut how) {
  static asio::io_context io{1};
  fuzz::SocketPair sockets;
  Pool pool{1, Endpoint{}};
  Job job;
  job.call.request = HttpRequest{.method = method, .url = "http://example.org/"};
  job.head = method + " / HTTP/1.1\r\nHost: example.org\r\n\r\n";
  const auto connection = std::make_shared<Connection>(io, pool, Target{});
  connection->stream.socket() = sockets.theirs(io);
  connection->job = &job;
  std::optional<Ended> ended;
  asio::co_spawn(io.get_executor(), http_exchange(*connection, job), [&](const std::exception_ptr& failed, Exchange e) {
    POSTRIDER_CHECK(failed == nullptr && !ended);
    ended = Ended{std::move(e), !connection->in.view().empty()};
  });
  const auto turn = [&] {
    io.restart();
    return io.poll() > 0;
  };
  turn();
  POSTRIDER_CHECK(sockets.read() == job.head);
  for (std::string_view piece : fuzz::cut(bytes, how)) {
    while (!piece.empty() && !ended) {
      piece.remove_prefix(sockets.write(piece));
      turn();
    }
  }
  sockets.write_eof();
  while (turn()) {
  }
  POSTRIDER_CHECK(ended.has_value());
  return std::move(*ended);
}

void check_outcome(const Reply& reply) {
  static const auto webhook = find_adapter("webhook")->make({.name = "hook", .type = "webhook"}).value();
  const Outcome outcome = webhook->interpret(reply, instant_from_us(1'772'000'000'000'000));
  const auto* http = std::get_if<HttpReply>(&reply);
  POSTRIDER_CHECK((outcome.kind == OutcomeKind::Accepted) == (http != nullptr && http->status / 100 == 2));
  POSTRIDER_CHECK(is_utf8(outcome.detail) && outcome.detail.size() <= kExcerptBytesMax);
  POSTRIDER_CHECK(is_utf8(outcome.provider_message_id) && outcome.provider_message_id.size() <= kTextFieldBytesMax);
  if (outcome.retry_after) {
    POSTRIDER_CHECK(*outcome.retry_after >= Duration{0} && *outcome.retry_after <= std::chrono::hours{24});
  }
}

void check_same(const HttpReply& a, const HttpReply& b) {
  POSTRIDER_CHECK(a.status == b.status && a.headers == b.headers && a.body == b.body);
}

void run(fuzz::Input input) {
  const std::string method = input.byte() % 4 == 1 ? "HEAD" : "POST";
  const Ended whole = exchange(input.rest(), method, Cut::Whole);
  const Ended pieces = exchange(input.rest(), method, Cut::Pieces);
  for (const Ended* ended : {&whole, &pieces}) {
    const auto* reply = std::get_if<HttpReply>(&ended->exchange.reply);
    if (reply != nullptr) {
      POSTRIDER_CHECK(reply->status >= 200 && reply->body.size() <= kReplyBodyBytesMax);
      POSTRIDER_CHECK(method != "HEAD" || reply->body.empty());
      for (const auto& [name, value] : reply->headers) {
        POSTRIDER_CHECK(!name.empty() && name == lower(name) && value.find_first_of("\r\n") == std::string::npos);
      }
    }
    POSTRIDER_CHECK(ended->exchange.then != Exchange::Then::RepeatFresh);  // The request had left.
    if (ended->exchange.then == Exchange::Then::Keep) POSTRIDER_CHECK(reply != nullptr && !ended->bytes_left);
    check_outcome(ended->exchange.reply);
  }
  // Bytes behind an answer make it garbage when they came with it; when they came later they are the next call's
  // matter.
  if (const auto* answered = std::get_if<HttpReply>(&whole.exchange.reply)) {
    const auto* again = std::get_if<HttpReply>(&pieces.exchange.reply);
    POSTRIDER_CHECK(again != nullptr);
    check_same(*answered, *again);
  } else if (const auto* broken_again = std::get_if<Broken>(&pieces.exchange.reply)) {
    POSTRIDER_CHECK(broken_again->by == std::get<Broken>(whole.exchange.reply).by);
  } else {
    POSTRIDER_CHECK(std::get<Broken>(whole.exchange.reply).detail == "bytes behind the answer");
  }
}

}  // namespace
}  // namespace postrider::net

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  postrider::net::run({data, size});
  return 0;
}
