#include "store/postgres/connection.h"

#include <arpa/inet.h>
#include <endian.h>
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstring>

#include "base/check.h"
#include "base/fault.h"
#include "base/text.h"

namespace postrider::postgres {
namespace {

template <class T>
void append_number(std::string& out, T value) {
  std::array<char, sizeof(T)> bytes{};
  for (std::size_t i = 0; i < sizeof(T); ++i)
    bytes[i] = static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * (sizeof(T) - 1 - i)));
  out.append(bytes.data(), bytes.size());
}

constexpr std::size_t kCopyPieceBytes = 32U << 10U;
constexpr std::size_t kArrayHeader = 20;  // dimensions, flags, element type, length, lower bound

constexpr const char* kBegin = "BEGIN";
constexpr const char* kCommit = "COMMIT";

}  // namespace

Array::Array(Type type) {
  append_number<std::int32_t>(bytes_, 1);
  append_number<std::int32_t>(bytes_, 0);
  append_number<std::uint32_t>(bytes_, static_cast<std::uint32_t>(type));
  append_number<std::int32_t>(bytes_, 0);
  append_number<std::int32_t>(bytes_, 1);
}
void Array::length(std::int32_t bytes) {
  append_number<std::int32_t>(bytes_, bytes);
  ++count_;
}
void Array::add_int2(int value) {
  length(2);
  append_number<std::int16_t>(bytes_, static_cast<std::int16_t>(value));
}
void Array::add_int4(std::int64_t value) {
  length(4);
  append_number<std::int32_t>(bytes_, static_cast<std::int32_t>(value));
}
void Array::add_int8(std::int64_t value) {
  length(8);
  append_number<std::int64_t>(bytes_, value);
}
void Array::add_flag(bool value) {
  length(1);
  bytes_ += value ? '\1' : '\0';
}
void Array::add_tid(std::uint64_t block_and_offset) {
  length(6);
  append_number<std::uint32_t>(bytes_, static_cast<std::uint32_t>(block_and_offset >> 16U));
  append_number<std::uint16_t>(bytes_, static_cast<std::uint16_t>(block_and_offset & 0xffffU));
}
void Array::add(std::string_view text) {
  length(static_cast<std::int32_t>(text.size()));
  bytes_ += text;
}
void Array::add(const std::array<std::uint8_t, 16>& uuid) {
  length(16);
  bytes_.append(reinterpret_cast<const char*>(uuid.data()), uuid.size());
}
void Array::add_null() {
  length(-1);
  nulls_ = true;
}
const std::string& Array::finish() {
  std::string header;
  append_number<std::int32_t>(header, 1);
  append_number<std::int32_t>(header, nulls_ ? 1 : 0);
  bytes_.replace(0, header.size(), header);
  std::string count;
  append_number<std::uint32_t>(count, count_);
  bytes_.replace(12, 4, count);
  POSTRIDER_CHECK(bytes_.size() >= kArrayHeader);
  return bytes_;
}

void CopyRows::row(int columns) {
  if (bytes_.empty()) {
    bytes_.reserve(bytes_wanted_);
    bytes_.assign("PGCOPY\n\377\r\n\0", 11);
    bytes_.append(8, '\0');  // no flags, no extension
  }
  append_number<std::int16_t>(bytes_, static_cast<std::int16_t>(columns));
}
CopyRows& CopyRows::int2(std::int64_t value) {
  append_number<std::int32_t>(bytes_, 2);
  append_number<std::int16_t>(bytes_, static_cast<std::int16_t>(value));
  return *this;
}
CopyRows& CopyRows::int4(std::int64_t value) {
  append_number<std::int32_t>(bytes_, 4);
  append_number<std::int32_t>(bytes_, static_cast<std::int32_t>(value));
  return *this;
}
CopyRows& CopyRows::int8(std::int64_t value) {
  append_number<std::int32_t>(bytes_, 8);
  append_number<std::int64_t>(bytes_, value);
  return *this;
}
CopyRows& CopyRows::text(std::string_view value) {
  append_number<std::int32_t>(bytes_, static_cast<std::int32_t>(value.size()));
  bytes_ += value;
  return *this;
}
CopyRows& CopyRows::uuid(const std::array<std::uint8_t, 16>& value) {
  return text({reinterpret_cast<const char*>(value.data()), value.size()});
}
CopyRows& CopyRows::null() {
  append_number<std::int32_t>(bytes_, -1);
  return *this;
}

