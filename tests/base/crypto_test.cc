#include "base/crypto.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "base/prng.h"
#include "base/text.h"

namespace postrider {
namespace {

TEST(Hashes, HaveThePublishedVectors) {
  EXPECT_EQ(to_hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(to_hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(to_hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  const Hash128 half = hash128("abc");
  EXPECT_EQ(to_hex({reinterpret_cast<const char*>(half.bytes.data()), half.bytes.size()}),
            "ba7816bf8f01cfea414140de5dae2223");
}

TEST(Macs, HaveThePublishedVectors) {
  EXPECT_EQ(to_hex(hmac_sha256(std::string(20, '\x0b'), "Hi There")),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(to_hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(to_hex(hmac_sha256(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Comparing, TakesOnlyEqualBytes) {
  EXPECT_TRUE(equal_in_constant_time("", ""));
  EXPECT_TRUE(equal_in_constant_time("secret", "secret"));
  EXPECT_FALSE(equal_in_constant_time("secret", "secreT"));
  EXPECT_FALSE(equal_in_constant_time("secret", "secret "));
  EXPECT_FALSE(equal_in_constant_time(std::string_view{"a\0b", 3}, std::string_view{"a\0c", 3}));
}

TEST(Entropy, IsAsLongAsAskedAndNeverTheSame) {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(seen.insert(random_bytes(16)).second);
  EXPECT_EQ(random_bytes(0).size(), 0U);
  EXPECT_EQ(random_bytes(33).size(), 33U);
}

TEST(Dice, AreTheSameForTheSameSeedAndEven) {
  Prng a{9};
  Prng b{9};
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a.next(), b.next());
  std::array<int, 6> seen{};
  for (int i = 0; i < 60'000; ++i) ++seen[a.below(6)];
  for (const int count : seen) EXPECT_NEAR(count, 10'000, 500);
  EXPECT_EQ(a.below(0), 0U);
  EXPECT_EQ(a.below(1), 0U);
}

}  // namespace
}  // namespace postrider
