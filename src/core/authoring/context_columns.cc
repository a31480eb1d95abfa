#include "core/authoring/context_columns.h"

#include "base/text.h"

namespace postrider {
namespace {

enum class TokenKind : std::uint8_t { Word, Quoted, Sign };
struct Token {
  TokenKind kind = TokenKind::Sign;
  std::string text = {};  // a quoted name without its quotes
  int depth = 0;          // of parentheses
};

constexpr std::string_view kValueStarts = "$0123456789";  // of a number, or of a parameter

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 0x80;
}

std::size_t end_of_comment(std::string_view sql, std::size_t at) {
  const bool line = sql.substr(at).starts_with("--");
  if (!line && !sql.substr(at).starts_with("/*")) return at;
  const std::size_t end = line ? sql.find('\n', at) : sql.find("*/", at + 2);
  return end == std::string_view::npos ? sql.size() : end + (line ? 1 : 2);
}

std::vector<Token> tokens_of(std::string_view sql) {
  std::vector<Token> out;
  int depth = 0;
  std::size_t at = 0;
  while (at < sql.size()) {
    const char c = sql[at];
    std::size_t end = end_of_comment(sql, at);
    if (end != at) {
      at = end;
    } else if (c == '\'' || c == '"') {
      end = std::min(sql.find(c, at + 1), sql.size());
      out.push_back(
          {c == '"' ? TokenKind::Quoted : TokenKind::Sign, std::string{sql.substr(at + 1, end - at - 1)}, depth});
      at = std::min(end + 1, sql.size());
    } else if (is_word(c)) {
      end = at;
      while (end < sql.size() && is_word(sql[end])) ++end;
      out.push_back({TokenKind::Word, std::string{sql.substr(at, end - at)}, depth});
      at = end;
    } else {
      if (c == ')') --depth;
      if (c != ' ' && c != '\t' && c != '\n' && c != '\r') out.push_back({TokenKind::Sign, std::string{c}, depth});
      if (c == '(') ++depth;
      ++at;
    }
  }
  return out;
}

bool is_keyword(const Token& token, std::string_view word) {
  return token.kind == TokenKind::Word && equal_ignoring_case(token.text, word);
}
bool is_sign(const Token& token, std::string_view sign) { return token.kind == TokenKind::Sign && token.text == sign; }

// PostgreSQL names `a::text` after a: the last cast goes, unless a name of its own follows it.
void drop_cast(std::vector<Token>& item) {
  for (std::size_t i = item.size(); i-- > 1;) {
    if (!is_sign(item[i], ":") || !is_sign(item[i - 1], ":") || item[i].depth != item.front().depth) continue;
    std::size_t words = 0;
    for (std::size_t k = i + 1; k < item.size(); ++k) {
      if (item[k].depth == item.front().depth && item[k].kind != TokenKind::Sign) ++words;
    }
    if (words <= 1) item.resize(i - 1);
    return;
  }
}

enum class ItemKind : std::uint8_t { Named, Nameless, Everything };
ItemKind name_of(std::vector<Token> item, std::string& name) {
  if (item.empty()) return ItemKind::Nameless;
  drop_cast(item);
  if (item.empty()) return ItemKind::Nameless;
  const Token& last = item.back();
  if (is_sign(last, "*") && (item.size() == 1 || is_sign(item[item.size() - 2], "."))) return ItemKind::Everything;
  const bool value = last.kind == TokenKind::Word && kValueStarts.find(last.text.front()) != std::string_view::npos;
  if (last.kind == TokenKind::Sign || value || is_keyword(last, "end")) return ItemKind::Nameless;
  name = last.text;
  return ItemKind::Named;
}

}  // namespace

std::optional<std::vector<std::string>> named_columns(std::string_view sql) {
  const std::vector<Token> tokens = tokens_of(sql);
  std::size_t at = 0;
  while (at < tokens.size() && !(tokens[at].depth == 0 && is_keyword(tokens[at], "select"))) ++at;
  if (at == tokens.size()) return std::nullopt;
  ++at;
  if (at < tokens.size() && (is_keyword(tokens[at], "distinct") || is_keyword(tokens[at], "all"))) ++at;
  std::vector<std::string> names;
  std::vector<Token> item;
  for (;; ++at) {
    const bool end = at == tokens.size() || (tokens[at].depth == 0 && is_keyword(tokens[at], "from"));
    if (!end && !(tokens[at].depth == 0 && is_sign(tokens[at], ","))) {
      item.push_back(tokens[at]);
      continue;
    }
    std::string name;
    switch (name_of(std::move(item), name)) {
      case ItemKind::Everything: return std::nullopt;
      case ItemKind::Named: names.push_back(std::move(name)); break;
      case ItemKind::Nameless: break;
    }
    item.clear();
    if (end) return names;
  }
}

}  // namespace postrider