Params& Params::int2(int value) {
  std::string bytes;
  append_number<std::int16_t>(bytes, static_cast<std::int16_t>(value));
  values_.push_back({.own = std::move(bytes)});
  return *this;
}
Params& Params::int4(std::int64_t value) {
  std::string bytes;
  append_number<std::int32_t>(bytes, static_cast<std::int32_t>(value));
  values_.push_back({.own = std::move(bytes)});
  return *this;
}
Params& Params::int8(std::int64_t value) {
  std::string bytes;
  append_number<std::int64_t>(bytes, value);
  values_.push_back({.own = std::move(bytes)});
  return *this;
}
Params& Params::text(std::string_view value) {
  values_.push_back({.own = {}, .data = value.empty() ? "" : value.data(), .size = value.size()});
  return *this;
}
Params& Params::bytes(std::string value) {
  values_.push_back({.own = std::move(value)});
  return *this;
}
Params& Params::uuid(const std::array<std::uint8_t, 16>& value) {
  values_.push_back({.own = std::string{reinterpret_cast<const char*>(value.data()), value.size()}});
  return *this;
}
Params& Params::flag(bool value) {
  values_.push_back({.own = std::string(1, value ? '\1' : '\0')});
  return *this;
}
Params& Params::null() {
  values_.push_back({.null = true});
  return *this;
}
Params& Params::array(Array& value) {
  const std::string& bytes = value.finish();
  values_.push_back({.own = {}, .data = bytes.data(), .size = bytes.size()});
  return *this;
}

