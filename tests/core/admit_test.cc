// Which of several new messages count. Keys are unique per tenant; a request is all or nothing.
#include "core/admit.h"

#include <gtest/gtest.h>

namespace postrider {
namespace {

Uuid uuid(int n) {
  Uuid id;
  id.bytes[15] = static_cast<std::uint8_t>(n);
  return id;
}
Hash128 body(std::string_view text) { return hash128(text); }

Candidate candidate(int id, std::string_view key, std::string_view text, TenantId tenant = 1) {
  Candidate out{.tenant = tenant, .uuid = uuid(id), .body = body(text)};
  if (!key.empty()) out.key = dedup_message(tenant, key);
  return out;
}
using Groups = std::vector<std::vector<Candidate>>;

TEST(Admit, MessagesWithoutAnythingInCommonAreAllNewAndNameThemselves) {
  const auto verdicts = admit(Groups{{candidate(1, "a", "x"), candidate(2, "b", "x"), candidate(3, "", "x")}}, {});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(verdicts[0][static_cast<std::size_t>(i)].verdict, Admission::New);
    EXPECT_EQ(verdicts[0][static_cast<std::size_t>(i)].first, uuid(i + 1));
  }
}

TEST(Admit, TheSameKeyAgainIsADuplicateThatNamesTheFirst) {
  const DedupFound found{{dedup_message(1, "k"), {.id = 7, .body = body("x"), .uuid = uuid(9)}}};
  const auto verdicts = admit(Groups{{candidate(1, "k", "x")}}, found);
  EXPECT_EQ(verdicts[0][0].verdict, Admission::Duplicate);
  EXPECT_EQ(verdicts[0][0].first, uuid(9));
}

TEST(Admit, TheSameKeyWithAnotherBodyIsRefused) {
  const DedupFound found{{dedup_message(1, "k"), {.id = 7, .body = body("x"), .uuid = uuid(9)}}};
  EXPECT_EQ(admit(Groups{{candidate(1, "k", "y")}}, found)[0][0].verdict, Admission::KeyReused);
}

TEST(Admit, AKeyBelongsToItsTenant) {
  const DedupFound found{{dedup_message(1, "k"), {.id = 7, .body = body("x"), .uuid = uuid(9)}}};
  EXPECT_EQ(admit(Groups{{candidate(1, "k", "y", /*tenant=*/2)}}, found)[0][0].verdict, Admission::New);
}

TEST(Admit, TheSameIdAgainIsADuplicateAlsoWithoutAKey) {
  const DedupFound found{{dedup_id(1, uuid(1)), {.id = 7, .body = body("x"), .uuid = uuid(1)}}};
  EXPECT_EQ(admit(Groups{{candidate(1, "", "x")}}, found)[0][0].verdict, Admission::Duplicate);
  EXPECT_EQ(admit(Groups{{candidate(1, "", "y")}}, found)[0][0].verdict, Admission::KeyReused);
  EXPECT_EQ(admit(Groups{{candidate(1, "", "x", 2)}}, found)[0][0].verdict, Admission::New);
}

TEST(Admit, ARowWhoseBodyIsNotKnownCountsAsTheSame) {
  const DedupFound found{{dedup_message(1, "k"), {.id = 7, .uuid = uuid(9)}}};
  EXPECT_EQ(admit(Groups{{candidate(1, "k", "anything")}}, found)[0][0].verdict, Admission::Duplicate);
}

TEST(Admit, InsideOneRequestTheEarlierOneWins) {
  const auto verdicts = admit(Groups{{candidate(1, "k", "x"), candidate(2, "k", "x")}}, {});
  EXPECT_EQ(verdicts[0][0].verdict, Admission::New);
  EXPECT_EQ(verdicts[0][1].verdict, Admission::Duplicate);
  EXPECT_EQ(verdicts[0][1].first, uuid(1));
}

TEST(Admit, InsideOneRequestOneKeyForTwoBodiesIsRefused) {
  const auto verdicts = admit(Groups{{candidate(1, "k", "x"), candidate(2, "k", "y")}}, {});
  EXPECT_EQ(verdicts[0][1].verdict, Admission::KeyReused);
}

TEST(Admit, AmongRequestsTheEarlierOneWins) {
  const auto verdicts = admit(Groups{{candidate(1, "k", "x")}, {candidate(2, "k", "x")}, {candidate(3, "k", "y")}}, {});
  EXPECT_EQ(verdicts[0][0].verdict, Admission::New);
  EXPECT_EQ(verdicts[1][0].verdict, Admission::Duplicate);
  EXPECT_EQ(verdicts[1][0].first, uuid(1));
  EXPECT_EQ(verdicts[2][0].verdict, Admission::KeyReused);
}

TEST(Admit, ARefusedRequestLeavesNoTraceForThoseBehindIt) {
  const DedupFound found{{dedup_message(1, "taken"), {.body = body("x"), .uuid = uuid(9)}}};
  const auto verdicts =
      admit(Groups{{candidate(1, "fresh", "a"), candidate(2, "taken", "other")}, {candidate(3, "fresh", "b")}}, found);
  EXPECT_EQ(verdicts[0][1].verdict, Admission::KeyReused);
  EXPECT_EQ(verdicts[1][0].verdict, Admission::New) << "the first request stored nothing, so its key is free";
  EXPECT_EQ(verdicts[1][0].first, uuid(3));
}

TEST(Admit, AnEmptyRequestHasNoVerdicts) {
  const auto verdicts = admit(Groups{{}, {candidate(1, "k", "x")}}, {});
  EXPECT_TRUE(verdicts[0].empty());
  EXPECT_EQ(verdicts[1][0].verdict, Admission::New);
}

TEST(DedupKeys, OfDifferentKindsNeverMeet) {
  const std::string text(16, 'a');
  Uuid id;
  std::copy(text.begin(), text.end(), id.bytes.begin());
  EXPECT_NE(dedup_message(1, text), dedup_delivery(1, text));
  EXPECT_NE(dedup_id(1, id), dedup_message(1, text));
  EXPECT_NE(dedup_message(1, text), dedup_message(2, text));
}

}  // namespace
}  // namespace postrider
