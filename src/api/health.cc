// Is it alive, can it work, what has it done, and what does it offer.
#include "api/resources.h"
#include "api_files.h"
#include "base/json.h"

namespace postrider {
namespace {

HttpOut metrics_answer(std::string text) {
  HttpOut out;
  out.content_type = "text/plain; version=0.0.4; charset=utf-8";
  out.body = std::move(text);
  return out;
}

}  // namespace

void get_healthz(const ApiParts&, const ApiRequest&, const Respond& respond) {
  HttpOut out;
  out.body = R"({"status":"ok"})";
  respond(std::move(out));
}

void get_readyz(const ApiParts& parts, const ApiRequest&, const Respond& respond) {
  const HealthView health = parts.health();
  if (!health.store_reachable) {
    // Whoever may ask needs no key, so the error's own text (hosts, files) stays in the log.
    return respond(
        to_answer({.code = ApiErrorCode::NotReady,
                   .message = "The database cannot be reached. `postrider doctor` and this node's log say why."}));
  }
  JsonWriter json;
  json.begin_object();
  json.member("status", "ready");
  json.member("node", static_cast<std::int64_t>(health.node));
  json.member("living_nodes", health.living_nodes);
  json.end_object();
  HttpOut out;
  out.body = json.take();
  respond(std::move(out));
}

void get_openapi(const ApiParts&, const ApiRequest&, const Respond& respond) {
  HttpOut out;
  out.body = api_files::k_openapi;
  respond(std::move(out));
}

Answered get_metrics(const ApiParts& parts, Worker&, const ApiRequest&) { return metrics_answer(parts.metrics()); }
Answered get_metrics_lite(const ApiParts& parts, Worker&, const ApiRequest&) {
  return metrics_answer(parts.metrics_lite());
}

}  // namespace postrider
