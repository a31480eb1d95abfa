// One thread with one event loop and the pools of some providers. No Asio in this header.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "ports/clock.h"
#include "ports/transport.h"
#include "transport/resolver.h"

namespace postrider::net {

class Loop {
 public:
  Loop(std::map<ProviderId, Endpoint> endpoints, Transport::Sink sink, const Clock& clock, Lookup lookup);
  /// Ends what is left as Aborted, hands it to the sink, joins.
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  void start(std::vector<Call> calls);
  void abort(std::vector<CallId> ids);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace postrider::net
