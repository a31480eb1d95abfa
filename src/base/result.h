// An environment error as a value: `Result<T>` with the accessors of std::expected. The code decides, the text is for
// people.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "base/check.h"

namespace postrider {

enum class ErrorCode : std::uint8_t {
  Unavailable,  // The other side cannot be reached or is not ready; trying again may help.
  Conflict,     // Somebody else holds or changed it.
  NotFound,     // There is no such thing (or not for this tenant).
  Invalid,      // What was given is wrong; the text says what to do.
  Exhausted,    // A limit or the disk is full.
  Corrupt,      // What was read back cannot be right.
  Unsupported,  // This store, provider or version cannot do that.
  Cancelled,    // We were asked to stop.
  Ambiguous,    // The connection broke while it was being written: it may or may not have happened.
};

struct Error {
  ErrorCode code = ErrorCode::Unavailable;
  std::string text;
};

struct Done {};  // Result<Done>: it happened, there is nothing to say.

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : held_(std::move(value)) {}      // NOLINT(google-explicit-constructor): reads as `return value;`
  Result(Error error) : held_(std::move(error)) {}  // NOLINT(google-explicit-constructor): reads as `return Error{…};`

  [[nodiscard]] bool has_value() const { return held_.index() == 0; }
  explicit operator bool() const { return has_value(); }
  T& value() & { return get(); }
  const T& value() const& { return const_cast<Result*>(this)->get(); }
  T value() && { return std::move(get()); }  // By value: a range-for over it must not dangle.
  T& operator*() & { return get(); }
  const T& operator*() const& { return value(); }
  T operator*() && { return std::move(get()); }
  T* operator->() { return &get(); }
  const T* operator->() const { return &value(); }
  [[nodiscard]] const Error& error() const {
    POSTRIDER_CHECK(!has_value());
    return std::get<1>(held_);
  }
  T value_or(T other) && { return has_value() ? std::move(get()) : std::move(other); }

 private:
  T& get() {
    if (!has_value()) die("Result without a value: " + std::get<1>(held_).text);
    return std::get<0>(held_);
  }
  std::variant<T, Error> held_;
};

}  // namespace postrider

// Takes the value out of a Result, or returns its error from this function.
#define POSTRIDER_TRY(name, expression)               \
  auto name##_result_ = (expression);                 \
  if (!name##_result_) return name##_result_.error(); \
  auto name = std::move(name##_result_).value()
#define POSTRIDER_TRY_DONE(expression)                           \
  do {                                                           \
    if (auto done_ = (expression); !done_) return done_.error(); \
  } while (false)
