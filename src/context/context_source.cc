#include "context/context_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/limits.h"
#include "base/text.h"
#include "context/pool.h"

namespace postrider {
namespace {

using context::Connection;
using context::Question;
using context::Rows;
using context::Value;

constexpr std::size_t kIdsPerQueryMax = 500;
constexpr std::size_t kRowsPerBatchMax = 10'000;
constexpr std::size_t kRowsPerRecordMax = 2;  // the second one shows that it is not the only one

Result<std::unique_ptr<Connection>> open(const ContextDatabase& database) {
  switch (database.dialect) {
    case SqlDialect::Postgres: return context::open_postgres(database);
    case SqlDialect::Sqlite: return context::open_sqlite(database);
  }
  POSTRIDER_DIE("a SqlDialect outside its enum");
}

Value payload_value(JsonView payload, std::string_view path) {
  const auto found = payload.find_path(path);
  if (!found) return {};
  return {found->kind(), found->spoken()};
}

std::string array_literal(const std::vector<std::string>& items) {
  std::string out = "{";
  for (const std::string& item : items) {
    if (out.size() > 1) out += ',';
    out += '"';
    for (const char c : item) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    out += '"';
  }
  return out + "}";
}

std::string json_array(const std::vector<std::string>& items) {
  JsonWriter json;
  json.begin_array();
  for (const std::string& item : items) json.value(item);
  return json.end_array().take();
}

struct Asked {
  const ContextAsk& first;
  std::vector<std::string> ids = {};  // of all, where they are asked for together
};

Result<std::vector<Value>> values_of(const ContextSql& sql, SqlDialect dialect, const Asked& asked) {
  std::vector<Value> values;
  const auto payload = JsonDocument::parse(asked.first.payload.empty() ? "{}" : asked.first.payload);
  const auto text = [](std::string_view value) {
    return value.empty() ? Value{} : Value{JsonKind::Text, std::string{value}};
  };
  for (const std::string& name : sql.parameters) {
    if (name == "tenant") {
      values.push_back(text(asked.first.tenant));
    } else if (name == "entity_id") {
      values.push_back(text(asked.first.entity_id));
    } else if (name == "entity_ids") {
      values.push_back(
          {JsonKind::Text, dialect == SqlDialect::Postgres ? array_literal(asked.ids) : json_array(asked.ids)});
    } else {
      const std::string_view path = std::string_view{name}.substr(std::string_view{"payload."}.size());
      values.push_back(payload ? payload_value(payload->root(), path) : Value{});
    }
    // Databases end a text at NUL, and would look for another record than the one that was meant.
    if (values.back().text.find('\0') != std::string::npos)
      return Error{ErrorCode::Invalid, fmt::format("the value of :{} holds a NUL character", name)};
  }
  return values;
}

ContextRecord failed(const Error& error) {
  const bool lasting = error.code == ErrorCode::Invalid || error.code == ErrorCode::Unsupported;
  return RecordFailed{error.text, lasting};
}

ContextRecord record_of(std::string json) {
  if (json.size() > kPayloadBytesMax)
    return RecordFailed{fmt::format("the record is larger than {} KiB", kPayloadBytesMax >> 10U), true};
  return json;
}

class Database {
 public:
  explicit Database(ContextDatabase settings)
      : settings_(std::move(settings)),
        pool_({settings_.connections, settings_.timeout}, [this] { return open(settings_); }) {}

  ContextRecord load_one(const ContextRule& rule, const ContextAsk& one) {
    auto rows = ask(rule.sql, {one}, kRowsPerRecordMax);
    if (!rows) return failed(rows.error());
    if (rows->rows.empty()) return NoRecord{};
    if (rows->rows.size() > 1 || rows->more) return ManyRecords{};
    return record_of(std::move(rows->rows.front().json));
  }

  /// All of one tenant.
  void load_many(const ContextRule& rule, const Asked& asked, std::map<std::string, ContextRecord>& out) {
    auto rows = ask_many(rule.sql, asked);
    if (!rows && rows.error().code == ErrorCode::Invalid && asked.ids.size() > 1) {
      // One id that the database cannot take would fail all others with it: they are asked for in halves.
      const auto middle = asked.ids.begin() + static_cast<std::ptrdiff_t>(asked.ids.size() / 2);
      load_many(rule, {asked.first, {asked.ids.begin(), middle}}, out);
      load_many(rule, {asked.first, {middle, asked.ids.end()}}, out);
      return;
    }
    std::map<std::string, ContextRecord> found;
    for (const std::string& id : asked.ids) found.emplace(id, rows ? NoRecord{} : failed(rows.error()));
    if (rows) match(std::move(rows->rows), found);
    out.merge(found);
  }

