#include "store/sqlite/session.h"

namespace postrider::sqlite {

Result<ApiKey> SqliteSession::add_key(Instant now, ApiKey key) {
  return writer_.transact([&](Connection& c) {
    if (c.use("key_taken").any(key.hash)) throw Failure{{ErrorCode::Conflict, "this API key exists already"}};
    c.use("key_add").run(key.name, key.hash, key.tenant, key.role, now);
    key.id = c.last_id();
    key.created_at = now;
    key.revoked_at.reset();
    return key;
  });
}

Result<std::vector<ApiKey>> SqliteSession::keys() {
  return read([](Connection& c) {
    std::vector<ApiKey> keys;
    Rows rows = c.use("keys").query();
    while (rows.next()) {
      ApiKey& key = keys.emplace_back();
      key.id = rows.integer(0);
      key.name = rows.text(1);
      key.hash = rows.text(2);
      if (!rows.is_null(3)) key.tenant = rows.number<TenantId>(3);
      key.role = rows.one_of(4, Role::Producer, Role::Site);
      key.created_at = rows.instant(5);
      key.revoked_at = rows.maybe_instant(6);
    }
    return keys;
  });
}

Result<Done> SqliteSession::revoke_key(Instant now, std::int64_t id) {
  return writer_.transact([&](Connection& c) {
    if (!c.use("key_exists").any(id)) throw Failure{{ErrorCode::NotFound, "there is no such API key"}};
    c.use("key_revoke").run(id, now);
    return Done{};
  });
}

}  // namespace postrider::sqlite
