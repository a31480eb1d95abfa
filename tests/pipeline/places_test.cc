// Places at providers: what is reserved is bounded, and a provider that is not there has none.
#include "pipeline/places.h"

#include <gtest/gtest.h>

namespace postrider {
namespace {

Rules one_provider(int window) {
  Rules rules;
  rules.providers = {{.id = 1, .name = "mail", .window = window}};
  rules.index();
  return rules;
}

TEST(Places, AreReservedUpToTheWindowLessWhatTheLaneKeepsFree) {
  Places places{one_provider(16)};
  EXPECT_EQ(places.room(1, Lane::Bulk), 12);
  EXPECT_EQ(places.reserve(1, 100, Lane::Bulk), 12);
  EXPECT_EQ(places.reserve(1, 100, Lane::Standard), 2);
  EXPECT_EQ(places.reserve(1, 1, Lane::Standard), 0);
  EXPECT_EQ(places.reserve(1, 100, Lane::Priority), 2);
  EXPECT_EQ(places.free(1), 0);
  places.give_back(1, 0);
  places.give_back(1, 16);
  EXPECT_EQ(places.used(1), 0);
}

TEST(Places, CanBeMadeFewerAndNeverMoreThanTheWindow) {
  Places places{one_provider(16)};
  EXPECT_EQ(places.reserve(1, 12, Lane::Priority), 12);
  places.resize(1, 8);
  EXPECT_EQ(places.size(1), 8);
  EXPECT_EQ(places.free(1), 0);
  EXPECT_EQ(places.room(1, Lane::Priority), 0);
  EXPECT_EQ(places.reserve(1, 1, Lane::Priority), 0);
  places.give_back(1, 8);  // what was reserved before is still somebody's
  EXPECT_EQ(places.free(1), 4);
  places.resize(1, 100);
  EXPECT_EQ(places.size(1), 16);
}

TEST(Places, AProviderThatIsNotConfiguredHasNone) {
  Places places{one_provider(16)};
  EXPECT_EQ(places.reserve(2, 1, Lane::Priority), 0);
  places.give_back(2, 1);
  places.set_open(2, true);
  places.resize(2, 8);
  EXPECT_EQ(places.size(2), 0);
  EXPECT_EQ(places.free(2), 0);
  EXPECT_EQ(places.room(2, Lane::Priority), 0);
  EXPECT_EQ(places.used(2), 0);
  EXPECT_FALSE(places.may_own(2, Lane::Standard));
}

}  // namespace
}  // namespace postrider
