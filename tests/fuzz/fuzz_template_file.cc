// Template files: any bytes are read or refused with a line; what was read is written and read back equal; what people
// could have stored is a file that says the same. The set of one's own files can be judged, whatever stands in them.
#include "base/check.h"
#include "base/text.h"
#include "core/authoring/template_lint.h"
#include "fuzz/input.h"

namespace postrider {
namespace {

void check_read(std::string_view bytes, std::vector<TemplateFile>& files) {
  auto read = read_template_file(bytes);
  if (!read) {
    const std::string& why = read.error().text;
    POSTRIDER_CHECK(why.starts_with("line ") && is_utf8(why) && !has_control(why));
    return;
  }
  const TextOrigin& at = read->text.origin;
  const auto lines = static_cast<std::size_t>(std::count(bytes.begin(), bytes.end(), '\n')) + 2;
  for (const std::size_t line : {at.subject_line, at.params_line, at.body_line, at.html_line})
    POSTRIDER_CHECK(line >= 1 && line <= lines);
  const auto again = read_template_file(write_template_file(*read));
  POSTRIDER_CHECK(again && *again == *read);
  files.push_back(std::move(*read));
}

// Fields that come from elsewhere than a file: every one that has the shape of a template survives being a file.
void check_written(fuzz::Input input) {
  TemplateFile file;
  file.head.active = (input.byte() & 1U) != 0;
  const std::uint8_t channel = input.byte();
  if (channel % 9 != 0) file.head.channel = kChannels[channel % kChannels.size()];
  for (std::string* field :
       {&file.head.key, &file.head.name, &file.head.type, &file.head.scope_type, &file.head.scope_id, &file.text.locale,
        &file.text.subject, &file.text.provider_template, &file.text.body, &file.text.html}) {
    *field = input.field();
  }
  while (!input.rest().empty() && file.text.provider_params.size() < 5) {
    std::string name = input.field();
    file.text.provider_params.emplace_back(std::move(name), input.field());
  }
  TemplateSource whole = file.head;
  whole.texts = {file.text};
  if (shape_problem(whole)) return;
  const auto read = read_template_file(write_template_file(file));
  POSTRIDER_CHECK(read && *read == file);
}

void run(fuzz::Input input) {
  std::vector<TemplateFile> files;
  check_read(input.rest(), files);
  check_written(input);
  if (files.empty()) return;
  Rules rules;
  rules.tenants.push_back({.id = 1, .name = "a"});
  rules.routes.push_back({.type = files.front().head.type, .keys = {"name", "guest.phone", "rooms.title"}});
  rules.index();
  const std::string name = template_file_name(files.front().head, files.front().text.locale);
  POSTRIDER_CHECK(name.find('/') == std::string::npos && !name.starts_with('.'));
  const Gathered gathered = gather(std::move(files), "a");
  for (const Finding& finding : lint({rules, gathered.templates})) {
    POSTRIDER_CHECK(!finding.text.empty() && is_utf8(to_text(finding)));
  }
}

}  // namespace
}  // namespace postrider

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  postrider::run({data, size});
  return 0;
}
