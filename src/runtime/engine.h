// The stages on real threads: each has its own store session, and only batches pass between them.
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "pipeline/dispatch.h"
#include "pipeline/expand.h"
#include "pipeline/maintain.h"
#include "pipeline/prepare.h"
#include "pipeline/refused.h"
#include "ports/context.h"
#include "ports/transport.h"
#include "runtime/clock.h"
#include "runtime/intake.h"
#include "runtime/mailbox.h"

namespace postrider {

struct Roles {
  bool api = true, expand = true, send = true, maintain = true;
};
/// "api,expand,send,maintain" or any part of it.
Result<Roles> parse_roles(std::string_view text);

struct EngineHealth {
  bool store_reachable = false;
  std::string last_error = {};
  int living_nodes = 0;
  NodeId node = 0;
};

class Engine {
 public:
  struct Parts {
    Store& store;
    const Rules& rules;
    const std::map<ProviderId, const Provider*>& providers;
    std::function<std::unique_ptr<Transport>(Transport::Sink, const Clock&)> make_transport;
    Roles roles = {};
    std::string node_name = {};
    ContextSource* context = nullptr;             // null: no route asks for records
    SecretOpener* secrets = nullptr;              // null: no key is here
    std::function<void()> on_start_anew = [] {};  // stop this engine and start another one, with a new node
  };
  static Result<std::unique_ptr<Engine>> start(Parts parts);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Stops claiming, gives back what was not begun, waits for open calls up to `grace`, writes everything, leaves.
  /// Idempotent.
  void stop(Duration grace);

  [[nodiscard]] const Clock& clock() const { return clock_; }
  Intake& intake() { return *intake_; }
  IdSource& ids() { return *ids_; }
  /// Work appeared by another way than expanding (an operator's retry).
  void work_appeared(std::vector<QueueGroup> groups);
  /// Stored templates changed: they are read again before the next message.
  void catalog_changed() {
    catalog_changed_.store(true);
    late_catalog_changed_.store(true);
  }
  void outbox_filled() { expand_bell_.ring(); }
  [[nodiscard]] DispatchCounts counts() const;
  /// What waits because of a rate or of a limit of open calls, and which.
  [[nodiscard]] std::vector<LimitWait> waits() const;
  [[nodiscard]] EngineHealth health() const;
  [[nodiscard]] std::uint64_t expanded() const { return expanded_.load(std::memory_order_relaxed); }

 private:
  struct StoreJob {
    std::optional<ClaimRequest> claim = {};
    std::optional<Look> look = {};
  };
  struct WriteJob {
    std::shared_ptr<const std::vector<Completion>> record = {};
    std::vector<Lease> release = {};
  };

  explicit Engine(Parts parts);
  Result<Done> begin();
  Result<std::unique_ptr<StoreSession>> session();
  void run_dispatch();
  void run_claims(StoreSession& session);
  RefusedDeliveries refused_among(StoreSession& session, RefusedCheck& check, std::span<const Claim> claims);
  void run_records(StoreSession& session);
  void run_expand(StoreSession& session);
  void run_expand_work(StoreSession& session);
  void run_prepare(StoreSession& session);
  void run_heartbeat(StoreSession& session);
  void run_maintain(StoreSession& session);
  void keep(StoreSession& session, MaintainDuties duties);
  void hand_on(ExpandReport& report);
  void carry_out(std::vector<DispatchEffect> effects);
  void note_error(std::string_view where, const Error& error);
  void note_success();
  void lost_track(std::string_view of);
  template <class Run>
  Result<Done> launch(const char* name, Run run);

  Parts parts_;
  DatabaseClock clock_;
  std::optional<IdSource> ids_;
  NodeLease lease_;
  Places places_;
  std::unique_ptr<Dispatcher> dispatcher_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<Intake> intake_;
  Mailbox<DispatchEvent> events_;
  Mailbox<StoreJob> claims_;
  Mailbox<WriteJob> writes_;
  Mailbox<std::vector<LateJob>> late_;
  Bell expand_bell_;
  Bell work_bell_;
  std::vector<std::unique_ptr<StoreSession>> sessions_;
  std::vector<std::thread> threads_;
  std::thread dispatch_thread_;
  std::atomic<bool> stopping_{false};      // no new work
  std::atomic<bool> workers_stop_{false};  // the threads end
  std::atomic<bool> drained_{false};
  std::atomic<bool> starting_anew_{false};
  std::atomic<bool> catalog_changed_{false};
  std::atomic<bool> late_catalog_changed_{false};
  std::atomic<bool> heads_asked_{false};  // one look at a time, however slow the store is
  std::atomic<Duration> heads_took_{Duration{}};
  std::atomic<std::uint64_t> expanded_{0};
  mutable std::mutex state_mutex_;
  DispatchCounts counts_;
  std::vector<LimitWait> waits_;
  EngineHealth health_;
  Instant last_error_logged_ = {};
};

}  // namespace postrider
