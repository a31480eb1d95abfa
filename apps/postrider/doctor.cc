#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "base/json.h"
#include "commands.h"
#include "pipeline/catalog.h"
#include "runtime/clock.h"
#include "store/sqlite/sqlite_store.h"

namespace postrider::app {
namespace {

struct Finding {
  std::string what;
  bool good = true;
  std::string say;
  std::string do_this = {};
};

class Doctor {
 public:
  explicit Doctor(const Common& common) : common_(common) {}

  std::vector<Finding> examine() {
    if (look_at_config() && look_at_store()) {
      look_at_clock();
      look_at_templates();
      look_at_rules();
      look_at_databases();
      look_at_work();
    }
    return std::move(findings_);
  }

 private:
  bool note(std::string what, bool good, std::string say, std::string do_this = "") {
    findings_.push_back({std::move(what), good, std::move(say), std::move(do_this)});
    return good;
  }

  bool look_at_config() {
    auto config = read_config(common_);
    if (!config)
      return note("configuration", false, config.error().text, "mend the file and run `postrider config check`");
    config_ = std::move(*config);
    return note("configuration", true, config_.file.empty() ? "no file, built-in defaults" : config_.file);
  }

  bool look_at_store() {
    auto store = open_store(common_, config_, WhereNone::SaySo);
    if (!store)
      return note("store", false, store.error().text, "check that the database runs and that store.url is right");
    store_ = std::move(*store);
    if (auto* file = dynamic_cast<sqlite::SqliteStore*>(store_.get())) {
      if (auto sound = file->check(); !sound)
        return note("store", false, sound.error().text, "stop the engine and restore the file from a backup");
    }
    note("store", true, "can be reached");
    const auto version = store_->schema_version();
    if (!version) return note("migrations", false, version.error().text);
    if (version->found != version->wanted) {
      return note("migrations", false,
                  fmt::format("the tables are of version {}, this program needs {}", version->found, version->wanted),
                  "run `postrider migrate`");
    }
    note("migrations", true, fmt::format("version {}", version->found));
    auto session = store_->open_session();
    if (!session) return note("store", false, session.error().text);
    session_ = std::move(*session);
    return true;
  }

  void look_at_clock() {
    const auto database = session_->database_now();
    if (!database) {
      note("clock", false, database.error().text);
      return;
    }
    const auto apart = std::chrono::duration_cast<std::chrono::milliseconds>(system_now() - *database).count();
    note("clock", std::llabs(apart) < 2000, fmt::format("this machine and the database are {} ms apart", apart),
         "set the clocks by NTP (Postrider itself goes by the database's)");
  }

  void look_at_rules() {
    for (const Route& route : config_.routes) {
      bool any = false;
      for (const Known& each : templates_) any = any || (each.type == route.type && each.active);
      // A webhook needs no template: it gets the event itself.
      for (const RecipientSource& source : route.recipients) any = any || source.channel == Channel::Webhook;
      for (const ProviderConfig& provider : config_.providers) any = any || provider.settings.values.count("url") != 0;
      if (!any)
        note("templates", false, fmt::format("the route for {} has no template", route.type),
             "make one (`postrider templates apply`), or add [[templates]] for it");
    }
    for (const Known& each : templates_) {
      bool served = false;
      for (const ChainConfig& chain : config_.chains) served = served || chain.channel == each.channel;
      for (const TenantConfig& tenant : config_.tenants) {
        for (const ChainConfig& chain : tenant.chains) served = served || chain.channel == each.channel;
      }
      if (!served) {
        note("providers", false,
             fmt::format("no provider serves {}, which template {} needs", to_text(each.channel), each.key),
             fmt::format("add it to [channels], for example {} = [\"…\"]", to_text(each.channel)));
      }
    }
    note("providers", true, fmt::format("{} configured", config_.providers.size()));
  }

  // As the engine would read them: one that it cannot use is left out there, and found here.
  void look_at_templates() {
    auto rules = rules_of(config_, *session_);
    if (!rules) {
      note("templates", false, rules.error().text, "mend the file and run `postrider config check`");
      return;
    }
    rules_ = std::move(*rules);
    Catalog catalog{rules_};
    if (const auto read = catalog.refresh(*session_); !read) {
      note("templates", false, read.error().text);
      return;
    }
    for (const std::string& problem : catalog.problems()) {
      note("templates", false, fmt::format("stored {}", problem),
           "correct it (PUT /api/v1/templates/{id}, or `postrider templates apply`)");
    }
    for (const Template& each : catalog.templates().all())
      templates_.push_back({each.key, each.type, each.channel, each.active});
    note("templates", true, fmt::format("{} can be used", templates_.size()));
  }

  void look_at_databases() {
    for (const ContextDatabase& database : context_databases(common_, config_)) {
      std::vector<ContextSql> queries;
      for (const Route& route : config_.routes) {
        if (route.context && route.context->database == database.name) queries.push_back(route.context->sql);
      }
      const std::string what = "database " + database.name;
      const auto checked = check_context_database(database, queries);
      if (!checked) {
        note(what, false, checked.error().text,
             "check that it runs, that its url is right, and the queries of its routes");
        continue;
      }
      note(what, true, fmt::format("answers, and takes the queries of {} routes", queries.size()));
    }
  }

  void look_at_work() {
    const auto stats = session_->stats(std::nullopt);
    if (!stats) {
      note("work", false, stats.error().text);
      return;
    }
    const auto now = session_->database_now();
    const bool stuck =
        stats->oldest && now && *now - *stats->oldest > std::chrono::minutes{10} && stats->outbox + stats->queued > 0;
    note("work", !stuck,
         fmt::format("{} waiting to be expanded, {} queued, {} sending, {} retrying, {} parked{}", stats->outbox,
                     stats->queued, stats->sending, stats->retrying, stats->parked,
                     stats->oldest ? ", oldest since " + format_instant(*stats->oldest) : ""),
         "is `postrider serve` running? `postrider list --state queued` shows what waits");
    if (stats->parked > 0) {
      note("parked", false, fmt::format("{} deliveries are parked and wait for you", stats->parked),
           "`postrider list --state parked`, then retry or discard");
    }
  }

  const Common& common_;
  struct Known {
    std::string key;
    std::string type;
    Channel channel;
    bool active;
  };

  Config config_;
  Rules rules_;
  std::vector<Known> templates_;  // of the store and of the configuration file
  std::unique_ptr<Store> store_;
  std::unique_ptr<StoreSession> session_;
  std::vector<Finding> findings_;
};

}  // namespace

int run_doctor(const Common& common) {
  bool good = true;
  JsonWriter json;
  json.begin_array();
  for (const Finding& finding : Doctor{common}.examine()) {
    good = good && finding.good;
    json.begin_object().member("what", finding.what).member("good", finding.good).member("say", finding.say);
    if (!finding.good && !finding.do_this.empty()) json.member("do", finding.do_this);
    json.end_object();
    if (common.json) continue;
    fmt::print("{:<5} {:<14} {}\n", finding.good ? "good" : "WRONG", finding.what, finding.say);
    if (!finding.good && !finding.do_this.empty()) fmt::print("                     -> {}\n", finding.do_this);
  }
  if (common.json) fmt::print("{}\n", json.end_array().take());
  return good ? 0 : 1;
}

}  // namespace postrider::app
