// An Api over a real store in a folder of its own, without threads of the engine: what the stages would do is done here
// by verbs, when a test says so.
#pragma once
#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/api.h"
#include "api/auth.h"
#include "base/json.h"
#include "ports/clock.h"

namespace postrider::testing {

class SetClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return instant_from_us(us_); }
  void advance(Duration by) { us_ += by.count(); }

 private:
  std::atomic<std::int64_t> us_{1'772'000'000'000'000};  // 2026-02-25
};

/// The store, and a way to take it away. What the Api's sessions ask for is counted.
class Gate final : public Store {
 public:
  explicit Gate(std::unique_ptr<Store> store) : store_(std::move(store)) {}
  std::atomic<bool> away{false};
  std::atomic<int> sessions{0};

  Result<std::unique_ptr<StoreSession>> open_session() override {
    if (away) return Error{ErrorCode::Unavailable, "password=hunter2 host=db.internal: connection refused"};
    ++sessions;
    return store_->open_session();
  }
  Result<Done> migrate() override { return store_->migrate(); }
  Result<SchemaVersion> schema_version() override { return store_->schema_version(); }
  Result<Done> lock_for_serving() override { return store_->lock_for_serving(); }
  [[nodiscard]] Nodes nodes() const override { return store_->nodes(); }

 private:
  std::unique_ptr<Store> store_;
};

struct Sent {  // a request
  std::string method = "GET";
  std::string path = {};
  std::string key = {};  // empty: none
  std::string body = {};
  std::vector<Header> headers = {};
  std::string peer = "192.0.2.7";
};
struct Answer {
  int status = 0;
  std::string content_type = {};
  std::vector<Header> headers = {};
  std::string body = {};
  [[nodiscard]] std::string header(std::string_view name) const;
  /// What stands at a dotted path ("error.code", "deliveries.0.state"), as spoken; "<none>" when nothing does.
  [[nodiscard]] std::string at(std::string_view path) const;
  [[nodiscard]] std::string code() const { return at("error.code"); }
};

/// Seals by writing the text backwards behind a box's worth of dots, and remembers what it was given.
class FakeSealer final : public SecretSealer {
 public:
  bool has_key = true;
  std::vector<std::string> given = {};

  Result<SealingKey> sealing_key() override {
    if (!has_key) return Error{ErrorCode::NotFound, "no key"};
    return SealingKey{"1a2b3c4d", "cHVibGlj"};
  }
  Result<std::string> seal(std::string_view plaintext) override;
};

class World {
 public:
  World();
  ~World();

  Answer send(Sent request);
  Answer get(std::string_view path, std::string_view key);
  Answer put(std::string_view path, std::string_view key, std::string_view json);
  Answer remove(std::string_view path, std::string_view key);
  Answer post(std::string_view path, std::string_view key, std::string_view json, std::vector<Header> headers = {});
  /// PUT, POST or DELETE.
  Answer change(std::string_view method, std::string_view path, std::string_view key, std::string_view json = {});
  /// Posts one message and expects 202; its id.
  std::string accepted(std::string_view json, std::string_view key = {});

  /// Keys of the tenant "acme", of "globex", and one for all.
  std::string key(Role role) const { return keys_.at({role, "acme"}); }
  std::string foreign_key(Role role) const { return keys_.at({role, "globex"}); }

  /// Everything in the outbox becomes messages and deliveries; expand work too.
  void expand();
  /// Claims what is due in the standard lane's e-mail.
  void begin_calls();
  /// Ends each call that was begun so; begins them first where none was.
  void call_ends(OutcomeKind outcome, Reason reason, Verdict verdict, std::string excerpt = {});
  void promote();
  /// Who did what and why, oldest first: "acme-operator retry: the provider is back".
  std::vector<std::string> audit();
  std::size_t stored();  // messages in the outbox or behind it, of all tenants

  SetClock clock;
  std::unique_ptr<Gate> store;
  std::unique_ptr<StoreSession> session;
  Rules rules;
  HealthView health{.store_reachable = true, .living_nodes = 1, .node = 7};
  std::optional<Error> accept_fails = {};
  FakeSealer sealer;
  std::vector<QueueGroup> appeared;
  std::atomic<int> catalog_changes{0};
  ProviderId sandbox = 0;
  std::optional<Api> api;

 private:
  void make_rules();
  void make_keys();

  std::filesystem::path folder_;
  IdSource ids_{1};
  NodeId node_ = 0;
  std::vector<Claim> begun_;
  std::map<std::pair<Role, std::string>, std::string> keys_;
};

}  // namespace postrider::testing
