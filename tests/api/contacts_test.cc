#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/world.h"

namespace postrider::testing {
namespace {

class OneZone final : public Zones {
 public:
  [[nodiscard]] bool knows(std::string_view zone) const override { return zone == "Europe/Berlin"; }
  [[nodiscard]] std::optional<Duration> offset_at(Instant, std::string_view) const override { return Duration{}; }
  [[nodiscard]] std::optional<Instant> moment_of(std::int64_t us, std::string_view) const override {
    return instant_from_us(us);
  }
};

constexpr std::string_view kAda = R"({"name":"Ada","locale":"en-GB","timezone":"Europe/Berlin",
  "quiet_hours":"22:00-08:00","addresses":{"email":"Ada@Example.org","sms":"+919876543210"},
  "attributes":{"tier":"gold","mail":"Ada@Example.org"},
  "preferences":[{"channel":"sms","category":"marketing","allowed":false}]})";

class Contacts : public ::testing::Test {
 protected:
  Contacts() { w.rules.zones = &zone; }
  Answer put(std::string_view key, std::string_view json) {
    return w.change("PUT", fmt::format("/api/v1/contacts/{}", key), w.key(Role::Admin), json);
  }
  OneZone zone;
  World w;
};

TEST_F(Contacts, OneIsMadeReadReplacedAndRemoved) {
  const Answer made = put("ada", kAda);
  EXPECT_EQ(made.status, 201) << made.body;
  const Answer read = w.get("/api/v1/contacts/ada", w.key(Role::Operator));
  EXPECT_EQ(read.status, 200);
  EXPECT_EQ(read.at("key"), "ada");
  EXPECT_EQ(read.at("addresses.email"), "Ada@Example.org");
  EXPECT_EQ(read.at("addresses.sms"), "+919876543210") << "exactly as given";
  EXPECT_EQ(read.at("quiet_hours"), "22:00-08:00");
  EXPECT_EQ(read.at("attributes.tier"), "gold");
  EXPECT_EQ(read.at("preferences.0.allowed"), "false");
  EXPECT_EQ(read.at("preferences.0.source"), "api");
  EXPECT_EQ(read.at("preferences.0.at"), format_instant(w.clock.now()));
  const Answer replaced = put("ada", R"({"key":"ada","name":"Countess"})");
  EXPECT_EQ(replaced.status, 200);
  const Answer again = w.get("/api/v1/contacts/ada", w.key(Role::Operator));
  EXPECT_EQ(again.at("name"), "Countess");
  EXPECT_EQ(again.at("addresses"), "{}") << "the whole is replaced";
  EXPECT_EQ(w.change("DELETE", "/api/v1/contacts/ada?why=gone", w.key(Role::Admin)).at("removed"), "1");
  EXPECT_EQ(w.change("DELETE", "/api/v1/contacts/ada", w.key(Role::Admin)).status, 404);
  EXPECT_EQ(w.get("/api/v1/contacts/ada", w.key(Role::Viewer)).code(), "NOT_FOUND");
  EXPECT_EQ(w.audit().back(), "acme-admin remove_contact: gone");
}

TEST_F(Contacts, AViewerSeesMaskedAddressesWhereverTheyStand) {
  put("ada", kAda);
  put("bob%40example.org", R"({"addresses":{"email":"bob@example.org"}})");
  for (const std::string path : {"/api/v1/contacts/ada", "/api/v1/contacts?limit=1", "/api/v1/contacts"}) {
    const Answer seen = w.get(path, w.key(Role::Viewer));
    EXPECT_EQ(seen.status, 200);
    EXPECT_EQ(seen.body.find("Ada@Example.org"), std::string::npos) << seen.body;
    EXPECT_EQ(seen.body.find("bob@example.org"), std::string::npos) << seen.body;
    EXPECT_EQ(seen.body.find("9876543210"), std::string::npos);
  }
}

TEST_F(Contacts, KeysInThePathArePercentEncoded) {
  EXPECT_EQ(put("a%2Fb%20c", R"({"name":"x"})").at("key"), "a/b c");
  EXPECT_EQ(w.get("/api/v1/contacts/a%2Fb%20c", w.key(Role::Viewer)).status, 200);
  EXPECT_EQ(put("a%00", R"({})").status, 404);
  EXPECT_EQ(put("%ZZ", R"({})").status, 404);
  EXPECT_EQ(put("%FF", R"({})").status, 404);
}

