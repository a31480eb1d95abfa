#include <fmt/format.h>

#include "base/json.h"
#include "commands.h"

namespace postrider::app {

int run_migrate(const Common& common) {
  auto config = read_config(common);
  if (!config) return fail(config.error());
  auto store = open_store(common, *config, WhereNone::MakeIt);
  if (!store) return fail(store.error());
  const auto before = (*store)->schema_version();
  if (!before) return fail(before.error());
  if (auto migrated = (*store)->migrate(); !migrated) return fail(migrated.error());
  if (common.json) {
    fmt::print(
        "{}\n",
        JsonWriter{}.begin_object().member("from", before->found).member("to", before->wanted).end_object().take());
  } else if (before->found == before->wanted) {
    fmt::print("the tables are already of version {}\n", before->wanted);
  } else {
    fmt::print("the tables went from version {} to {}\n", before->found, before->wanted);
  }
  return 0;
}

int run_config_check(const Common& common) {
  const std::string file = config_file_of(common);
  if (auto text = read_file(file); !text) return fail(text.error());
  auto config = read_config(common);
  if (!config) return fail(config.error());
  if (common.json) {
    fmt::print("{}\n", JsonWriter{}.begin_object().member("file", file).member("ok", true).end_object().take());
  } else {
    fmt::print("{}: good ({} tenants, {} providers, {} routes, {} templates, {} policies)\n", file,
               config->tenants.size(), config->providers.size(), config->routes.size(), config->templates.size(),
               config->policies.size());
  }
  return 0;
}

int run_version(const Common& common) {
  if (common.json) {
    fmt::print("{}\n", JsonWriter{}.begin_object().member("version", POSTRIDER_VERSION).end_object().take());
  } else {
    fmt::print("postrider {}\n", POSTRIDER_VERSION);
  }
  return 0;
}

}  // namespace postrider::app
