#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/text.h"
#include "seal/seal_folder.h"

namespace postrider {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kSecret = R"({"token":"r5vp-7711","link":"https://example.org/rsvp?t=r5vp-7711"})";

struct Seal : testing::Test {
  Seal() {
    std::string name = (fs::temp_directory_path() / "postrider-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error{"no temporary folder"};
    home = name;
  }
  ~Seal() override {
    std::error_code ignored;
    fs::remove_all(home, ignored);
  }
  [[nodiscard]] std::string folder() const { return (home / "seal").string(); }
  SealKey make(int second) {
    auto made = SealKeys::make(folder(), instant_from_us(second * 1'000'000));
    return std::move(*made);
  }
  [[nodiscard]] SealKeys keys() const {
    auto loaded = SealKeys::load(folder());
    return std::move(*loaded);
  }
  [[nodiscard]] std::string opened(const std::string& box) const {
    const auto inside = keys().open(box);
    return inside ? std::string{inside->reveal()} : inside.error().text;
  }
  fs::path home;
};

TEST_F(Seal, WhatIsSealedIsOpenedAndReadsLikeNothingInBetween) {
  make(1);
  const auto box = keys().seal(kSecret);
  ASSERT_TRUE(box);
  EXPECT_EQ(from_base64(*box)->find("token"), std::string::npos);
  EXPECT_EQ(opened(*box), kSecret);
  EXPECT_NE(*keys().seal(kSecret), *box) << "each box is another one";
}

// Made by libsodium through another language's binding.
TEST_F(Seal, ABoxThatAnotherProgramMadeIsOpened) {
  fs::create_directories(folder());
  const fs::path file = fs::path{folder()} / "aaa8fff7.key";
  std::ofstream{file} << "made 2026-01-01T00:00:00Z\nprivate AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=\n";
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(to_base64(keys().sealing()->public_key), "B6N8vBQgk8i3VdwbEOhstCY3StFqqFPtC9/AsrhtHHw=");
  EXPECT_EQ(
      opened("fLh0nMaCx7nSP45nP//l/JdY6XJP9u9scu2JGjJYRkHJzt03gusPy1qLJGN682/aSvGilf+Bvb16rsHcaeYxHPoEj0S8/ttKbo4="),
      R"({"token":"from elsewhere"})");
}

TEST_F(Seal, WithoutAFolderThereAreNoKeysAndNothingIsSealed) {
  const auto none = SealKeys::load(folder());
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->all().empty());
  EXPECT_EQ(none->seal(kSecret).error().code, ErrorCode::NotFound);
  EXPECT_EQ(none->open(to_base64(std::string(60, 'x'))).error().code, ErrorCode::NotFound);
}

TEST_F(Seal, TheNewestSealsAndAllOpen) {
  const std::string first = make(1).name;
  const std::string box = *keys().seal(kSecret);
  const std::string second = make(2).name;
  EXPECT_EQ(keys().sealing()->name, second);
  EXPECT_EQ(opened(box), kSecret);
  ASSERT_TRUE(SealKeys::retire(folder(), second));
  EXPECT_EQ(keys().sealing()->name, first) << "the newest of those that seal";
  ASSERT_TRUE(SealKeys::retire(folder(), first));
  EXPECT_EQ(keys().sealing(), nullptr);
  EXPECT_EQ(opened(box), kSecret) << "a retired key still opens";
  EXPECT_FALSE(SealKeys::retire(folder(), first)) << "only once";
  fs::remove(fs::path{folder()} / (first + ".retired.key"));
  EXPECT_EQ(opened(box), "no key here opens the sealed box");
}

TEST_F(Seal, FilesBelongToTheirOwnerAlone) {
  const std::string name = make(1).name;
  const std::string file = (fs::path{folder()} / (name + ".key")).string();
  struct stat about {};
  ASSERT_EQ(::stat(file.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600U);
  ASSERT_EQ(::stat(folder().c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0700U);
  EXPECT_EQ(std::distance(fs::directory_iterator{folder()}, {}), 1) << "no draft is left";
  ::chmod(file.c_str(), 0640);
  const auto refused = SealKeys::load(folder());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text.find("chmod 600"), std::string::npos);
}

TEST_F(Seal, ADamagedFileIsToldAndItsContentIsNot) {
  const std::string name = make(1).name;
  const fs::path file = fs::path{folder()} / (name + ".key");
  std::string text;
  {
    std::ifstream in{file};
    text.assign(std::istreambuf_iterator<char>{in}, {});
  }
  const std::string key = text.substr(text.find("private ") + 8, 20);
  for (const std::string& broken : {std::string{}, text.substr(0, text.size() - 5),
                                    "made then\n" + text.substr(text.find("private")), std::string(5000, 'x')}) {
    std::ofstream{file, std::ios::trunc} << broken;
    const auto read = SealKeys::load(folder());
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ErrorCode::Corrupt);
    EXPECT_EQ(read.error().text.find(key), std::string::npos);
  }
  std::ofstream{file, std::ios::trunc} << text;
  EXPECT_TRUE(SealKeys::load(folder()));
  fs::rename(file, fs::path{folder()} / "00000000.key");
  EXPECT_FALSE(SealKeys::load(folder())) << "a key under another's name";
}

TEST_F(Seal, WhatIsNoBoxOrChangedOnTheWayIsRefused) {
  make(1);
  EXPECT_EQ(opened(""), "this is no sealed box");
  EXPECT_EQ(opened("not base64!"), "this is no sealed box");
  EXPECT_EQ(opened(to_base64(std::string(47, 'x'))), "this is no sealed box");
  EXPECT_EQ(opened(to_base64(std::string(48 + 16385, 'x'))), "this is no sealed box");
  EXPECT_EQ(opened(std::string(1'000'000, 'A')), "this is no sealed box");
  const std::string box = *from_base64(*keys().seal(kSecret));
  for (std::size_t i = 0; i < box.size(); ++i) {
    std::string changed = box;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_EQ(opened(to_base64(changed)), "no key here opens the sealed box") << i;
  }
  EXPECT_EQ(opened(to_base64(box.substr(0, box.size() - 1))), "no key here opens the sealed box");
}

TEST_F(Seal, OnlyAnObjectOfBoundedSizeIsASecret) {
  make(1);
  for (const char* inside : {"", "7", "\"t\"", "[1]", "{\"a\":1", "{\"a\":1,\"a\":2}", "{} {}"})
    EXPECT_EQ(opened(*keys().seal(inside)), "what is in the sealed box is no JSON object") << inside;
  const std::string largest = "{\"a\":\"" + std::string(16384 - 8, 'x') + "\"}";
  EXPECT_EQ(opened(*keys().seal(largest)), largest);
  EXPECT_EQ(keys().seal(largest + " ").error().code, ErrorCode::Invalid);
}

TEST_F(Seal, AKeyThatComesLaterIsNoticed) {
  const auto seal = SealFolder::open_folder(folder());
  ASSERT_TRUE(seal);
  EXPECT_EQ((*seal)->sealing_key().error().code, ErrorCode::NotFound);
  const std::string name = make(1).name;
  ASSERT_TRUE((*seal)->sealing_key());
  EXPECT_EQ((*seal)->sealing_key()->name, name);
  EXPECT_EQ(from_base64((*seal)->sealing_key()->public_key)->size(), 32U);
  const auto box = (*seal)->seal(kSecret);
  EXPECT_EQ(*(*seal)->open(*box), kSecret);
  ASSERT_TRUE(SealKeys::retire(folder(), name));
  EXPECT_EQ((*seal)->seal(kSecret).error().code, ErrorCode::NotFound);
  EXPECT_EQ(*(*seal)->open(*box), kSecret);
}

TEST_F(Seal, ManyThreadsSealAndOpenAtOnce) {
  make(1);
  const auto seal = SealFolder::open_folder(folder());
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        const auto box = (*seal)->seal(kSecret);
        if (box && *(*seal)->open(*box) == kSecret) ++right;
      }
    });
  }
  make(2);
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(right, 200);
}

TEST(SecretText, IsWipedWhereItStood) {
  std::string text = "a secret that is longer than a small string";
  text.reserve(200);
  const char* const place = text.data();
  wipe(text);
  EXPECT_TRUE(text.empty());
  for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(place[i], '\0');
  SecretText secret{16};
  std::copy_n("0123456789abcdef", 16, secret.data());
  secret.shorten(4);
  EXPECT_EQ(secret.reveal(), "0123");
  EXPECT_EQ(secret.data()[4], '\0');
  SecretText moved = std::move(secret);
  EXPECT_EQ(moved.reveal(), "0123");
}

}  // namespace
}  // namespace postrider