 private:
  static void match(std::vector<context::Row> rows, std::map<std::string, ContextRecord>& records) {
    for (context::Row& row : rows) {
      const auto wanted = records.find(row.entity_id.value_or(""));
      if (wanted == records.end()) continue;
      const bool first = std::holds_alternative<NoRecord>(wanted->second);
      wanted->second = first ? record_of(std::move(row.json)) : ContextRecord{ManyRecords{}};
    }
  }

  Result<Rows> ask_many(const ContextSql& sql, const Asked& asked) {
    POSTRIDER_TRY(rows, ask(sql, asked, kRowsPerBatchMax));
    if (rows.more)
      return Error{ErrorCode::Unsupported, named(fmt::format("the query gives more than {} rows for {} ids",
                                                             kRowsPerBatchMax, asked.ids.size()))};
    if (!rows.has_entity_id)
      return Error{ErrorCode::Unsupported,
                   named("a query with :entity_ids must give each row's id in a column named entity_id")};
    return rows;
  }

  Result<Rows> ask(const ContextSql& sql, const Asked& asked, std::size_t rows_max) {
    auto values = values_of(sql, settings_.dialect, asked);
    if (!values) return Error{values.error().code, named(values.error().text)};
    const Question question{sql, std::move(*values), rows_max};
    auto lent = pool_.take();
    if (!lent) return Error{lent.error().code, named(lent.error().text)};
    auto rows = lent->connection->ask(question);
    if (!rows && !lent->fresh && !lent->connection->is_sound()) {
      // It broke while it lay idle, most likely; nothing was written, so asking again is safe.
      lent = pool_.replace(std::move(lent->connection));
      if (!lent) return Error{lent.error().code, named(lent.error().text)};
      rows = lent->connection->ask(question);
    }
    pool_.give_back(std::move(lent->connection));
    if (!rows) return Error{rows.error().code, named(rows.error().text)};
    return rows;
  }

  [[nodiscard]] std::string named(std::string_view text) const {
    return fmt::format("database \"{}\": {}", settings_.name, text);
  }

  const ContextDatabase settings_;
  context::Pool pool_;
};

class DatabaseSource final : public ContextSource {
 public:
  explicit DatabaseSource(std::vector<ContextDatabase> databases) {
    for (ContextDatabase& each : databases) {
      const std::string name = each.name;
      databases_.emplace(name, std::make_unique<Database>(std::move(each)));
    }
  }

  std::vector<ContextRecord> load(const ContextRule& rule, std::span<const ContextAsk> asks) override {
    const auto found = databases_.find(rule.database);
    if (found == databases_.end()) {
      return std::vector<ContextRecord>(asks.size(),
                                        RecordFailed{fmt::format("there is no database \"{}\"", rule.database), true});
    }
    if (rule.sql.for_many()) return load_together(*found->second, rule, asks);
    std::vector<ContextRecord> out;
    for (const ContextAsk& each : asks) out.push_back(found->second->load_one(rule, each));
    return out;
  }

 private:
  static std::vector<ContextRecord> load_together(Database& database, const ContextRule& rule,
                                                  std::span<const ContextAsk> asks) {
    std::map<std::string_view, std::vector<const ContextAsk*>> by_tenant;
    for (const ContextAsk& each : asks) by_tenant[each.tenant].push_back(&each);
    std::map<std::string_view, std::map<std::string, ContextRecord>> found;
    for (const auto& [tenant, theirs] : by_tenant) {
      Asked asked{*theirs.front()};
      const auto flush = [&, &records = found[tenant]] {
        std::sort(asked.ids.begin(), asked.ids.end());
        asked.ids.erase(std::unique(asked.ids.begin(), asked.ids.end()), asked.ids.end());
        if (!asked.ids.empty()) database.load_many(rule, asked, records);
        asked.ids.clear();
      };
      for (const ContextAsk* each : theirs) {
        if (!each->entity_id.empty()) asked.ids.emplace_back(each->entity_id);
        if (asked.ids.size() >= kIdsPerQueryMax) flush();
      }
      flush();
    }
    std::vector<ContextRecord> out;
    for (const ContextAsk& each : asks) {
      const auto& records = found[each.tenant];
      const auto record = records.find(std::string{each.entity_id});
      out.push_back(record != records.end() ? record->second : ContextRecord{NoRecord{}});
    }
    return out;
  }

  std::map<std::string, std::unique_ptr<Database>, std::less<>> databases_;
};

}  // namespace

std::unique_ptr<ContextSource> make_context_source(std::vector<ContextDatabase> databases) {
  return std::make_unique<DatabaseSource>(std::move(databases));
}

Result<Done> check_context_database(const ContextDatabase& database, const std::vector<ContextSql>& queries) {
  POSTRIDER_TRY(connection, open(database));
  for (const ContextSql& each : queries) POSTRIDER_TRY_DONE(connection->understand(each));
  return Done{};
}

}  // namespace postrider
