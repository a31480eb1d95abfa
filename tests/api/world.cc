#include "api/world.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdlib>
#include <future>
#include <utility>

#include "base/text.h"
#include "pipeline/expand.h"
#include "store/sqlite/sqlite_store.h"

namespace postrider::testing {

std::string Answer::header(std::string_view name) const {
  for (const auto& [n, value] : headers) {
    if (equal_ignoring_case(n, name)) return value;
  }
  return "";
}

std::string Answer::at(std::string_view path) const {
  const auto document = JsonDocument::parse(body);
  if (!document) return "<not JSON>";
  std::optional<JsonView> here = document->root();
  for (const std::string_view step : split(path, '.')) {
    if (here->is_array()) {
      const auto items = here->items();
      const auto index = static_cast<std::size_t>(std::stoul(std::string{step}));
      here = index < items.size() ? std::optional{items[index]} : std::nullopt;
    } else {
      here = here->find(step);
    }
    if (!here) return "<none>";
  }
  return here->kind() == JsonKind::Null ? "null" : here->spoken();
}

Result<std::string> FakeSealer::seal(std::string_view plaintext) {
  given.emplace_back(plaintext);
  return to_base64(std::string(kSealBytes, '.') + std::string{plaintext.rbegin(), plaintext.rend()});
}

World::World() {
  std::string name = (std::filesystem::temp_directory_path() / "postrider-api-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) POSTRIDER_DIE("no temporary folder");
  folder_ = name;
  auto opened = sqlite::SqliteStore::open({.path = (folder_ / "postrider.db").string()});
  store = std::make_unique<Gate>(std::move(opened).value());
  EXPECT_TRUE(store->migrate());
  session = store->open_session().value();
  session->use_ids(ids_);
  node_ = session->join(clock.now(), "test").value().node;
  make_rules();
  make_keys();
  store->sessions = 0;
  api.emplace(ApiParts{.rules = rules,
                       .clock = clock,
                       .store = *store,
                       .accept =
                           [this](IntakeGroup group, const ApiParts::Accepted& answer) {
                             if (accept_fails) return answer(*accept_fails);
                             const std::vector<IntakeGroup> groups{std::move(group)};
                             auto admitted = session->accept(clock.now(), groups);
                             if (!admitted) return answer(admitted.error());
                             answer(std::move(admitted->front()));
                           },
                       .work_appeared =
                           [this](const std::vector<QueueGroup>& groups) {
                             appeared.insert(appeared.end(), groups.begin(), groups.end());
                           },
                       .metrics = [] { return std::string{"postrider_up 1\n"}; },
                       .metrics_lite = [] { return std::string{"postrider_notifications_outbox_pending 1\n"}; },
                       .health = [this] { return health; },
                       .ids = ids_,
                       .local_providers = {sandbox},
                       .seed = 42,
                       .sealer = &sealer,
                       .catalog_changed = [this] { ++catalog_changes; },
                       .is_locale = [](std::string_view tag) { return tag.find('_') == std::string_view::npos; }});
}

World::~World() {
  api.reset();
  session.reset();
  store.reset();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void World::make_rules() {
  const std::vector<std::string> names{"acme", "globex", "default"};
  const auto tenants = session->tenants(names).value();
  for (std::size_t i = 0; i < names.size(); ++i) rules.tenants.push_back({.id = tenants[i], .name = names[i]});
  const std::vector<std::string> providers{"sandbox-mail"};
  sandbox = session->providers(providers).value().front();
  rules.providers.push_back({.id = sandbox, .name = providers.front(), .channel = Channel::Email});
  rules.chains[Channel::Email] = {sandbox};
  rules.routes.push_back({.type = "booking.confirmed", .recipients = {{.channel = Channel::Email, .field = "email"}}});
  rules.templates.add(
      {.key = "booking",
       .type = "booking.confirmed",
       .channel = Channel::Email,
       .texts = {{.subject = CompiledText::compile("Hello {{name}}").value(),
                  .body = CompiledText::compile("We write to {{email}} about your booking.").value()}}});
  rules.index();
}

void World::make_keys() {
  for (const std::string tenant : {"acme", "globex"}) {
    for (const Role role : {Role::Producer, Role::Viewer, Role::Operator, Role::Admin, Role::Ops, Role::Site}) {
      const std::string key = new_api_key();
      keys_[{role, tenant}] = key;
      ApiKey row{.name = tenant + "-" + std::string{to_text(role)}, .hash = api_key_hash(key), .role = role};
      if (role != Role::Ops) row.tenant = rules.tenant(tenant)->id;
      EXPECT_TRUE(session->add_key(clock.now(), row));
    }
  }
}

Answer World::send(Sent request) {
  HttpIn in;
  in.method = request.method;
  const std::size_t mark = request.path.find('?');
  in.path = request.path.substr(0, mark);
  if (mark != std::string::npos) in.query = request.path.substr(mark + 1);
  in.headers = std::move(request.headers);
  in.body = std::move(request.body);
  in.peer = std::move(request.peer);
  if (!request.key.empty()) in.headers.emplace_back("authorization", "Bearer " + request.key);
  auto promise = std::make_shared<std::promise<HttpOut>>();
  auto answered = promise->get_future();
  api->handler()(std::move(in), [promise](HttpOut out) { promise->set_value(std::move(out)); });
  HttpOut out = answered.get();
  return {out.status, std::move(out.content_type), std::move(out.headers), std::move(out.body)};
}

Answer World::get(std::string_view path, std::string_view key) {
  return send({.path = std::string{path}, .key = std::string{key}});
}

Answer World::post(std::string_view path, std::string_view key, std::string_view json, std::vector<Header> headers) {
  headers.emplace_back("content-type", "application/json");
  return send({.method = "POST",
               .path = std::string{path},
               .key = std::string{key},
               .body = std::string{json},
               .headers = std::move(headers)});
}

Answer World::put(std::string_view path, std::string_view key, std::string_view json) {
  return send({.method = "PUT",
               .path = std::string{path},
               .key = std::string{key},
               .body = std::string{json},
               .headers = {{"content-type", "application/json"}}});
}

Answer World::remove(std::string_view path, std::string_view key) {
  return send({.method = "DELETE", .path = std::string{path}, .key = std::string{key}});
}

Answer World::change(std::string_view method, std::string_view path, std::string_view key, std::string_view json) {
  Sent request{.method = std::string{method}, .path = std::string{path}, .key = std::string{key}};
  request.body = json;
  if (!json.empty()) request.headers.emplace_back("content-type", "application/json");
  return send(std::move(request));
}

std::string World::accepted(std::string_view json, std::string_view with) {
  const Answer answer = post("/api/v1/messages", with.empty() ? key(Role::Producer) : with, json);
  EXPECT_EQ(answer.status, 202) << answer.body;
  return answer.at("id");
}

void World::expand() {
  ExpandStage stage{{.store = *session, .rules = rules, .ids = ids_, .node = node_}, 1};
  while (stage.turn(clock.now()).value().rows > 0) {
  }
  while (stage.work(clock.now()).value().rows > 0) {
  }
}

void World::begin_calls() {
  ClaimRequest request{.node = node_, .lane = Lane::Standard, .channel = Channel::Email};
  for (const Tenant& tenant : rules.tenants) request.shares.push_back({tenant.id, 100, sandbox});
  begun_ = session->claim(clock.now(), request).value();
}

void World::call_ends(OutcomeKind outcome, Reason reason, Verdict verdict, std::string excerpt) {
  if (begun_.empty()) begin_calls();
  ASSERT_FALSE(begun_.empty());
  std::vector<Completion> ends;
  for (const Claim& claim : std::exchange(begun_, {})) {
    Completion& end = ends.emplace_back();
    end.lease = claim.lease;
    end.verdict = verdict;
    end.verdict.attempt = claim.lease.attempt;
    end.attempt_fence = claim.lease.fence;
    end.attempt = AttemptEnd{.outcome = outcome,
                             .reason = reason,
                             .provider_message_id = outcome == OutcomeKind::Accepted ? "there-1" : "",
                             .excerpt = excerpt,
                             .started_at = clock.now(),
                             .ended_at = clock.now()};
  }
  ASSERT_TRUE(session->record(clock.now(), ends));
}

void World::promote() { ASSERT_TRUE(session->promote(clock.now(), 1000)); }

std::vector<std::string> World::audit() {
  std::vector<std::string> rows;
  sqlite3* db = nullptr;
  EXPECT_EQ(sqlite3_open_v2((folder_ / "postrider.db").c_str(), &db, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
  const auto add = [](void* to, int, char** values, char**) {
    static_cast<std::vector<std::string>*>(to)->emplace_back(values[0]);
    return 0;
  };
  EXPECT_EQ(sqlite3_exec(db, "SELECT actor || ' ' || action || ': ' || why FROM postrider_audit ORDER BY id", add,
                         &rows, nullptr),
            SQLITE_OK);
  sqlite3_close(db);
  return rows;
}

std::size_t World::stored() {
  std::set<Uuid> seen;
  const auto items = session->list({.count_max = 5000}).value();
  for (const ListItem& item : items) seen.insert(item.message_uuid);
  return seen.size();
}

}  // namespace postrider::testing
