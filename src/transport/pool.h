// One provider's calls and connections: who waits, who goes next, which open connection can take it. No sockets here.
#pragma once
#include <array>
#include <chrono>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "ports/transport.h"
#include "transport/url.h"

namespace boost::asio::ssl {
class context;
}

namespace postrider::net {

struct Connection;
using Steady = std::chrono::steady_clock;

enum class Protocol : std::uint8_t { Http, Https, Smtp };

/// Where a call goes; connections are shared between calls of the same key.
struct Target {
  Protocol protocol = Protocol::Http;
  std::string host;
  std::uint16_t port = 0;
  std::string key;
};

struct Job {
  Call call;
  std::shared_ptr<const Target> target;
  std::string head;  // HTTP: what precedes the body
  Instant started_at{};
  Steady::time_point deadline{};
  std::size_t written = 0;           // HTTP: of head and body, given to the kernel
  bool retried = false;              // a kept connection had died: the one repeat is used up
  Connection* connection = nullptr;  // null: waiting
};
using Jobs = std::list<Job>;  // a job is moved between lists, never copied: pointers to it stay good

class Pool {
 public:
  Pool(ProviderId id, Endpoint endpoint);

  /// Whoever starts the calls has decided in which order standard and bulk go; only priority overtakes.
  Jobs& waiting(Lane lane) { return lane == Lane::Priority ? waiting_priority_ : waiting_others_; }
  Jobs& running() { return running_; }
  /// The next call that may have a connection now, moved to the running ones; null when nobody may.
  Job* take_next();
  /// Only a call to `key`, and only when it is its turn.
  Job* take_next_for(const std::string& key);
  /// A call of this lane gave its connection back.
  void release(Lane lane) {
    --busy_;
    if (lane != Lane::Priority) --busy_others_;
  }

  /// The most recently used idle connection to `key`, no longer idle; null when there is none.
  Connection* take_idle(const std::string& key);
  Connection* take_oldest_idle();
  void put_idle(Connection& connection) { idle_.push_back(&connection); }
  void forget_idle(const Connection& connection);

  const ProviderId id;
  const Endpoint endpoint;
  int open = 0;  // connections, idle and connecting ones too
  [[nodiscard]] int connections_max() const { return connections_max_; }
  std::shared_ptr<boost::asio::ssl::context> tls;  // made at first use

  /// The address of the last call, read already: a provider is mostly called at one.
  struct Read {
    std::string text;
    Url url;
    std::shared_ptr<const Target> target;
  } last_url;

 private:
  Jobs* next_lane();

  int connections_max_;
  int connections_for_all_;  // what bulk and standard calls may fill
  int busy_ = 0;
  int busy_others_ = 0;  // of these, not of the priority lane
  Jobs waiting_priority_;
  Jobs waiting_others_;
  Jobs running_;
  std::vector<Connection*> idle_;  // the oldest first
};

}  // namespace postrider::net