std::int64_t Rows::affected() const {
  const std::string_view text = PQcmdTuples(result_.get());
  std::int64_t count = 0;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

std::int64_t Rows::number(int row, int column) const {
  const char* const bytes = PQgetvalue(result_.get(), row, column);
  const int size = PQgetlength(result_.get(), row, column);
  std::uint64_t value = 0;
  for (int i = 0; i < size; ++i) value = value << 8U | static_cast<std::uint8_t>(bytes[i]);
  switch (size) {
    case 0: return 0;
    case 2: return static_cast<std::int16_t>(value);
    case 4: return static_cast<std::int32_t>(value);
    case 8: return static_cast<std::int64_t>(value);
    default: POSTRIDER_DIE("a column that is no integer was read as one");
  }
}
bool Rows::flag(int row, int column) const {
  return PQgetlength(result_.get(), row, column) == 1 && *PQgetvalue(result_.get(), row, column) != 0;
}
std::uint64_t Rows::tid(int row, int column) const {
  const char* const bytes = PQgetvalue(result_.get(), row, column);
  std::uint64_t value = 0;
  for (int i = 0; i < PQgetlength(result_.get(), row, column); ++i)
    value = value << 8U | static_cast<std::uint8_t>(bytes[i]);
  return value;
}
std::string Rows::text(int row, int column) const {
  return {PQgetvalue(result_.get(), row, column), static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}
std::array<std::uint8_t, 16> Rows::uuid(int row, int column) const {
  std::array<std::uint8_t, 16> out{};
  if (PQgetlength(result_.get(), row, column) == 16)
    std::memcpy(out.data(), PQgetvalue(result_.get(), row, column), 16);
  return out;
}

void Connection::ensure() {
  if (connection_ && PQstatus(connection_.get()) == CONNECTION_OK) return;
  prepared_.clear();
  begin_pending_ = false;
  later_.clear();
  constexpr std::array<const char*, 10> kKeywords{
      "dbname",           "connect_timeout",  "application_name",     "keepalives_idle", "keepalives_interval",
      "keepalives_count", "tcp_user_timeout", "target_session_attrs", "options",         nullptr};
  const std::array<const char*, 10> values{
      url_.c_str(), "5",          "postrider",
      "5",          "2",          "3",
      "10000",      "read-write", "-c default_transaction_isolation=read\\ committed",
      nullptr};
  connection_.reset(PQconnectdbParams(kKeywords.data(), values.data(), 1));
  if (PQstatus(connection_.get()) != CONNECTION_OK) {
    std::string text = printable(PQerrorMessage(connection_.get()));
    connection_.reset();
    throw Failure{ErrorCode::Unavailable, fmt::format("PostgreSQL cannot be reached: {}", trim(text))};
  }
  run(kSessionSettings);
}

Rows Connection::query(std::string_view name, const Params& params) {
  return execute(name, params, ErrorCode::Unavailable);
}
Rows Connection::write(std::string_view name, const Params& params) {
  return execute(name, params, ErrorCode::Ambiguous);
}

// Parameters that a statement does not use still need a type, and PostgreSQL cannot tell it from the text: the page
// statements of the list share one set of parameters.
constexpr std::array<Oid, 8> kPageTypes{23, 20, 20, 25, 21, 25, 23, 21};

const char* Connection::prepared(std::string_view name) {
  const auto statement = statements_.find(name);
  if (statement == statements_.end()) die(fmt::format("no statement is called {}", name));
  const char* const known = statement->first.c_str();
  if (prepared_.find(name) != prepared_.end()) return known;
  const bool page = name.starts_with("ids_");
  PGresult* result = PQprepare(connection_.get(), known, statement->second.c_str(),
                               page ? static_cast<int>(kPageTypes.size()) : 0, page ? kPageTypes.data() : nullptr);
  if (PQresultStatus(result) != PGRES_COMMAND_OK) fail(result, ErrorCode::Unavailable);
  PQclear(result);
  prepared_.emplace(name);
  return known;
}

TextStatement::Text TextStatement::as_text(const std::vector<std::int64_t>& values) {
  std::string out = "{";
  for (const std::int64_t value : values) {
    if (out.size() > 1) out += ',';
    out += std::to_string(value);
  }
  return out + '}';
}

TextStatement::Text TextStatement::as_text(const std::vector<std::string>& values) {
  std::string out = "{";
  for (const std::string& value : values) {
    if (out.size() > 1) out += ',';
    out += '"';
    for (const char c : value) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    out += '"';
  }
  return out + '}';
}

TextRows TextStatement::execute(const std::vector<Text>& values) {
  connection_.flush();
  std::vector<const char*> data;
  for (const Text& value : values) data.push_back(value ? value->c_str() : nullptr);
  const char* const name = connection_.prepared(name_);
  PGresult* result = PQexecPrepared(connection_.connection_.get(), name, static_cast<int>(data.size()), data.data(),
                                    nullptr, nullptr, 0);
  const ExecStatusType status = PQresultStatus(result);
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) connection_.fail(result, ErrorCode::Unavailable);
  return TextRows{result};
}

std::int64_t TextRows::integer(int column) const {
  const std::string_view text = PQgetvalue(result_.get(), row_, column);
  if (text == "t") return 1;
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}
std::string TextRows::text(int column) const {
  return {PQgetvalue(result_.get(), row_, column), static_cast<std::size_t>(PQgetlength(result_.get(), row_, column))};
}
Uuid TextRows::uuid(int column) const { return parse_uuid(text(column)).value_or(Uuid{}); }
Reason TextRows::reason(int column) const {
  const auto known = reason_from(static_cast<int>(integer(column)));
  if (!known) throw Failure{ErrorCode::Corrupt, "a reason outside its list"};
  return *known;
}
std::int64_t TextRows::affected() const {
  const std::string_view text = PQcmdTuples(result_.get());
  std::int64_t count = 0;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

Rows Connection::execute(std::string_view name, const Params& params, ErrorCode when_lost) {
  const char* const statement = prepared(name);
  if (begin_pending_ || !later_.empty()) {
    std::vector<Step> steps = std::exchange(later_, {});
    if (std::exchange(begin_pending_, false)) steps.insert(steps.begin(), {kBegin});
    steps.push_back({statement, params});
    return pipeline(steps, when_lost);
  }
  send(statement, params);
  POSTRIDER_FAULT_POINT(std::string{"sent_"} + statement);
  PGresult* result = PQgetResult(connection_.get());
  while (PGresult* const next = PQgetResult(connection_.get())) {  // as PQexec does: the last one counts
    PQclear(result);
    result = next;
  }
  const ExecStatusType status = PQresultStatus(result);
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) fail(result, when_lost);
  return Rows{result};
}

Rows Connection::write_after(std::string_view before, const Params& before_params, std::string_view name,
                             const Params& params) {
  flush();
  return pipeline({{prepared(before), before_params}, {prepared(name), params}}, ErrorCode::Ambiguous);
}

void Params::keep() {
  for (Value& value : values_) {
    if (value.data != nullptr) value.own.assign(std::exchange(value.data, nullptr), value.size);
  }
}

bool Connection::send(const char* statement, const Params& params) {
  const std::size_t count = params.values_.size();
  std::vector<const char*> data(count);
  std::vector<int> lengths(count);
  const std::vector<int> binary(count, 1);
  for (std::size_t i = 0; i < count; ++i) {
    const Params::Value& value = params.values_[i];
    if (value.null) continue;
    data[i] = value.data != nullptr ? value.data : value.own.data();
    lengths[i] = static_cast<int>(value.data != nullptr ? value.size : value.own.size());
  }
  PGconn* const to = connection_.get();
  if (statement == kBegin || statement == kCommit)
    return PQsendQueryParams(to, statement, 0, nullptr, nullptr, nullptr, nullptr, 1) == 1;
  return PQsendQueryPrepared(to, statement, static_cast<int>(count), data.data(), lengths.data(), binary.data(), 1) ==
         1;
}

Rows Connection::pipeline(const std::vector<Step>& steps, ErrorCode when_lost) {
  PGconn* const to = connection_.get();
  bool sent = PQenterPipelineMode(to) == 1;
  for (const Step& step : steps) sent = sent && send(step.statement, step.params);
  sent = sent && PQpipelineSync(to) == 1;
  POSTRIDER_FAULT_POINT(std::string{"sent_"} + steps.back().statement);
  PGresult* last = nullptr;
  bool failed = !sent;  // without a sync the server would keep its answers to itself
  for (std::size_t i = 0; i < steps.size() && !failed; ++i) {
    if (last != nullptr) PQclear(last);
    last = PQgetResult(to);
    const ExecStatusType status = PQresultStatus(last);
    failed = last == nullptr || (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK);
    if (!failed) PQclear(PQgetResult(to));  // the null between two answers
  }
  // Up to and with the answer to the sync; a connection that is gone has none. Without a COMMIT among the steps it is
  // the sync that commits.
  const bool sync_commits = steps.back().statement != kCommit;
  bool synced = false;
  for (int silent = 0; sent && !synced && silent < 2 && PQstatus(to) == CONNECTION_OK;) {
    PGresult* next = PQgetResult(to);
    silent = next == nullptr ? silent + 1 : 0;  // between two answers there is one
    synced = PQresultStatus(next) == PGRES_PIPELINE_SYNC;
    if (!failed && sync_commits && next != nullptr && PQresultStatus(next) == PGRES_FATAL_ERROR) {
      failed = true;
      std::swap(last, next);
    }
    PQclear(next);
  }
  if (PQstatus(to) == CONNECTION_OK && !synced) {
    const std::string text = printable(PQerrorMessage(to));
    connection_.reset();  // what the server will still say belongs to nothing
    if (failed || sync_commits) {
      PQclear(last);
      throw Failure{when_lost, fmt::format("PostgreSQL did not answer to the end: {}", trim(text))};
    }
    return Rows{last};
  }
  if (synced) PQexitPipelineMode(to);
  if (failed || (!synced && sync_commits)) fail(last, when_lost);
  return Rows{last};
}

void Connection::copy(std::string_view name, CopyRows& rows) {
  if (rows.empty()) return;
  const auto statement = statements_.find(name);
  if (statement == statements_.end()) die(fmt::format("no statement is called {}", name));
  append_number<std::int16_t>(rows.bytes_, -1);
  flush();
  PGconn* const to = connection_.get();
  PGresult* result = PQexec(to, statement->second.c_str());
  if (PQresultStatus(result) != PGRES_COPY_IN) fail(result, ErrorCode::Unavailable);
  PQclear(result);
  // In pieces, so that neither side needs memory for all of it at once. What goes wrong while sending is in the result.
  std::string_view rest = rows.bytes_;
  bool sent = true;
  while (sent && !rest.empty()) {
    const std::size_t piece = std::min(rest.size(), kCopyPieceBytes);
    sent = PQputCopyData(to, rest.data(), static_cast<int>(piece)) == 1;
    rest.remove_prefix(piece);
  }
  if (sent) PQputCopyEnd(to, nullptr);
  result = PQgetResult(to);
  while (PGresult* const next = PQgetResult(to)) {
    PQclear(result);
    result = next;
  }
  if (PQresultStatus(result) != PGRES_COMMAND_OK) fail(result, ErrorCode::Unavailable);
  PQclear(result);
}

void Connection::flush() {
  std::vector<Step> steps = std::exchange(later_, {});
  if (std::exchange(begin_pending_, false)) steps.insert(steps.begin(), {kBegin});
  if (!steps.empty()) pipeline(steps, ErrorCode::Unavailable);
}

void Connection::later(std::string_view name, Params params) {
  params.keep();
  later_.push_back({prepared(name), std::move(params)});
}

void Connection::run(const char* sql) {
  flush();
  PGresult* result = PQexec(connection_.get(), sql);
  const ExecStatusType status = PQresultStatus(result);
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) fail(result, ErrorCode::Unavailable);
  PQclear(result);
}

