// docs/reference/configuration.md against the code: every key of every adapter is explained there, and its example
// works.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/text.h"
#include "providers/registry.h"
#include "runtime/config.h"

namespace postrider {
namespace {

std::string page() {
  std::ostringstream text;
  text << std::ifstream{POSTRIDER_SOURCE_DIR "/docs/reference/configuration.md"}.rdbuf();
  return text.str();
}

std::string any_variable(const std::string&) { return "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"; }
Result<std::string> any_file(const std::string&) { return std::string{"secret"}; }

TEST(ConfigurationPage, ExplainsEveryKeyOfEveryAdapter) {
  const std::string text = page();
  for (const Adapter& adapter : adapters()) {
    const std::string title = "### `" + std::string{adapter.type} + "`";
    const std::size_t begin = text.find(title);
    ASSERT_NE(begin, std::string::npos) << title;
    const std::string section = text.substr(begin, text.find("\n##", begin + 4) - begin);
    for (const SettingRule& rule : adapter.settings)
      EXPECT_NE(section.find("| `" + std::string{rule.key} + "` |"), std::string::npos)
          << adapter.type << "." << rule.key;
  }
}

// The unknown-key error lists what a table knows, so the page can be held against the reader itself.
TEST(ConfigurationPage, ExplainsEveryKeyOfEveryTable) {
  const std::string text = page();
  for (const std::string_view table :
       {"[engine]\n", "[store]\n", "[http]\n", "[[tenants]]\nname = \"a\"\n", "[[routes]]\ntype = \"a\"\n",
        "[[templates]]\nkey = \"k\"\ntype = \"a\"\nchannel = \"sms\"\nbody = \"x\"\n", "[[policies]]\n",
        "[providers.p]\ntype = \"sandbox\"\n", ""}) {
    const auto config = parse_config(std::string{table} + "zzz = 1", "f", adapters(), {any_variable, any_file});
    ASSERT_FALSE(config);
    const std::string& said = config.error().text;
    const std::size_t begin = said.find("(known: ");
    ASSERT_NE(begin, std::string::npos) << said;
    const std::string known = said.substr(begin + 8, said.size() - begin - 9);
    for (const std::string_view key : split(known, ',')) {
      EXPECT_TRUE(text.find("`" + std::string{trim(key)} + "`") != std::string::npos ||
                  text.find("[" + std::string{trim(key)}) != std::string::npos)
          << trim(key) << " of " << table;
    }
  }
}

TEST(ConfigurationPage, ItsExamplesAreGood) {
  const std::string text = page();
  int examples = 0;
  for (std::size_t at = text.find("```toml\n"); at != std::string::npos; at = text.find("```toml\n", at + 1)) {
    const std::size_t begin = at + 8;
    const std::string example = text.substr(begin, text.find("```", begin) - begin);
    const auto config = parse_config(example, "example", adapters(), {any_variable, any_file});
    EXPECT_TRUE(config) << config.error().text << "\nin\n" << example;
    ++examples;
  }
  EXPECT_GE(examples, 1);
}

TEST(ConfigurationPage, NamesEveryPresetOfPolicies) {
  const std::string text = page();
  for (const std::string_view name : preset_policy_names())
    EXPECT_NE(text.find("`" + std::string{name} + "`"), std::string::npos) << name;
}

}  // namespace
}  // namespace postrider
