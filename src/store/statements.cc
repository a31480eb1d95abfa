#include "store/statements.h"

#include "base/check.h"
#include "base/text.h"

namespace postrider {
namespace {

constexpr std::string_view kMark = "-- name:";

void keep(Statements& out, std::string& name, std::string& text) {
  if (name.empty()) return;
  if (trim(text).empty()) die("an SQL statement is empty: " + name);
  if (!out.emplace(name, std::string{trim(text)}).second) die("an SQL statement is named twice: " + name);
  text.clear();
}

}  // namespace

Statements parse_statements(std::span<const std::string_view> files) {
  Statements out;
  for (const std::string_view file : files) {
    std::string name;
    std::string text;
    for (const std::string_view line : split(file, '\n')) {
      if (line.starts_with(kMark)) {
        keep(out, name, text);
        name = trim(line.substr(kMark.size()));
      } else if (trim(line).starts_with("--") || trim(line).empty()) {
        continue;  // a comment is for the reader of the file
      } else if (name.empty()) {
        die("SQL before the first name: " + std::string{line});
      } else {
        text += line;
        text += '\n';
      }
    }
    keep(out, name, text);
  }
  return out;
}

std::string with(std::string text, std::string_view mark, std::string_view instead) {
  for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos; at += instead.size())
    text.replace(at, mark.size(), instead);
  return text;
}

}  // namespace postrider
