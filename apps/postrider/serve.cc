#include <fmt/format.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <mutex>

#include "api/api.h"
#include "api/http/http_server.h"
#include "base/crypto.h"
#include "base/text.h"
#include "commands.h"
#include "demo_files.h"
#include "locale/icu_formatter.h"
#include "providers/registry.h"
#include "runtime/engine.h"
#include "runtime/log.h"
#include "runtime/metrics.h"
#include "seal/seal_folder.h"
#include "transport/net_transport.h"

namespace postrider::app {
namespace {

namespace fs = std::filesystem;
constexpr Duration kGrace =
    std::chrono::seconds{12};  // of the 15 s that a stop may take; the rest is for the last writes

/// The adapters of the configuration, and what the transport needs to know about each.
struct Providers {
  std::vector<std::unique_ptr<Provider>> owned = {};
  std::map<ProviderId, const Provider*> by_id = {};
  std::map<ProviderId, Endpoint> endpoints = {};
  std::vector<ProviderId> local = {};
};

Result<Providers> make_providers(const Config& config, const Rules& rules) {
  Providers out;
  for (const ProviderConfig& each : config.providers) {
    ProviderSettings settings = each.settings;
    if (settings.type == "shim") {
      for (const char* name : {"POSTRIDER_FAIL_ON", "NOTIFICATION_PROVIDER_RAISE_ON"}) {
        if (const char* fail_on = std::getenv(name)) settings.values["fail_on"] += "," + std::string{fail_on};
      }
    }
    const Adapter* adapter = find_adapter(settings.type);
    const ProviderRule* rule = rules.provider(settings.name);
    POSTRIDER_CHECK(adapter != nullptr && rule != nullptr);
    POSTRIDER_TRY(provider, adapter->make(settings));
    POSTRIDER_TRY(endpoint, adapter->endpoint(settings));
    if (!provider->card().leaves_process) out.local.push_back(rule->id);
    out.by_id.emplace(rule->id, provider.get());
    out.endpoints.emplace(rule->id, std::move(endpoint));
    out.owned.push_back(std::move(provider));
  }
  return out;
}

Result<Done> write_demo(const Common& common) {
  const std::string file = config_file_of(common);
  std::error_code ignored;
  if (fs::exists(file, ignored)) return Done{};
  fs::create_directories(fs::path{file}.parent_path(), ignored);
  return write_private_file(file, demo_files::k_demo);
}

// The key is shown nowhere but in this file; the store keeps only its hash.
Result<std::string> admin_key(const Common& common, StoreSession& session, const Rules& rules, Instant now) {
  const std::string file = (fs::path{home_of(common)} / "admin.key").string();
  if (auto kept = read_file(file)) {
    const std::string key{trim(*kept)};
    POSTRIDER_TRY(keys, session.keys());
    const std::string hash = to_hex(sha256(key));
    for (const ApiKey& known : keys) {
      if (known.hash == hash) return key;
    }
    // A kept key that this store does not know (a new database) is simply made known to it.
    POSTRIDER_TRY_DONE(
        session.add_key(now, {.name = "admin", .hash = hash, .tenant = rules.tenants.front().id, .role = Role::Admin}));
    return key;
  }
  const std::string key = "pr_" + to_hex(random_bytes(24));
  POSTRIDER_TRY_DONE(write_private_file(file, key + "\n"));
  POSTRIDER_TRY_DONE(session.add_key(
      now, {.name = "admin", .hash = to_hex(sha256(key)), .tenant = rules.tenants.front().id, .role = Role::Admin}));
  return key;
}

/// Everything that runs, in the order in which it must end.
class Service {
 public:
  Service(const Common& common, const ServeOptions& options) : common_(common), options_(options) {}

  Result<Done> prepare();
  Result<Done> start();
  void stop();
  void announce() const;
  [[nodiscard]] bool start_anew() const { return start_anew_.load(); }

 private:
  Result<Done> start_api();
  MetricsInput measure();

