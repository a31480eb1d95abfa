#include "core/reason.h"

#include "base/check.h"

namespace postrider {

std::string_view code_of(Reason reason) {
  switch (reason) {
#define X(name, number, code, words) \
  case Reason::name: return code;
    POSTRIDER_REASONS(X)
#undef X
  }
  POSTRIDER_DIE("a Reason outside its enum");
}

std::string_view words_of(Reason reason) {
  switch (reason) {
#define X(name, number, code, words) \
  case Reason::name: return words;
    POSTRIDER_REASONS(X)
#undef X
  }
  POSTRIDER_DIE("a Reason outside its enum");
}

bool is_failure_of_expansion(Reason reason) {
  return reason == Reason::ContextFailed || reason == Reason::ExpansionFailed;
}

std::optional<Reason> parse_reason(std::string_view code) {
#define X(name, number, text, words) \
  if (code == text) return Reason::name;
  POSTRIDER_REASONS(X)
#undef X
  return std::nullopt;
}

std::optional<Reason> reason_from(int number) {
#define X(name, stored, code, words) \
  if (number == stored) return Reason::name;
  POSTRIDER_REASONS(X)
#undef X
  return std::nullopt;
}

}  // namespace postrider
