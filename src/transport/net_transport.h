// The real network: pooled keep-alive HTTP/1.1 and HTTPS, and SMTP. Redirects are never followed, internal addresses
// are refused unless the endpoint allows them, and every call has one deadline for everything.
#pragma once
#include <map>
#include <memory>
#include <vector>

#include "ports/clock.h"
#include "ports/transport.h"
#include "transport/resolver.h"

namespace postrider {

namespace net {
class Loop;
}

struct NetTransportOptions {
  int threads = 1;                    // each provider's connections live on one of them
  net::Lookup lookup = net::look_up;  // called on threads of its own
};

class NetTransport final : public Transport {
 public:
  NetTransport(const std::map<ProviderId, Endpoint>& endpoints, Sink sink, const Clock& clock,
               const NetTransportOptions& options = {});
  /// Ends all calls as Aborted, the sink still sees them; then joins. A running name lookup is waited for.
  ~NetTransport() override;
  void start(std::vector<Call> calls) override;
  void abort(std::vector<CallId> ids) override;

 private:
  [[nodiscard]] net::Loop& loop_of(ProviderId provider);
  std::vector<std::unique_ptr<net::Loop>> loops_;
};

}  // namespace postrider
