#include "transport/net_transport.h"

#include <algorithm>

#include "transport/loop.h"

namespace postrider {
namespace {

std::size_t loop_index(ProviderId provider, std::size_t loops) { return static_cast<std::uint16_t>(provider) % loops; }

}  // namespace

NetTransport::NetTransport(const std::map<ProviderId, Endpoint>& endpoints, Sink sink, const Clock& clock,
                           const NetTransportOptions& options) {
  const auto threads = static_cast<std::size_t>(std::max(1, options.threads));
  for (std::size_t i = 0; i < threads; ++i) {
    std::map<ProviderId, Endpoint> part;
    for (const auto& [id, endpoint] : endpoints) {
      if (loop_index(id, threads) == i) part.emplace(id, endpoint);
    }
    loops_.push_back(std::make_unique<net::Loop>(std::move(part), sink, clock, options.lookup));
  }
}

NetTransport::~NetTransport() = default;

net::Loop& NetTransport::loop_of(ProviderId provider) { return *loops_[loop_index(provider, loops_.size())]; }

void NetTransport::start(std::vector<Call> calls) {
  if (loops_.size() == 1) return loops_.front()->start(std::move(calls));
  std::map<net::Loop*, std::vector<Call>> parts;
  for (Call& call : calls) parts[&loop_of(call.provider)].push_back(std::move(call));
  for (auto& [loop, part] : parts) loop->start(std::move(part));
}

void NetTransport::abort(std::vector<CallId> ids) {
  for (const auto& loop : loops_) loop->abort(ids);  // Whose it is not ignores it.
}

}  // namespace postrider