TEST_F(Contacts, TenantsDoNotSeeEachOther) {
  put("ada", kAda);
  EXPECT_EQ(w.get("/api/v1/contacts/ada", w.foreign_key(Role::Admin)).status, 404);
  EXPECT_EQ(w.change("DELETE", "/api/v1/contacts/ada", w.foreign_key(Role::Admin)).status, 404);
  EXPECT_EQ(w.get("/api/v1/contacts", w.foreign_key(Role::Viewer)).at("contacts"), "[]");
  EXPECT_EQ(w.get("/api/v1/contacts?tenant=acme", w.foreign_key(Role::Viewer)).code(), "TENANT_FORBIDDEN");
  const Answer which = w.get("/api/v1/contacts", w.key(Role::Ops));
  EXPECT_EQ(which.code(), "INVALID_PARAMETER");
  EXPECT_EQ(which.at("error.field"), "tenant");
  EXPECT_EQ(w.get("/api/v1/contacts/ada?tenant=acme", w.key(Role::Ops)).status, 200);
}

TEST_F(Contacts, WhatIsWrongIsNamedAndNothingIsStored) {
  const std::vector<std::pair<std::string, std::string>> wrong{
      {R"({"addresses":{"email":"nobody"}})", "addresses.email"},
      {R"({"addresses":{"sms":"0049301234567"}})", "addresses.sms"},
      {R"({"addresses":{"sms":"+49 30 1234567"}})", "addresses.sms"},
      {R"({"addresses":{"fax":"1"}})", "addresses.fax"},
      {R"({"addresses":{"email":1}})", "addresses.email"},
      {R"({"addresses":["a"]})", "addresses"},
      {R"({"locale":"de_DE"})", "locale"},
      {R"({"timezone":"Mars/Olympus"})", "timezone"},
      {R"({"quiet_hours":"22-8"})", "quiet_hours"},
      {R"({"quiet_hours":"22:00-22:00"})", "quiet_hours"},
      {R"({"name":7})", "name"},
      {R"({"name":"a\u0000b"})", "name"},
      {R"({"key":"bob"})", "key"},
      {R"({"attributes":[1]})", "attributes"},
      {R"({"preferences":[{"channel":"email"}]})", "preferences.allowed"},
      {R"({"preferences":[{"channel":"fax","allowed":true}]})", "preferences.channel"},
      {R"({"preferences":[{"allowed":true,"at":"today"}]})", "preferences.at"},
      {R"({"preferences":[{"allowed":true,"x":"1"}]})", "preferences.x"},
      {R"({"preferences":[{"allowed":true},{"allowed":false}]})", "preferences"},
      {R"([])", "The body"},
  };
  for (const auto& [json, field] : wrong) {
    const Answer answer = put("ada", json);
    EXPECT_EQ(answer.status, 400) << json << answer.body;
    EXPECT_EQ(answer.code(), "INVALID_FIELD") << json;
    EXPECT_EQ(answer.at("error.field"), field) << json;
  }
  EXPECT_EQ(put("ada", R"({"nmae":"x"})").code(), "UNKNOWN_FIELD");
  EXPECT_EQ(put("ada", "{").code(), "INVALID_JSON");
  EXPECT_EQ(w.change("PUT", "/api/v1/contacts/ada", w.key(Role::Admin)).code(), "UNSUPPORTED_MEDIA_TYPE");
  EXPECT_EQ(w.get("/api/v1/contacts", w.key(Role::Viewer)).at("contacts"), "[]");
  EXPECT_TRUE(w.audit().empty());
}

TEST_F(Contacts, ManyAreSavedAllOrNone) {
  std::string many = "[";
  for (int i = 0; i < 1000; ++i) many += fmt::format("{}{{\"key\":\"c{}\"}}", i == 0 ? "" : ",", i);
  const Answer saved = w.change("PUT", "/api/v1/contacts", w.key(Role::Admin), many + "]");
  EXPECT_EQ(saved.at("saved"), "1000") << saved.body;
  EXPECT_EQ(saved.at("new"), "1000");
  EXPECT_EQ(w.change("POST", "/api/v1/contacts", w.key(Role::Admin), many + R"(,{"key":"x"}])").code(),
            "TOO_MANY_ITEMS");
  const Answer wrong = w.change("POST", "/api/v1/contacts", w.key(Role::Admin),
                                R"({"contacts":[{"key":"new"},{"key":"c1","addresses":{"email":"x"}}]})");
  EXPECT_EQ(wrong.at("error.index"), "1");
  EXPECT_EQ(w.get("/api/v1/contacts/new", w.key(Role::Viewer)).status, 404);
  EXPECT_EQ(w.change("POST", "/api/v1/contacts", w.key(Role::Admin), R"([{"key":"a"},{"key":"a"}])").at("error.index"),
            "1");
  EXPECT_EQ(w.change("POST", "/api/v1/contacts", w.key(Role::Admin), R"([{"name":"a"}])").at("error.field"), "key");
  EXPECT_EQ(w.change("POST", "/api/v1/contacts", w.key(Role::Admin), R"([])").status, 400);
}

