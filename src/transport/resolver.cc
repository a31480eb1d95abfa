#include "transport/resolver.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/thread_name.h"

namespace postrider::net {
namespace {

constexpr int kThreads = 4;
constexpr int kThreadsPerProviderMax = 2;

}  // namespace

Result<Addresses> look_up(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (const int error = getaddrinfo(host.c_str(), nullptr, &hints, &list); error != 0) {
    return Error{ErrorCode::Unavailable, gai_strerror(error)};
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> held{list, &freeaddrinfo};
  Addresses found;
  for (const addrinfo* at = list; at != nullptr; at = at->ai_next) {
    IpAddress address;
    if (at->ai_family == AF_INET) {
      sockaddr_in in{};
      std::memcpy(&in, at->ai_addr, sizeof in);
      std::memcpy(address.bytes.data(), &in.sin_addr, 4);
    } else if (at->ai_family == AF_INET6) {
      sockaddr_in6 in{};
      std::memcpy(&in, at->ai_addr, sizeof in);
      if (in.sin6_scope_id != 0) continue;
      address.is_v6 = true;
      std::memcpy(address.bytes.data(), &in.sin6_addr, 16);
    } else {
      continue;
    }
    if (std::find(found.begin(), found.end(), address) == found.end()) found.push_back(address);
  }
  if (found.empty()) return Error{ErrorCode::NotFound, "no address"};
  return found;
}

Resolver::Resolver(Lookup lookup) : lookup_(std::move(lookup)) {
  for (int i = 0; i < kThreads; ++i)
    threads_.emplace_back([this] {
      name_thread("resolver");
      work();
    });
}

Resolver::~Resolver() {
  {
    const std::lock_guard lock{mutex_};
    stopping_ = true;
    waiting_.clear();
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Resolver::resolve(ProviderId provider, std::string host, Answer answer) {
  {
    const std::lock_guard lock{mutex_};
    waiting_.push_back({provider, std::move(host), std::move(answer)});
  }
  changed_.notify_one();
}

bool Resolver::take(Query& query) {
  for (auto it = waiting_.begin(); it != waiting_.end(); ++it) {
    int& running = running_[it->provider];
    if (running >= kThreadsPerProviderMax) continue;
    ++running;
    query = std::move(*it);
    waiting_.erase(it);
    return true;
  }
  return false;
}

void Resolver::work() {
  std::unique_lock lock{mutex_};
  for (;;) {
    Query query;
    changed_.wait(lock, [&] { return stopping_ || take(query); });
    if (stopping_) return;
    lock.unlock();
    query.answer(lookup_(query.host));
    query.answer = nullptr;  // What it holds must not be let go under the lock.
    lock.lock();
    --running_[query.provider];
    changed_.notify_one();  // Somebody may have been left standing by the limit of this provider.
  }
}

}  // namespace postrider::net
