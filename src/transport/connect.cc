#include "transport/connect.h"

#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>

#include "base/fault.h"

namespace postrider::net {
namespace {

constexpr auto kRememberFound = std::chrono::seconds{30};
constexpr auto kRememberFailed = std::chrono::seconds{1};
constexpr std::size_t kHostsMax = 4096;
constexpr std::size_t kAddressesTriedMax = 4;

Broken nothing_left(const Connection& c, BrokenBy by, std::string detail) {
  return broken(c, BrokenAt::Nothing, by, std::move(detail));
}

asio::ip::tcp::endpoint to_endpoint(const IpAddress& address, std::uint16_t port) {
  if (!address.is_v6) {
    asio::ip::address_v4::bytes_type bytes{};
    std::copy_n(address.bytes.begin(), bytes.size(), bytes.begin());
    return {asio::ip::address_v4{bytes}, port};
  }
  return {asio::ip::address_v6{address.bytes}, port};
}

Awaitable<std::optional<Broken>> connect_one_of(Connection& c, const Addresses& addresses) {
  std::string why = "no address";
  const std::size_t tries = std::min(addresses.size(), kAddressesTriedMax);
  for (std::size_t i = 0; i < tries; ++i) {
    if (c.killed_by) co_return nothing_left(c, BrokenBy::Connect, {});  // Before it opens a socket that nobody closes.
    // Each address has its share of the time that is left, so that one black hole does not use it all.
    const auto now = Steady::now();
    c.attempt_until = now + (c.job->deadline - now) / static_cast<int>(tries - i);
    if (tries - i == 1) c.attempt_until = Steady::time_point::max();
    const auto endpoint = to_endpoint(addresses[i], c.target.port);
    error_code error;
    POSTRIDER_FAULT_POINT("before_connect");
    c.stream.socket().open(endpoint.protocol(), error);
    if (!error) {
      const auto [connect_error] = co_await c.stream.socket().async_connect(endpoint, kToken);
      error = connect_error;
    }
    c.attempt_until = Steady::time_point::max();
    if (!error && !c.killed_by) {
      error_code ignored;
      c.stream.socket().set_option(asio::ip::tcp::no_delay{true}, ignored);
      POSTRIDER_FAULT_POINT("after_connect");
      co_return std::nullopt;
    }
    why = error.message();
    c.stream.close();
  }
  co_return nothing_left(c, BrokenBy::Connect, why);
}

}  // namespace

Awaitable<Result<Addresses>> Hosts::find(Connection& connection) {
  const std::string& host = connection.target.host;
  if (const auto literal = parse_ip(host)) co_return Addresses{*literal};
  if (connection.killed_by) co_return Error{ErrorCode::Cancelled, "stopped"};
  const auto now = Steady::now();
  forget_old();
  Entry& entry = entries_[host];
  if (entry.answer && entry.until > now) co_return *entry.answer;
  if (entry.answer || entry.waiting.empty()) {
    entry.answer.reset();
    resolver_.resolve(connection.pool.id, host, [this, host](Result<Addresses> answer) {
      asio::post(io_, [this, host, held = std::move(answer)]() mutable { answered(host, std::move(held)); });
    });
  }
  entry.waiting.push_back(connection.weak_from_this());
  connection.event.expires_at(Steady::time_point::max());
  (void)co_await connection.event.async_wait(kToken);
  // The map may have moved its entries while we waited; the one we wait for is still there.
  const auto it = entries_.find(host);
  if (connection.killed_by || it == entries_.end() || !it->second.answer) {
    co_return Error{ErrorCode::Cancelled, "the lookup did not end in time"};
  }
  co_return *it->second.answer;
}

void Hosts::answered(const std::string& host, Result<Addresses> answer) {
  Entry& entry = entries_[host];
  entry.until = Steady::now() + (answer ? Steady::duration{kRememberFound} : Steady::duration{kRememberFailed});
  entry.answer = std::move(answer);
  for (const auto& waiting : std::exchange(entry.waiting, {})) {
    if (const auto connection = waiting.lock()) connection->event.cancel();
  }
}

void Hosts::forget_old() {
  if (entries_.size() < kHostsMax) return;
  const auto now = Steady::now();
  std::erase_if(entries_, [&](const auto& item) { return item.second.answer && item.second.until <= now; });
}

Awaitable<std::optional<Broken>> open_connection(Connection& c, Hosts& hosts) {
  Result<Addresses> found = co_await hosts.find(c);
  if (!found) co_return nothing_left(c, BrokenBy::Dns, found.error().text);
  Addresses allowed;
  std::string refused;
  for (const IpAddress& address : *found) {
    const AddressClass is = classify(address);
    if (is == AddressClass::Public || c.pool.endpoint.internal == InternalAddresses::Allowed) {
      allowed.push_back(address);
    } else {
      refused = format_ip(address) + " is " + std::string{to_text(is)};
    }
  }
  if (allowed.empty()) co_return nothing_left(c, BrokenBy::Forbidden, refused);
  if (auto failed = co_await connect_one_of(c, allowed)) co_return failed;
  const bool tls_first = c.target.protocol == Protocol::Https ||
                         (c.target.protocol == Protocol::Smtp && c.pool.endpoint.smtp_tls == TlsMode::Implicit);
  if (!tls_first) co_return std::nullopt;
  co_return co_await secure(c);
}

Awaitable<std::optional<Broken>> secure(Connection& c) {
  std::string why;
  if (!c.pool.tls) c.pool.tls = make_client_tls(c.pool.endpoint.ca_file, why);
  if (c.pool.tls) {
    std::string failed = co_await c.stream.handshake(*c.pool.tls, TlsSide::Client, c.target.host);
    why = std::move(failed);
  }
  if (why.empty() && !c.killed_by) co_return std::nullopt;
  co_return nothing_left(c, BrokenBy::Tls, why);
}

}  // namespace postrider::net