TEST_F(Contacts, PagesFollowEachOtherForThoseWhoSeeAddressesAndThoseWhoDoNot) {
  w.change("POST", "/api/v1/contacts", w.key(Role::Admin), R"([{"key":"a"},{"key":"b"},{"key":"c"}])");
  for (const Role role : {Role::Viewer, Role::Operator}) {
    std::string seen;
    std::string cursor;
    for (int pages = 0; pages < 4; ++pages) {
      const Answer page = w.get("/api/v1/contacts?limit=2" + cursor, w.key(role));
      for (int i = 0; page.at(fmt::format("contacts.{}.key", i)) != "<none>"; ++i) {
        seen += page.at(fmt::format("contacts.{}.key", i));
      }
      if (page.at("next") == "null") break;
      cursor = "&cursor=" + page.at("next");
    }
    EXPECT_EQ(seen, "abc");
    EXPECT_EQ(w.get("/api/v1/contacts?cursor=nonsense", w.key(role)).at("error.field"), "cursor");
  }
}

TEST_F(Contacts, AnAddressFindsItsContact) {
  put("ada", kAda);
  put("bob", "{}");
  const Answer found = w.get("/api/v1/contacts?address=%2B919876543210", w.key(Role::Viewer));
  EXPECT_EQ(found.at("contacts.0.key"), "ada");
  EXPECT_EQ(found.at("contacts.1"), "<none>");
}

TEST_F(Contacts, PreferencesAreReadAndReplacedByThemselves) {
  put("ada", kAda);
  w.clock.advance(std::chrono::hours{1});
  const std::string path = "/api/v1/contacts/ada/preferences";
  const Answer changed = w.change("PUT", path, w.key(Role::Admin),
                                  R"({"preferences":[{"channel":"sms","category":"marketing","allowed":false},
                                      {"category":"news","allowed":false,"source":"phone call"}]})");
  EXPECT_EQ(changed.status, 200) << changed.body;
  const Answer read = w.get(path, w.key(Role::Viewer));
  EXPECT_EQ(read.at("preferences.0.category"), "news");
  EXPECT_EQ(read.at("preferences.0.channel"), "null");
  EXPECT_EQ(read.at("preferences.0.source"), "phone call");
  EXPECT_EQ(read.at("preferences.1.at"), format_instant(w.clock.now() - std::chrono::hours{1}))
      << "what stays the same keeps its time";
  EXPECT_EQ(w.get("/api/v1/contacts/ada", w.key(Role::Operator)).at("addresses.email"), "Ada@Example.org");
  EXPECT_EQ(w.change("PUT", path, w.key(Role::Admin), R"({"preferences":[]})").status, 200);
  EXPECT_EQ(w.get(path, w.key(Role::Viewer)).at("preferences"), "[]");
  EXPECT_EQ(w.change("PUT", path, w.key(Role::Admin), R"({"wishes":[]})").code(), "UNKNOWN_FIELD");
  EXPECT_EQ(w.change("PUT", path, w.key(Role::Admin), R"({})").code(), "INVALID_FIELD");
  EXPECT_EQ(w.change("PUT", "/api/v1/contacts/x/preferences", w.key(Role::Admin), R"({"preferences":[]})").status, 404);
  EXPECT_EQ(w.get("/api/v1/contacts/x/preferences", w.key(Role::Viewer)).status, 404);
}

TEST_F(Contacts, AnOptOutEndsWhatWaitsButNotWhatIsExempt) {
  w.rules.tenants.front().exempt_categories = {"security"};
  put("ada", kAda);
  const auto send = [&](std::string_view category) {
    return w.accepted(
        fmt::format(R"({{"type":"note","channel":"email","contact":"ada","category":"{}","body":"B"}})", category));
  };
  const std::string news = send("news");
  const std::string code = send("security");
  w.expand();
  const std::string path = "/api/v1/contacts/ada/preferences?why=asked";
  w.change("PUT", path, w.key(Role::Admin), R"({"preferences":[{"allowed":false}]})");
  const Answer ended = w.get("/api/v1/notifications/" + news, w.key(Role::Operator));
  EXPECT_EQ(ended.at("deliveries.0.state"), "suppressed");
  EXPECT_EQ(ended.at("deliveries.0.reason.code"), "opted_out");
  EXPECT_EQ(ended.at("deliveries.0.contact"), "ada");
  EXPECT_EQ(ended.at("deliveries.0.category"), "news");
  EXPECT_EQ(w.get("/api/v1/notifications/" + code, w.key(Role::Operator)).at("deliveries.0.state"), "queued");
}

}  // namespace
}  // namespace postrider::testing
