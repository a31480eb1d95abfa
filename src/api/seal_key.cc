// GET /api/v1/seal-key: with what producers seal their secrets.
#include "api/resources.h"
#include "base/json.h"

namespace postrider {

void get_seal_key(const ApiParts& parts, const ApiRequest&, const Respond& respond) {
  const auto key = parts.sealer != nullptr ? parts.sealer->sealing_key() : Error{ErrorCode::NotFound, {}};
  if (!key && key.error().code == ErrorCode::NotFound) {
    return respond(to_answer({.code = ApiErrorCode::NoSealKey,
                              .message = "There is no seal key here. Make one with `postrider keys seal new`."}));
  }
  if (!key) return respond(to_answer(from_store(key.error())));
  JsonWriter json;
  json.begin_object();
  json.member("name", key->name);
  json.member("algorithm", "crypto_box_seal");
  json.member("public_key", key->public_key);
  json.end_object();
  HttpOut out;
  out.body = json.take();
  respond(std::move(out));
}

}  // namespace postrider