void Connection::commit() {
  std::vector<Step> steps = std::exchange(later_, {});
  if (begin_pending_) {
    // Nothing is open on the server: what goes to it together, up to one sync, is a transaction by itself.
    if (!steps.empty()) pipeline(steps, ErrorCode::Ambiguous);
    begin_pending_ = false;  // not before: what fails leaves nothing to roll back
    return;
  }
  steps.push_back({kCommit});
  const Rows done = pipeline(steps, ErrorCode::Ambiguous);
  if (done.is_rollback()) throw Failure{ErrorCode::Unavailable, "PostgreSQL rolled the transaction back"};
}

void Connection::rollback() {
  later_.clear();
  if (!std::exchange(begin_pending_, false)) run("ROLLBACK");  // else nothing was said
}

void Connection::fail(PGresult* result, ErrorCode when_lost) {
  const char* state_text = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const std::string state = state_text != nullptr ? state_text : "";
  const char* primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  std::string text = printable(primary != nullptr ? primary : PQerrorMessage(connection_.get()));
  PQclear(result);
  const bool lost = PQstatus(connection_.get()) != CONNECTION_OK || state.starts_with("57P") || state.starts_with("08");
  if (lost) {
    connection_.reset();
    throw Failure{when_lost, fmt::format("the connection to PostgreSQL was lost: {}", trim(text))};
  }
  if (state == "40001" || state == "40P01") throw Failure{ErrorCode::Unavailable, std::move(text), true};
  if (state == "53100" || state == "53200" || state == "53300")
    throw Failure{ErrorCode::Exhausted, "PostgreSQL: " + text};
  if (state == "25006") throw Failure{ErrorCode::Unavailable, "PostgreSQL is read-only: " + text};
  if (state == "55P03") throw LockTimeout{ErrorCode::Unavailable, "PostgreSQL: " + text};
  if (state == "57014" || state == "25P03") throw Failure{ErrorCode::Unavailable, "PostgreSQL: " + text};
  if (state == "42P01" || state == "3F000" || state == "42883" || state == "42703") {
    throw Failure{ErrorCode::Unsupported,
                  "the tables are not as this version needs them; run `postrider migrate`: " + text};
  }
  if (state == "42501") throw Failure{ErrorCode::Unsupported, "PostgreSQL: " + text};
  if (state == "23505") throw Failure{ErrorCode::Conflict, "PostgreSQL: " + text};
  if (state.starts_with("22") || state.starts_with("23"))
    throw Failure{ErrorCode::Invalid, fmt::format("PostgreSQL ({}): {}", state, text)};
  if (state.starts_with("XX")) throw Failure{ErrorCode::Corrupt, fmt::format("PostgreSQL ({}): {}", state, text)};
  throw Failure{ErrorCode::Unavailable, fmt::format("PostgreSQL ({}): {}", state, text)};
}

Transaction::~Transaction() {
  if (!open_) return;
  try {
    connection_.rollback();
  } catch (const Failure&) {  // The connection is gone, and the transaction with it.
  }
}

Snapshot::~Snapshot() {
  try {
    connection_.run("COMMIT");
  } catch (const Failure&) {  // Nothing was written: there is nothing to lose.
  }
}

}  // namespace postrider::postgres