  const Common& common_;
  const ServeOptions& options_;
  Config config_;
  Roles roles_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<StoreSession> session_;  // for the start, and then for metrics
  mutable std::mutex metrics_mutex_;
  Rules rules_;
  Providers providers_;
  std::unique_ptr<SealFolder> seal_;
  std::unique_ptr<ContextSource> context_;  // when there are databases to ask
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Api> api_;
  std::unique_ptr<HttpServer> server_;
  std::string url_;
  std::atomic<bool> start_anew_{false};
};

Result<Done> Service::prepare() {
  if (options_.demo) POSTRIDER_TRY_DONE(write_demo(common_));
  POSTRIDER_TRY(config, read_config(common_));
  config_ = std::move(config);
  POSTRIDER_TRY(roles, parse_roles(options_.roles));
  roles_ = roles;
  const char* from_environment = std::getenv("POSTRIDER_LISTEN");
  const std::string listen =
      !options_.listen.empty() ? options_.listen : (from_environment != nullptr ? from_environment : "");
  if (!listen.empty()) {
    const auto parsed = parse_listen(listen);
    if (!parsed) return Error{ErrorCode::Invalid, fmt::format("--listen {}: {}", listen, parsed.error().text)};
    config_.http.host = parsed->host;
    config_.http.port = parsed->port;
  }
  POSTRIDER_TRY(store, open_store(common_, config_, WhereNone::MakeIt));
  store_ = std::move(store);
  const bool all = roles_.api && roles_.expand && roles_.send && roles_.maintain;
  if (store_->nodes() == Nodes::One && !all)
    log_warning("SQLite has one node: what the roles given do not do waits until a process is started that does it");
  POSTRIDER_TRY_DONE(store_->lock_for_serving());
  POSTRIDER_TRY_DONE(store_->migrate());
  POSTRIDER_TRY(session, store_->open_session());
  session_ = std::move(session);
  POSTRIDER_TRY(rules, rules_of(config_, *session_));
  rules_ = std::move(rules);
  POSTRIDER_TRY(providers, make_providers(config_, rules_));
  providers_ = std::move(providers);
  POSTRIDER_TRY(seal, SealFolder::open_folder(seal_folder_of(common_)));
  seal_ = std::move(seal);
  if (!config_.databases.empty()) context_ = make_context_source(context_databases(common_, config_));
  return Done{};
}

Result<Done> Service::start() {
  start_anew_.store(false);
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  Engine::Parts parts{
      .store = *store_,
      .rules = rules_,
      .providers = providers_.by_id,
      .make_transport =
          [this](Transport::Sink sink, const Clock& clock) {
            return std::unique_ptr<Transport>(
                std::make_unique<NetTransport>(providers_.endpoints, std::move(sink), clock));
          },
      .roles = roles_,
      .node_name = config_.node_name.empty() ? fmt::format("{}-{}", host.data(), ::getpid()) : config_.node_name,
      .context = context_.get(),
      .secrets = seal_.get(),
      .on_start_anew = [this] { start_anew_.store(true); }};
  POSTRIDER_TRY(engine, Engine::start(std::move(parts)));
  engine_ = std::move(engine);
  if (roles_.api) POSTRIDER_TRY_DONE(start_api());
  return Done{};
}

Result<Done> Service::start_api() {
  ApiParts parts{
      .rules = rules_,
      .clock = engine_->clock(),
      .store = *store_,
      .accept = [this](IntakeGroup group,
                       Intake::Answer answer) { engine_->intake().accept(std::move(group), std::move(answer)); },
      .work_appeared = [this](std::vector<QueueGroup> groups) { engine_->work_appeared(std::move(groups)); },
      .metrics = [this] { return metrics_text(measure()); },
      .metrics_lite = [this] { return metrics_lite_text(measure()); },
      .health =
          [this] {
            const EngineHealth health = engine_->health();
            return HealthView{health.store_reachable, health.last_error, health.living_nodes, health.node};
          },
      .ids = engine_->ids(),
      .local_providers = providers_.local,
      .seed = entropy(),
      .waits = [this] { return engine_->waits(); },
      .sealer = seal_.get(),
      .catalog_changed = [this] { engine_->catalog_changed(); },
      .is_locale = &is_known_locale};
  api_ = std::make_unique<Api>(std::move(parts));
  ServerOptions options;
  options.host = config_.http.host;
  options.port = config_.http.port;
  options.tls_certificate_file = config_.http.tls_certificate;
  options.tls_key_file = config_.http.tls_key;
  POSTRIDER_TRY(server, HttpServer::start(options, api_->handler()));
  server_ = std::move(server);
  const char* scheme = config_.http.tls_key.empty() ? "http" : "https";
  url_ =
      fmt::format("{}://{}:{}", scheme,
                  config_.http.host.find(':') == std::string::npos ? config_.http.host : "[" + config_.http.host + "]",
                  server_->port());
  return Done{};
}

MetricsInput Service::measure() {
  const std::lock_guard lock(metrics_mutex_);
  const auto stats = session_->stats(std::nullopt);
  return {.prefix = config_.metrics_prefix,
          .counts = engine_->counts(),
          .health = engine_->health(),
          .expanded = engine_->expanded(),
          .stats = stats ? *stats : QueueStats{},
          .stats_known = stats.has_value(),
          .now = engine_->clock().now(),
          .http_requests = api_->requests()};
}

void Service::stop() {
  if (server_) server_->stop(std::chrono::seconds{2});
  if (api_) api_->stop();
  if (engine_) engine_->stop(kGrace);
  server_.reset();
  api_.reset();
  engine_.reset();
}

void Service::announce() const {
  const std::lock_guard lock(metrics_mutex_);
  const auto key = admin_key(common_, *session_, rules_, engine_->clock().now());
  if (!key) log_error("the admin key: {}", key.error().text);
  if (!roles_.api) {
    fmt::print("postrider ready (roles {})\n", options_.roles);
    std::fflush(stdout);
    return;
  }
  fmt::print("postrider ready {}\n", url_);
  const std::string key_file = (fs::path{home_of(common_)} / "admin.key").string();
  fmt::print(
      "\nSend a first notification:\n"
      "  curl -s {0}/api/v1/messages -H \"Authorization: Bearer $(cat {1})\" -H 'Content-Type: application/json' "
      "-d "
      "'{{\"type\":\"booking.confirmed\",\"entity_id\":\"b-1\",\"payload\":{{\"bookingId\":\"b-1\",\"checkinDate\":"
      "\"2026-03-15\","
      "\"guest\":{{\"name\":\"Asha\",\"email\":\"asha@example.org\",\"phone\":\"+919876543210\"}}}}}}'\n"
      "\nSee what became of it:\n"
      "  curl -s {0}/api/v1/notifications -H \"Authorization: Bearer $(cat {1})\"\n\n",
      url_, key_file);
  std::fflush(stdout);
}

/// A woken thread waits until a processor is free or its running thread's turn ends, instead of breaking in; so work
/// gathers and is done in larger batches (docs/adr/0025-woken-threads-do-not-break-in.md). Where this is refused, all
/// works as usual.
void prefer_long_turns() {
  const sched_param ordinary{};
  static_cast<void>(::sched_setscheduler(0, SCHED_BATCH, &ordinary));
}

/// Every batch needs about as much memory as the one before. What it frees is kept for the next one instead of being
/// given back to the system, which would give it anew page by page.
void keep_freed_memory() {
  constexpr int kKept = 4 << 20;  // at the end of each arena
  ::mallopt(M_TRIM_THRESHOLD, kKept);
  ::mallopt(M_MMAP_THRESHOLD, kKept);
}

}  // namespace

int run_serve(const Common& common, const ServeOptions& options) {
  // Signals are taken by this thread alone; every other one is started with them blocked.
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  prefer_long_turns();
  keep_freed_memory();

  Service service{common, options};
  if (auto prepared = service.prepare(); !prepared) return fail(prepared.error());
  if (auto started = service.start(); !started) {
    service.stop();
    return fail(started.error());
  }
  service.announce();
  for (;;) {
    timespec wait{.tv_sec = 0, .tv_nsec = 100'000'000};
    const int signal = sigtimedwait(&signals, nullptr, &wait);
    if (signal == SIGTERM || signal == SIGINT) break;
    if (!service.start_anew()) continue;
    service.stop();
    while (!service.start()) {
      service.stop();
      const int stop = sigtimedwait(&signals, nullptr, &wait);
      if (stop == SIGTERM || stop == SIGINT) return 0;
    }
    log_info("started anew");
  }
  log_info("stopping");
  service.stop();
  log_info("stopped");
  return 0;
}

}  // namespace postrider::app
