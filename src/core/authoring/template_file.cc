#include "core/authoring/template_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/json.h"
#include "base/text.h"

namespace postrider {
namespace {

constexpr std::string_view kFence = "---";
constexpr std::string_view kHtmlMark = "--- html ---";
constexpr std::string_view kPartial = "partial";

std::string_view without_cr(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// The mark itself, or one that the writer hid behind backslashes because it is part of a text.
bool looks_like_mark(std::string_view line) {
  line = without_cr(line);
  while (line.starts_with('\\')) line.remove_prefix(1);
  return line == kHtmlMark;
}

/// A text cut into lines that know their number.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}
  [[nodiscard]] bool at_end() const { return rest_.empty(); }
  [[nodiscard]] std::size_t number() const { return number_; }  // of the line that comes next
  std::string_view next() {
    const std::size_t end = rest_.find('\n');
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    ++number_;
    return line;
  }

 private:
  std::string_view rest_;
  std::size_t number_ = 1;
};

Error at_line(std::size_t line, std::string_view what) {
  return {ErrorCode::Invalid, fmt::format("line {}: {}", line, what)};
}

// Where the JSON text that `value` begins with ends; npos when it does not.
std::size_t end_of_quoted(std::string_view value) {
  for (std::size_t i = 1; i < value.size(); ++i) {
    if (value[i] == '\\') {
      ++i;
    } else if (value[i] == '"') {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

Result<std::string> unquoted(std::string_view value, std::size_t line) {
  if (!value.starts_with('"')) return std::string{value};
  const auto parsed = JsonDocument::parse(value);
  const auto text = parsed ? parsed->root().text() : std::nullopt;
  if (!text) return at_line(line, "a value that begins with a quotation mark must be a JSON text, \"…\"");
  return std::string{*text};
}

class Reader {
 public:
  explicit Reader(std::string_view text) : lines_(text) {}

  Result<TemplateFile> read() {
    if (without_cr(lines_.next()) != kFence) return at_line(1, "a template begins with a line ---");
    POSTRIDER_TRY_DONE(read_head());
    if (file_.head.key.empty()) return at_line(1, "the head has no key");
    if (!channel_given_) return at_line(1, "the head has no channel (or \"channel: partial\")");
    read_parts();
    return std::move(file_);
  }

 private:
  Result<Done> read_head() {
    bool in_params = false;
    while (!lines_.at_end()) {
      const std::size_t number = lines_.number();
      const std::string_view line = without_cr(lines_.next());
      if (line == kFence) {
        return Done{};
      }
      const std::string_view content = trim(line);
      if (content.empty() || content.starts_with('#')) continue;
      const bool indented = line.front() == ' ' || line.front() == '\t';
      if (indented && in_params) {
        POSTRIDER_TRY_DONE(read_param(content, number));
        continue;
      }
      if (indented) return at_line(number, "only the lines of provider_params are indented");
      const std::size_t colon = content.find(':');
      if (colon == std::string_view::npos) return at_line(number, "is not of the form \"key: value\"");
      const std::string_view name = trim(content.substr(0, colon));
      POSTRIDER_TRY_DONE(read_field(name, trim(content.substr(colon + 1)), number));
      in_params = name == "provider_params";
    }
    return at_line(lines_.number(), "the head is never closed by a line ---");
  }

  Result<Done> read_field(std::string_view name, std::string_view raw, std::size_t line) {
    if (!seen_.insert(std::string{name}).second)
      return at_line(line, fmt::format("\"{}\" is given twice", printable(excerpt(name, 60))));
    POSTRIDER_TRY(value, unquoted(raw, line));
    TemplateSource& head = file_.head;
    TextSource& text = file_.text;
    struct Field {
      std::string_view name;
      std::string& place;
    };
    for (const Field& field :
         {Field{"key", head.key}, Field{"name", head.name}, Field{"type", head.type}, Field{"locale", text.locale},
          Field{"subject", text.subject}, Field{"provider_template", text.provider_template}}) {
      if (field.name != name) continue;
      if (name == "subject") text.origin.subject_line = line;
      field.place = std::move(value);
      return Done{};
    }
    if (name == "channel") return read_channel(value, line);
    if (name == "scope") return read_scope(value, line);
    if (name == "active") return read_active(value, line);
    if (name != "provider_params")
      return at_line(line, fmt::format("\"{}\" is not known: there is key, name, type, channel, locale, scope, active, "
                                       "subject, provider_template, provider_params",
                                       printable(excerpt(name, 60))));
    text.origin.params_line = line + 1;
    if (!value.empty()) return at_line(line, "the parameters stand on the next lines, indented: \"  name = text\"");
    return Done{};
  }

  Result<Done> read_channel(std::string_view value, std::size_t line) {
    channel_given_ = true;
    if (value == kPartial) return Done{};
    file_.head.channel = parse_channel(value);
    if (file_.head.channel) return Done{};
    return at_line(line, fmt::format("\"{}\" is not a channel", printable(excerpt(value, 60))));
  }

  Result<Done> read_scope(std::string_view value, std::size_t line) {
    const std::size_t slash = value.find('/');
    if (slash == std::string_view::npos || slash == 0 || slash + 1 == value.size())
      return at_line(line, "a scope is of the form type/id (listing/10)");
    file_.head.scope_type = value.substr(0, slash);
    file_.head.scope_id = value.substr(slash + 1);
    return Done{};
  }

  Result<Done> read_active(std::string_view value, std::size_t line) {
    if (value != "true" && value != "false") return at_line(line, "active is true or false");
    file_.head.active = value == "true";
    return Done{};
  }

  Result<Done> read_param(std::string_view content, std::size_t line) {
    const std::size_t quoted = content.starts_with('"') ? end_of_quoted(content) : 0;
    const std::size_t equals = quoted == std::string_view::npos ? quoted : content.find('=', quoted);
    if (equals == std::string_view::npos) return at_line(line, "is not of the form \"name = text\"");
    POSTRIDER_TRY(name, unquoted(trim(content.substr(0, equals)), line));
    POSTRIDER_TRY(value, unquoted(trim(content.substr(equals + 1)), line));
    file_.text.provider_params.emplace_back(std::move(name), std::move(value));
    return Done{};
  }

  void read_parts() {
    std::string* part = &file_.text.body;
    file_.text.origin.body_line = lines_.number();
    file_.text.origin.html_line = lines_.number();
    bool in_html = false;
    bool first = true;
    while (!lines_.at_end()) {
      std::string_view line = lines_.next();
      if (looks_like_mark(line)) {
        if (!line.starts_with('\\') && !in_html) {
          in_html = first = true;
          part = &file_.text.html;
          file_.text.origin.html_line = lines_.number();
          continue;
        }
        if (line.starts_with('\\')) line.remove_prefix(1);
      }
      if (!first) *part += '\n';
      first = false;
      *part += line;
    }
  }

  Lines lines_;
  TemplateFile file_;
  std::set<std::string> seen_;
  bool channel_given_ = false;
};

bool is_plain(std::string_view value) {
  return !value.empty() && trim(value) == value && !has_control(value) && value.front() != '"';
}

std::string quoted(std::string_view value) {
  std::string out;
  append_json_string(out, value);
  return out;
}

void put(std::string& out, std::string_view name, std::string_view value) {
  if (!value.empty()) out += fmt::format("{}: {}\n", name, is_plain(value) ? std::string{value} : quoted(value));
}

// Each line ends, the last one too; and the empty text has none.
void put_part(std::string& out, std::string_view text) {
  if (text.empty()) return;
  for (const std::string_view line : split(text, '\n')) {
    if (looks_like_mark(line)) out += '\\';
    out += line;
    out += '\n';
  }
}

void append_name(std::string& out, std::string_view part) {
  for (const char c : part) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                       c == '-' || (c == '.' && !out.empty());
    out += plain ? c : '-';
  }
}

}  // namespace

Result<TemplateFile> read_template_file(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (!is_utf8(text)) return Error{ErrorCode::Invalid, "line 1: the file is not UTF-8"};
  return Reader{text}.read();
}

std::string write_template_file(const TemplateFile& file) {
  const TemplateSource& head = file.head;
  std::string out{"---\n"};
  put(out, "key", head.key);
  put(out, "name", head.name);
  put(out, "type", head.type);
  put(out, "channel", head.channel ? to_text(*head.channel) : kPartial);
  put(out, "locale", file.text.locale);
  if (!head.scope_type.empty()) put(out, "scope", fmt::format("{}/{}", head.scope_type, head.scope_id));
  if (!head.active) put(out, "active", "false");
  put(out, "subject", file.text.subject);
  put(out, "provider_template", file.text.provider_template);
  if (!file.text.provider_params.empty()) out += "provider_params:\n";
  for (const auto& [name, value] : file.text.provider_params) {
    const bool plain = is_plain(name) && name.find('=') == std::string::npos && name.front() != '#';
    out += fmt::format("  {} = {}\n", plain ? name : quoted(name), is_plain(value) ? value : quoted(value));
  }
  out += "---\n";
  put_part(out, file.text.body);
  if (file.text.html.empty()) return out;
  out += kHtmlMark;
  out += '\n';
  put_part(out, file.text.html);
  return out;
}

std::string template_file_name(const TemplateSource& head, std::string_view locale) {
  std::string out;
  append_name(out, head.key);
  out += '.';
  append_name(out, head.channel ? to_text(*head.channel) : kPartial);
  if (!head.scope_type.empty()) {
    out += '.';
    append_name(out, fmt::format("{}-{}", head.scope_type, head.scope_id));
  }
  out += '.';
  append_name(out, locale.empty() ? "any" : locale);
  out += kTemplateFileEnding;
  return out;
}

}  // namespace postrider
