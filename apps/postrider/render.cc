#include "core/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>

#include "base/json.h"
#include "base/limits.h"
#include "base/text.h"
#include "commands.h"
#include "core/sms_segments.h"
#include "locale/icu_formatter.h"

namespace postrider::app {
namespace {

Result<std::string> read_named(const std::string& path) { return read_file(path == "-" ? "/dev/stdin" : path); }

// Every file of the folder is a partial: `footer`, `footer.mustache` and `footer.txt` are all called footer. The names
// are read here once, so that no template can name a file of its own choice.
Result<Partials> read_partials(const std::string& folder) {
  Partials partials;
  if (folder.empty()) return partials;
  std::error_code error;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    std::error_code unreadable;
    if (entry.is_regular_file(unreadable)) files.push_back(entry.path());
  }
  if (error) return Error{ErrorCode::NotFound, fmt::format("cannot read the folder {}", folder)};
  std::sort(files.begin(), files.end());
  std::set<std::string> names;
  for (const std::filesystem::path& file : files) {
    std::string name = file.stem().string();
    if (!names.insert(name).second) {
      return Error{ErrorCode::Invalid, fmt::format("{}: two files are called {}", folder, name)};
    }
    POSTRIDER_TRY(text, read_file(file.string()));
    POSTRIDER_TRY_DONE(partials.add(std::move(name), text));
  }
  return partials;
}

void print_json(const Rendered& rendered) {
  const SmsSize sms = sms_size(rendered.text);
  JsonWriter w;
  w.begin_object().member("text", rendered.text);
  w.key("missing").begin_array();
  for (const std::string& key : rendered.missing) w.value(key);
  w.end_array().key("unformatted").begin_array();
  for (const std::string& key : rendered.unformatted) w.value(key);
  w.end_array().key("sms").begin_object();
  w.member("alphabet", sms.alphabet == SmsAlphabet::Gsm7 ? "gsm7" : "ucs2");
  w.member("units", sms.units).member("segments", sms.segments).end_object();
  fmt::print("{}\n", w.end_object().take());
}

}  // namespace

int run_render(const Common& common, const RenderCommand& command) {
  if (command.body_file == "-" && command.data_file == "-") {
    return fail("only one of --body-file and --data-file can be standard input");
  }
  if (!is_known_locale(command.locale)) return fail(fmt::format("--locale {}: not a language tag", command.locale));
  if (!is_known_zone(command.timezone)) return fail(fmt::format("--timezone {}: no such zone", command.timezone));
  const auto body = read_named(command.body_file);
  if (!body) return fail(body.error());
  const auto data = read_named(command.data_file);
  if (!data) return fail(data.error());
  const auto document = JsonDocument::parse(*data, {.bytes_max = kPayloadBytesMax, .depth_max = kJsonDepthMax});
  if (!document) return fail(fmt::format("{}: {}", command.data_file, document.error().text));
  const auto compiled = CompiledText::compile(*body);
  if (!compiled) return fail(fmt::format("{}: {}", command.body_file, compiled.error().text));
  const auto partials = read_partials(command.partials);
  if (!partials) return fail(partials.error());
  const auto rendered =
      compiled->render(document->root(), {.escape = command.html ? Escape::Html : Escape::None,
                                          .missing = command.keep_missing ? MissingKey::Kept : MissingKey::Empty,
                                          .partials = &*partials,
                                          .formatter = &icu_formatter(),
                                          .locale = command.locale,
                                          .zone = command.timezone,
                                          .date_format = command.date_format});
  if (!rendered) return fail(fmt::format("{}: {}", command.body_file, rendered.error().text));
  if (common.json) {
    print_json(*rendered);
    return 0;
  }
  const std::string& text = rendered->text;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    return fail("cannot write to standard output");
  }
  for (const std::string& key : rendered->missing) fmt::print(stderr, "postrider: no value for {}\n", printable(key));
  for (const std::string& key : rendered->unformatted)
    fmt::print(stderr, "postrider: not formatted: {}\n", printable(key));
  return 0;
}

}  // namespace postrider::app
