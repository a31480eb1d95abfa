#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/world.h"

namespace postrider::testing {
namespace {

class ListsApi : public ::testing::Test {
 protected:
  Answer admin(std::string_view method, std::string_view path, std::string_view json = {}) {
    return w.change(method, path, w.key(Role::Admin), json);
  }
  void make_team() {
    admin("POST", "/api/v1/contacts", R"([{"key":"ada"},{"key":"bob"}])");
    EXPECT_EQ(admin("PUT", "/api/v1/lists/team", R"({"description":"all of us"})").status, 201);
  }
  World w;
};

TEST_F(ListsApi, AListIsMadeChangedReadAndEnded) {
  make_team();
  EXPECT_EQ(admin("PUT", "/api/v1/lists/team", R"({"description":"some of us"})").status, 200);
  const Answer read = w.get("/api/v1/lists/team", w.key(Role::Viewer));
  EXPECT_EQ(read.at("description"), "some of us");
  EXPECT_EQ(read.at("members"), "0");
  EXPECT_EQ(admin("PUT", "/api/v1/lists/on%20call").status, 201) << "no body is needed";
  const Answer first = w.get("/api/v1/lists?limit=1", w.key(Role::Viewer));
  EXPECT_EQ(first.at("lists.0.name"), "on call");
  const Answer second = w.get("/api/v1/lists?limit=1&cursor=on%20call", w.key(Role::Viewer));
  EXPECT_EQ(first.at("next"), "on call");
  EXPECT_EQ(second.at("lists.0.name"), "team");
  EXPECT_EQ(second.at("next"), "null");
  EXPECT_EQ(admin("DELETE", "/api/v1/lists/team").at("removed"), "1");
  EXPECT_EQ(admin("DELETE", "/api/v1/lists/team").status, 404);
  EXPECT_EQ(w.get("/api/v1/lists/team", w.key(Role::Viewer)).code(), "NOT_FOUND");
  EXPECT_EQ(w.get("/api/v1/lists/team/members", w.key(Role::Viewer)).code(), "NOT_FOUND");
}

TEST_F(ListsApi, MembersJoinOnceAndLeave) {
  make_team();
  const std::string path = "/api/v1/lists/team/members";
  const std::string both = R"({"members":[{"contact":"ada"},{"channel":"email","address":"Desk@Example.org"}]})";
  EXPECT_EQ(admin("POST", path, both).at("added"), "2");
  EXPECT_EQ(admin("POST", path, R"([{"contact":"ada"},{"channel":"email","address":"desk@example.org"}])").at("added"),
            "0");
  const Answer seen = w.get(path, w.key(Role::Operator));
  EXPECT_EQ(seen.at("members.0.contact"), "ada");
  EXPECT_EQ(seen.at("members.0.address"), "null");
  EXPECT_EQ(seen.at("members.1.address"), "Desk@Example.org");
  EXPECT_EQ(w.get(path, w.key(Role::Viewer)).body.find("Desk@Example.org"), std::string::npos);
  const std::string then = format_instant(w.clock.now());
  w.clock.advance(std::chrono::hours{1});
  EXPECT_EQ(admin("DELETE", path, R"({"contact":"ada"})").at("removed"), "1");
  EXPECT_EQ(w.get(path, w.key(Role::Viewer)).at("members.0.contact"), "null");
  EXPECT_EQ(w.get(path + "?as_of=" + then, w.key(Role::Viewer)).at("members.0.contact"), "ada") << "as it was then";
  EXPECT_EQ(w.get(path + "?as_of=yesterday", w.key(Role::Viewer)).at("error.field"), "as_of");
}

TEST_F(ListsApi, MembersComeInPages) {
  make_team();
  const std::string path = "/api/v1/lists/team/members";
  std::string many = "[";
  for (int i = 0; i < 5; ++i) {
    many += fmt::format(R"({}{{"channel":"email","address":"c{}@example.org"}})", i == 0 ? "" : ",", i);
  }
  admin("POST", path, many + "]");
  std::string seen;
  std::string cursor;
  for (int pages = 0; pages < 4; ++pages) {
    const Answer page = w.get(path + "?limit=2" + cursor, w.key(Role::Operator));
    for (int i = 0; page.at(fmt::format("members.{}.address", i)) != "<none>"; ++i) {
      seen += page.at(fmt::format("members.{}.address", i)).substr(0, 2);
    }
    if (page.at("next") == "null") break;
    cursor = "&cursor=" + page.at("next");
  }
  EXPECT_EQ(seen, "c0c1c2c3c4");
}

TEST_F(ListsApi, WhatIsWrongIsNamedAndNothingIsChanged) {
  make_team();
  const std::string path = "/api/v1/lists/team/members";
  EXPECT_EQ(admin("POST", path, R"([{"contact":"ada"},{"contact":"nobody"}])").code(), "UNKNOWN_CONTACT");
  EXPECT_EQ(admin("POST", path, R"([{"contact":"ada"},{"channel":"email","address":"x"}])").at("error.index"), "1");
  EXPECT_EQ(admin("POST", path, R"({"contact":"ada","channel":"email","address":"a@example.org"})").status, 400);
  EXPECT_EQ(admin("POST", path, R"({"address":"a@example.org"})").status, 400);
  EXPECT_EQ(admin("POST", path, R"({"channel":"fax","address":"1"})").at("error.field"), "channel");
  EXPECT_EQ(admin("POST", path, R"({"person":"ada"})").code(), "UNKNOWN_FIELD");
  EXPECT_EQ(admin("POST", "/api/v1/lists/none/members", R"({"contact":"ada"})").code(), "NOT_FOUND");
  EXPECT_EQ(admin("PUT", "/api/v1/lists/team", R"({"members":[]})").code(), "UNKNOWN_FIELD");
  EXPECT_EQ(w.get("/api/v1/lists/team", w.key(Role::Viewer)).at("members"), "0");
}

TEST_F(ListsApi, TenantsHaveTheirOwn) {
  make_team();
  EXPECT_EQ(w.get("/api/v1/lists/team", w.foreign_key(Role::Viewer)).status, 404);
  EXPECT_EQ(w.change("DELETE", "/api/v1/lists/team", w.foreign_key(Role::Admin)).status, 404);
  EXPECT_EQ(w.get("/api/v1/lists", w.foreign_key(Role::Viewer)).at("lists"), "[]");
}

TEST_F(ListsApi, AMessageToAListReachesEveryMemberOnce) {
  make_team();
  admin("PUT", "/api/v1/contacts/ada", R"({"addresses":{"email":"shared@example.org"}})");
  admin("PUT", "/api/v1/contacts/bob", R"({"addresses":{"email":"shared@example.org"}})");
  admin("POST", "/api/v1/lists/team/members",
        R"([{"contact":"ada"},{"contact":"bob"},{"channel":"email","address":"desk@example.org"}])");
  const std::string id = w.accepted(R"({"type":"note","channel":"email","list":"team","body":"B"})");
  w.expand();
  const Answer seen = w.get("/api/v1/notifications/" + id, w.key(Role::Operator));
  EXPECT_EQ(seen.at("state"), "expanded") << seen.body;
  EXPECT_EQ(seen.at("deliveries.1.recipient"), "desk@example.org");
  EXPECT_EQ(seen.at("deliveries.2"), "<none>") << "two who share an address get one";
  EXPECT_EQ(seen.at("reason.code"), "duplicate_delivery");
}

}  // namespace
}  // namespace postrider::testing
