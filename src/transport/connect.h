// From a host name to an open, checked and, where wanted, encrypted connection.
#pragma once
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "transport/connection.h"
#include "transport/resolver.h"

namespace postrider::net {

/// Addresses by name, remembered for a short while. Lives on the loop's thread; the lookups do not.
class Hosts {
 public:
  Hosts(asio::io_context& io, Lookup lookup) : io_(io), resolver_(std::move(lookup)) {}
  /// Ends early, with an error, when the connection is killed.
  Awaitable<Result<Addresses>> find(Connection& connection);

 private:
  struct Entry {
    std::optional<Result<Addresses>> answer;  // empty: being looked up
    Steady::time_point until{};
    std::vector<std::weak_ptr<Connection>> waiting;
  };
  void answered(const std::string& host, Result<Addresses> answer);
  void forget_old();

  asio::io_context& io_;
  std::unordered_map<std::string, Entry> entries_;
  Resolver resolver_;  // last: joined first, its threads post into what stands above
};

/// Empty: the connection is open. Otherwise nothing of the call has left.
Awaitable<std::optional<Broken>> open_connection(Connection& connection, Hosts& hosts);

/// Shared with STARTTLS: the pool's context, made at first use.
Awaitable<std::optional<Broken>> secure(Connection& connection);

}  // namespace postrider::net
