// CloudEvents in their three modes: every request is answered once and in JSON; what is accepted can be told as a plain
// message too; and a key tells its source and id apart, so that two events never share one.
#include "api/message_reader.h"
#include "api/resources.h"
#include "fuzz/input.h"
#include "fuzz/messages.h"
#include "ports/clock.h"

namespace postrider {
namespace {

class StoppedClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return fuzz::kNow; }
};

// Reading an event asks no store.
class NoStore final : public Store {
 public:
  Result<std::unique_ptr<StoreSession>> open_session() override { POSTRIDER_DIE("asked for a session"); }
  Result<Done> migrate() override { POSTRIDER_DIE("asked to migrate"); }
  Result<SchemaVersion> schema_version() override { POSTRIDER_DIE("asked for the version"); }
  Result<Done> lock_for_serving() override { POSTRIDER_DIE("asked for the lock"); }
  [[nodiscard]] Nodes nodes() const override { POSTRIDER_DIE("asked for the nodes"); }
};

struct Sent {
  HttpOut answer = {};
  int answers = 0;
  std::optional<IntakeGroup> accepted = {};
};

Sent post(HttpIn in) {
  static const Rules rules = fuzz::make_rules();
  static const StoppedClock clock;
  static NoStore store;
  static IdSource ids{1};
  Sent sent;
  const ApiParts parts{.rules = rules,
                       .clock = clock,
                       .store = store,
                       .accept =
                           [&](IntakeGroup group, const ApiParts::Accepted& answer) {
                             std::vector<Admitted> admitted;
                             for (const NewMessage& m : group) admitted.push_back({Admission::New, m.candidate.uuid});
                             sent.accepted = std::move(group);
                             answer(std::move(admitted));
                           },
                       .work_appeared = {},
                       .metrics = {},
                       .metrics_lite = {},
                       .health = {},
                       .ids = ids};
  const ApiRequest request{
      .in = std::move(in), .caller = {.role = Role::Producer, .name = "key", .tenant = 1}, .draw = 7};
  post_cloudevents(parts, request, [&](HttpOut out) {
    sent.answer = std::move(out);
    ++sent.answers;
  });
  return sent;
}

// The key is "ce:", the source, ":", and the id with its colons and percent signs escaped.
void check_key(const std::string& key) {
  POSTRIDER_CHECK(key.starts_with("ce:"));
  const std::size_t colon = key.rfind(':');
  POSTRIDER_CHECK(colon > 3);
  std::string_view id = std::string_view{key}.substr(colon + 1);
  POSTRIDER_CHECK(!id.empty());
  for (std::size_t at = id.find('%'); at != std::string_view::npos; at = id.find('%', at + 1)) {
    POSTRIDER_CHECK(id.substr(at, 3) == "%3A" || id.substr(at, 3) == "%25");
  }
}

void check_as_message(const OutboxRow& row) {
  const auto body = read_body(fuzz::as_json(row));
  POSTRIDER_CHECK(std::holds_alternative<JsonDocument>(body));
  const auto again = read_message(std::get<JsonDocument>(body).root());
  POSTRIDER_CHECK(std::holds_alternative<OutboxRow>(again));
  POSTRIDER_CHECK(fuzz::is_same(std::get<OutboxRow>(again), row));
}

// Content type, then header lines "name: value", then the body.
HttpIn request_of(fuzz::Input& input) {
  HttpIn in;
  in.method = "POST";
  in.path = "/api/v1/cloudevents";
  const std::string type = input.field();
  if (!type.empty()) in.headers.emplace_back("content-type", type);
  const std::string lines = input.field();
  for (const std::string_view line : split(lines, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos) in.headers.emplace_back(lower(line.substr(0, colon)), line.substr(colon + 1));
  }
  in.body = input.rest();
  return in;
}

void run(fuzz::Input input) {
  const HttpIn in = request_of(input);
  const Sent sent = post(in);
  POSTRIDER_CHECK(sent.answers == 1);
  POSTRIDER_CHECK(JsonDocument::parse(sent.answer.body));
  const bool accepted = sent.answer.status == 202;
  POSTRIDER_CHECK(accepted || (sent.answer.status >= 400 && sent.answer.status < 500));
  if (!sent.accepted) return;
  POSTRIDER_CHECK(accepted);
  for (const NewMessage& message : *sent.accepted) {
    const Reading reading = read_row(message.row);
    POSTRIDER_CHECK(!reading.refusal);
    fuzz::check_storable(reading.message);
    check_key(message.row.idempotency_key);
    check_as_message(message.row);
  }
  // Sent again it is the same message: the producer's retry must not be refused as a reused key.
  const Sent again = post(in);
  POSTRIDER_CHECK(again.accepted && again.accepted->size() == sent.accepted->size());
  for (std::size_t i = 0; i < again.accepted->size(); ++i) {
    const Candidate& a = (*sent.accepted)[i].candidate;
    const Candidate& b = (*again.accepted)[i].candidate;
    POSTRIDER_CHECK(a.key == b.key && a.body == b.body);
  }
}

}  // namespace
}  // namespace postrider

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  postrider::run({data, size});
  return 0;
}
