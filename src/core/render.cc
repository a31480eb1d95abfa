#include "core/render.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace postrider {

Result<CompiledText> CompiledText::compile(std::string_view text) {
  CompiledText compiled;
  const std::string_view whole = text;
  const auto line_at = [&](std::size_t offset) {
    return 1 + std::count(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(offset), '\n');
  };
  while (!text.empty()) {
    const std::size_t open = text.find("{{");
    if (open != 0) compiled.pieces_.push_back({Kind::Literal, std::string{text.substr(0, open)}});
    if (open == std::string_view::npos) break;
    const std::size_t offset = whole.size() - text.size() + open;
    const bool raw = text.substr(open).starts_with("{{{");
    const std::string_view closing = raw ? "}}}" : "}}";
    const std::size_t begin = open + (raw ? 3U : 2U);
    const std::size_t close = text.find(closing, begin);
    if (close == std::string_view::npos) {
      return Error{ErrorCode::Invalid, fmt::format("line {}: {{{{ is never closed", line_at(offset))};
    }
    std::string_view key = trim(text.substr(begin, close - begin));
    const bool ampersand = key.starts_with('&');
    if (ampersand) key = trim(key.substr(1));
    if (key.empty())
      return Error{ErrorCode::Invalid, fmt::format("line {}: a placeholder has no name", line_at(offset))};
    if (key.find_first_of("{}#/^>!= \n") != std::string_view::npos) {
      return Error{ErrorCode::Invalid,
                   fmt::format("line {}: \"{}\" is not a key", line_at(offset), excerpt(printable(key), 60))};
    }
    compiled.pieces_.push_back({raw || ampersand ? Kind::RawKey : Kind::Key, std::string{key}});
    text.remove_prefix(close + closing.size());
  }
  return compiled;
}

void CompiledText::render(JsonView data, Escape escape, std::string& out, std::vector<std::string>& missing) const {
  for (const Piece& piece : pieces_) {
    if (piece.kind == Kind::Literal) {
      out += piece.text;
      continue;
    }
    const auto value = data.find_path(piece.text);
    if (!value || value->kind() == JsonKind::Null) {
      missing.push_back(piece.text);
      continue;
    }
    const Escape how = piece.kind == Kind::RawKey ? Escape::None : escape;
    if (const auto text = value->text()) {
      append_escaped(out, *text, how);
    } else {
      append_escaped(out, value->spoken(), how);
    }
  }
}

void append_escaped(std::string& out, std::string_view text, Escape escape) {
  if (escape == Escape::None) {
    out += text;
    return;
  }
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
}

}  // namespace postrider
