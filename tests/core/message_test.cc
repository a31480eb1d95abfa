// Rows as producers write them, good and bad. A wrong row never stops anything: it is read as far as it can be and
// says what is wrong with which field.
#include "core/message.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/limits.h"
#include "base/text.h"

namespace postrider {
namespace {

using namespace std::string_literals;

OutboxRow row_of(const std::string& type = "order.paid") {
  OutboxRow row;
  row.type = type;
  return row;
}

void expect_refused(const OutboxRow& row, Reason reason, std::string_view field) {
  const Reading reading = read_row(row);
  ASSERT_TRUE(reading.refusal) << "field " << field << " was taken";
  EXPECT_EQ(reading.refusal->reason, reason);
  EXPECT_EQ(reading.refusal->field, field);
  EXPECT_FALSE(reading.refusal->detail.empty());
  EXPECT_FALSE(has_control(reading.refusal->detail));
  EXPECT_TRUE(is_utf8(reading.refusal->detail));
  EXPECT_LE(reading.refusal->detail.size(), 400U);
  const Judgement judged = judge_row(row);
  ASSERT_TRUE(judged.refusal);
  EXPECT_EQ(judged.refusal->reason, reason);
  EXPECT_EQ(judged.refusal->field, field);
  EXPECT_EQ(judged.refusal->detail, reading.refusal->detail);
}

TEST(ReadRow, TypeAndPayloadAreAllThatIsNeeded) {
  const Reading reading = read_row(row_of());
  EXPECT_FALSE(reading.refusal);
  EXPECT_EQ(reading.message.type, "order.paid");
  EXPECT_EQ(reading.message.tenant_name, "default");
  EXPECT_EQ(reading.message.payload, "{}");
  EXPECT_EQ(reading.message.id, 0);
  EXPECT_EQ(reading.message.uuid, Uuid{});
  EXPECT_FALSE(reading.message.is_direct());
}

TEST(ReadRow, EveryFieldOfTheContractArrives) {
  OutboxRow row = row_of();
  row.id = "018f0000-0000-7000-8000-000000000001";
  row.tenant = "acme";
  row.topic = "orders";
  row.entity_id = "42";
  row.version = "3";
  row.idempotency_key = "order:42:paid:3";
  row.payload = R"({"a":1})";
  row.sealed = "c2VhbGVk";
  row.lane = "bulk";
  row.category = "receipts";
  row.locale = "de-DE";
  row.origin = "shop";
  row.correlation_id = "c-1";
  row.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  row.schema_version = "2";
  row.occurred_at = "2026-03-15T09:30:00+01:00";
  row.due_at = "@1773563400000000";
  row.expires_at = "2026-03-15 08:30:00";
  row.source_site = "plant-7";
  row.source_instance = "i-1";
  row.source_script = "alarm.lua";
  row.site_enqueued_at = "2026-03-15";
  row.type_data = R"([1,{"b":2}])";
  row.channel = "email";
  row.recipient = "a@b.co";
  row.contact = "c-9";
  row.list = "operators";
  row.subject = "Hello";
  row.body = "Line 1\r\nLine 2\tend";
  row.template_key = "receipt";
  const Reading reading = read_row(row);
  ASSERT_FALSE(reading.refusal) << reading.refusal->field << " " << reading.refusal->detail;
  const Message& m = reading.message;
  EXPECT_EQ(format_uuid(m.uuid), row.id);
  EXPECT_EQ((std::vector{m.tenant_name, m.topic, m.entity_id, m.version, m.idempotency_key, m.payload, m.sealed}),
            (std::vector<std::string>{"acme", "orders", "42", "3", row.idempotency_key, row.payload, row.sealed}));
  EXPECT_EQ((std::vector{m.category, m.locale, m.origin, m.correlation_id, m.traceparent, m.schema_version}),
            (std::vector<std::string>{"receipts", "de-DE", "shop", "c-1", row.traceparent, "2"}));
  EXPECT_EQ((std::vector{m.source_site, m.source_instance, m.source_script, m.type_data, m.recipient, m.contact}),
            (std::vector<std::string>{"plant-7", "i-1", "alarm.lua", row.type_data, "a@b.co", "c-9"}));
  EXPECT_EQ((std::vector{m.list, m.subject, m.body, m.template_key}),
            (std::vector<std::string>{"operators", "Hello", row.body, "receipt"}));
  EXPECT_EQ(m.lane, Lane::Bulk);
  EXPECT_EQ(m.channel, Channel::Email);
  EXPECT_EQ(m.occurred_at, parse_instant("2026-03-15T08:30:00Z"));
  EXPECT_EQ(m.due_at, parse_instant("2026-03-15T08:30:00Z"));
  EXPECT_EQ(m.expires_at, parse_instant("2026-03-15T08:30:00Z"));
  EXPECT_EQ(m.site_enqueued_at, parse_instant("2026-03-15T00:00:00Z"));
}

TEST(JudgeRow, SaysWhatReadRowSays) {
  OutboxRow row = row_of();
  row.body = "a body that is longer than what a string holds in itself";
  row.expires_at = "2026-03-15T08:30:00Z";
  const Judgement judged = judge_row(row);
  EXPECT_FALSE(judged.refusal);
  EXPECT_EQ(judged.expires_at, read_row(row).message.expires_at);
  EXPECT_TRUE(judged.expires_at);
  EXPECT_EQ(judge_row(row_of()).expires_at, std::nullopt);
}

TEST(ReadRow, ARowWithoutATypeIsRefused) { expect_refused(row_of(""), Reason::InvalidField, "type"); }

TEST(ReadRow, AnUnknownLaneOrChannelIsRefusedByName) {
  for (const std::string& lane : {"urgent"s, "Priority"s, " bulk"s, "bulk\n"s, "\xff"s, std::string(5000, 'x')}) {
    OutboxRow row = row_of();
    row.lane = lane;
    expect_refused(row, Reason::InvalidLane, "lane");
  }
  for (const std::string& channel : {"fax"s, "expand"s, "EMAIL"s, "email "s, std::string(5000, 'x')}) {
    OutboxRow row = row_of();
    row.channel = channel;
    expect_refused(row, Reason::InvalidChannel, "channel");
  }
}

TEST(ReadRow, APayloadThatIsNoReadableObjectIsRefusedAndStillShown) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  for (const std::string& payload : {""s,
                                     " "s,
                                     "null"s,
                                     "[]"s,
                                     "\"text\""s,
                                     "17"s,
                                     "{"s,
                                     "{\"a\":}"s,
                                     "{'a':1}"s,
                                     "{\"a\":1,}"s,
                                     "{\"a\":1} x"s,
                                     "{\"a\":1,\"a\":2}"s,
                                     "{\"o\":{\"b\":1,\"\\u0062\":2}}"s,
                                     "{\"n\":1e400}"s,
                                     "{\"n\":99999999999999999999999}"s,
                                     "{\"n\":01}"s,
                                     "{\"n\":NaN}"s,
                                     "{\"t\":\"\xff\"}"s,
                                     "{\"t\":\"\xc3\"}"s,
                                     "{\"t\":\"a\nb\"}"s,
                                     "{\"t\":\"\\ud800\"}"s,
                                     "{\"t\":\"a\0b\"}"s,
                                     deep,
                                     "{\"d\":" + deep + "}",
                                     "\xef\xbb\xbf[]"s}) {
    OutboxRow row = row_of();
    row.payload = payload;
    expect_refused(row, Reason::InvalidPayload, "payload");
    const Message m = read_row(row).message;
    const auto kept = JsonDocument::parse(m.payload);
    EXPECT_TRUE(kept) << "what is kept must be JSON: " << excerpt(printable(m.payload), 100);
    EXPECT_LE(m.payload.size(), kPayloadBytesMax);
  }
}

TEST(ReadRow, APayloadOfAMebibyteIsTakenAndOneByteMoreIsNot) {
  OutboxRow row = row_of();
  const std::string frame = R"({"t":""})";
  row.payload = R"({"t":")" + std::string(kPayloadBytesMax - frame.size(), 'x') + R"("})";
  EXPECT_FALSE(read_row(row).refusal);
  row.payload = R"({"t":")" + std::string(kPayloadBytesMax - frame.size() + 1, 'x') + R"("})";
  expect_refused(row, Reason::InvalidPayload, "payload");
}

TEST(ReadRow, TypeDataMayBeAnyJsonButMustBeJson) {
  OutboxRow row = row_of();
  row.type_data = "7";
  EXPECT_FALSE(read_row(row).refusal);
  row.type_data = "{";
  expect_refused(row, Reason::InvalidField, "type_data");
}

TEST(ReadRow, AWrongTimeIsRefusedWithTheNameOfItsField) {
  const std::array fields{std::pair{&OutboxRow::occurred_at, "occurred_at"}, std::pair{&OutboxRow::due_at, "due_at"},
                          std::pair{&OutboxRow::expires_at, "expires_at"},
                          std::pair{&OutboxRow::site_enqueued_at, "site_enqueued_at"}};
  for (const auto& [field, name] : fields) {
    for (const std::string& text :
         {"tomorrow"s, "2026-02-30"s, "2026-13-01T00:00:00Z"s, "2026-03-15T25:00:00Z"s, "1969-12-31T23:59:59Z"s,
          "infinity"s, "1742031000"s, "@"s, "@-1"s, "@12x"s, "@99999999999999999999"s, "@9223372036854775807"s,
          "9999-12-31T23:59:59-23:59"s, "2026-03-15T09:30:00Zx"s, "\n"s, "2026-03-15T09:30:00\xff"s}) {
      OutboxRow row = row_of();
      row.*field = text;
      expect_refused(row, Reason::InvalidTime, name);
    }
  }
}

TEST(ReadRow, AnIdThatIsNoUuidIsRefused) {
  for (const std::string& id : {"17"s, "018f0000-0000-7000-8000-00000000000g"s, "018f00000000700080000000000000001"s,
                                "{018f0000-0000-7000-8000-000000000001}"s, "\0"s}) {
    OutboxRow row = row_of();
    row.id = id;
    expect_refused(row, Reason::InvalidField, "id");
  }
}

struct NamedField {
  std::string OutboxRow::*field;
  std::string_view name;
};
const std::vector<NamedField>& short_fields() {
  static const std::vector<NamedField> kFields{
      {&OutboxRow::tenant, "tenant"},
      {&OutboxRow::type, "type"},
      {&OutboxRow::topic, "topic"},
      {&OutboxRow::entity_id, "entity_id"},
      {&OutboxRow::version, "version"},
      {&OutboxRow::idempotency_key, "idempotency_key"},
      {&OutboxRow::category, "category"},
      {&OutboxRow::locale, "locale"},
      {&OutboxRow::origin, "origin"},
      {&OutboxRow::correlation_id, "correlation_id"},
      {&OutboxRow::traceparent, "traceparent"},
      {&OutboxRow::schema_version, "schema_version"},
      {&OutboxRow::source_site, "source_site"},
      {&OutboxRow::source_instance, "source_instance"},
      {&OutboxRow::source_script, "source_script"},
      {&OutboxRow::contact, "contact"},
      {&OutboxRow::list, "list"},
      {&OutboxRow::template_key, "template"},
      {&OutboxRow::subject, "subject"},
  };
  return kFields;
}

TEST(ReadRow, AShortFieldThatIsTooLongBrokenOrHasControlCharactersIsRefused) {
  for (const NamedField& f : short_fields()) {
    for (const std::string& bad : {"a\r\nb"s, "a\nb"s, "a\tb"s, "a\0b"s, "\x7f"s, "a\xff"s, "\xc3"s, "\xed\xa0\x80"s,
                                   std::string(kTextFieldBytesMax + 1, 'x')}) {
      OutboxRow row = row_of();
      row.*f.field = bad;
      expect_refused(row, Reason::InvalidField, f.name);
    }
    OutboxRow row = row_of();
    row.*f.field = std::string(kTextFieldBytesMax, 'x');
    EXPECT_FALSE(read_row(row).refusal) << f.name;
  }
}

TEST(ReadRow, WhatARefusedRowLeavesIsSafeToStoreAndToShow) {
  for (const NamedField& f : short_fields()) {
    OutboxRow row = row_of();
    row.*f.field = "a\r\n\0\xff"s + std::string(5'000, 'y');
    const Message m = read_row(row).message;
    for (const std::string* kept : {&m.tenant_name, &m.type, &m.topic, &m.entity_id, &m.idempotency_key, &m.subject,
                                    &m.traceparent, &m.contact, &m.list, &m.template_key}) {
      EXPECT_TRUE(is_utf8(*kept)) << f.name;
      EXPECT_FALSE(has_control(*kept)) << f.name;
      EXPECT_LE(kept->size(), kTextFieldBytesMax + 3) << f.name;
    }
  }
}

TEST(ReadRow, ANulInABodyASealedBoxOrARecipientIsRefusedBecauseNotEveryStoreCanKeepIt) {
  for (const auto& [field, name] : {std::pair{&OutboxRow::body, "body"}, std::pair{&OutboxRow::sealed, "sealed"},
                                    std::pair{&OutboxRow::recipient, "recipient"}}) {
    OutboxRow row = row_of();
    row.*field = "a\0b"s;
    expect_refused(row, Reason::InvalidField, name);
    EXPECT_EQ((read_row(row).message.*(name == "body"s     ? &Message::body
                                       : name == "sealed"s ? &Message::sealed
                                                           : &Message::recipient))
                  .find('\0'),
              std::string::npos)
        << name;
    row.*field = "a\xff";
    expect_refused(row, Reason::InvalidField, name);
  }
}

TEST(ReadRow, ARecipientThatCannotBeWrittenToIsLeftToItsDelivery) {
  OutboxRow row = row_of();
  row.recipient = "not an address\r\nBcc: x@y.z";
  EXPECT_FALSE(read_row(row).refusal);
  row.recipient = std::string(2049, 'x');
  expect_refused(row, Reason::InvalidField, "recipient");
}

TEST(ReadRow, TheFirstProblemIsTheOneThatIsTold) {
  OutboxRow row = row_of();
  row.id = "x";
  row.payload = "[";
  expect_refused(row, Reason::InvalidField, "id");
}

// --- the body's hash

std::vector<std::string OutboxRow::*> hashed_fields() {
  std::vector<std::string OutboxRow::*> fields;
  for (const NamedField& f : short_fields()) {
    const bool not_the_body = f.field == &OutboxRow::idempotency_key || f.field == &OutboxRow::correlation_id ||
                              f.field == &OutboxRow::traceparent;
    if (!not_the_body) fields.push_back(f.field);
  }
  for (const auto field : {&OutboxRow::payload, &OutboxRow::sealed, &OutboxRow::lane, &OutboxRow::due_at,
                           &OutboxRow::expires_at, &OutboxRow::site_enqueued_at, &OutboxRow::type_data,
                           &OutboxRow::channel, &OutboxRow::recipient, &OutboxRow::body})
    fields.push_back(field);
  return fields;
}

TEST(BodyHash, EveryFieldThatTheProducerChoseCounts) {
  const OutboxRow plain = row_of();
  for (const auto field : hashed_fields()) {
    OutboxRow other = plain;
    other.*field += "x";
    EXPECT_NE(body_hash(other), body_hash(plain));
  }
}

// A box is another one each time it is made: who repeats a request with a new one repeats it.
TEST(BodyHash, OfASealedBoxOnlyCountsThatThereIsOne) {
  OutboxRow first = row_of();
  first.sealed = "c2VhbGVk";
  OutboxRow again = first;
  again.sealed = "b3RoZXI=";
  EXPECT_EQ(body_hash(again), body_hash(first));
  EXPECT_NE(body_hash(first), body_hash(row_of()));
}

TEST(BodyHash, IdKeyPlaceAndWhatDiffersBetweenTriesByItselfDoNotCount) {
  OutboxRow other = row_of();
  other.id = "018f0000-0000-7000-8000-000000000001";
  other.idempotency_key = "k";
  other.position = 9;
  other.accepted = 3;
  other.occurred_at = "2026-03-15T09:30:00Z";
  other.correlation_id = "c-1";
  other.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  EXPECT_EQ(body_hash(other), body_hash(row_of()));
}

TEST(BodyHash, OneTimeInTwoFormsIsOneBody) {
  OutboxRow one = row_of();
  OutboxRow two = row_of();
  one.due_at = "2026-03-15T10:30:00+01:00";
  two.due_at = "@1773567000000000";
  EXPECT_EQ(body_hash(one), body_hash(two));
  two.due_at = "@1773567000000001";
  EXPECT_NE(body_hash(one), body_hash(two));
}

TEST(BodyHash, TextMovedFromOneFieldToTheNextIsAnotherBody) {
  const auto fields = hashed_fields();
  for (const auto a : fields) {
    for (const auto b : fields) {
      if (a == b) continue;
      OutboxRow one = row_of();
      OutboxRow two = row_of();
      one.*a += "xy";
      two.*a += "x";
      two.*b += "y";
      EXPECT_NE(body_hash(one), body_hash(two));
    }
  }
}

}  // namespace
}  // namespace postrider
