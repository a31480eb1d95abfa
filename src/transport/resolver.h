// Names to addresses by getaddrinfo, which blocks for seconds when a name server is dead: a few threads do it, and one
// provider's dead names never hold more than a part of them.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "transport/address_class.h"

namespace postrider::net {

using Addresses = std::vector<IpAddress>;
using Lookup = std::function<Result<Addresses>(const std::string& host)>;

/// getaddrinfo: addresses for TCP in the system's order, IPv6 scoped ones left out.
Result<Addresses> look_up(const std::string& host);

class Resolver {
 public:
  using Answer = std::function<void(Result<Addresses>)>;  // on one of the resolver's threads
  explicit Resolver(Lookup lookup);
  /// Joins: waits for the lookups that are running, drops those that are not.
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;
  void resolve(ProviderId provider, std::string host, Answer answer);

 private:
  struct Query {
    ProviderId provider = 0;
    std::string host;
    Answer answer;
  };
  void work();
  bool take(Query& query);  // under the lock

  Lookup lookup_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Query> waiting_;
  std::map<ProviderId, int> running_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace postrider::net
