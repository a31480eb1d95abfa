// Templates as far as they go today: text with {{key}} from the payload. The language grows behind these two functions.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace postrider {

enum class Escape : std::uint8_t { None, Html };

/// A template text, taken apart once.
class CompiledText {
 public:
  CompiledText() = default;
  /// Invalid: what is wrong and where ("line 3: {{ is never closed").
  static Result<CompiledText> compile(std::string_view text);

  /// Appends the rendering to `out`. A key without a value gives empty text and its name in `missing`.
  void render(JsonView data, Escape escape, std::string& out, std::vector<std::string>& missing) const;
  [[nodiscard]] bool empty() const { return pieces_.empty(); }

 private:
  enum class Kind : std::uint8_t { Literal, Key, RawKey };
  struct Piece {
    Kind kind;
    std::string text;
  };
  std::vector<Piece> pieces_;
};

void append_escaped(std::string& out, std::string_view text, Escape escape);

}  // namespace postrider
