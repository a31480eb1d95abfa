// What rendering costs, in CPU time of this process. Not a test: it prints figures.
//   render_bench [--rounds N]
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <string>
#include <vector>

#include "core/render.h"
#include "locale/icu_formatter.h"

namespace postrider {
namespace {

double cpu_us() {
  timespec at{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
  return static_cast<double>(at.tv_sec) * 1e6 + static_cast<double>(at.tv_nsec) / 1e3;
}

constexpr std::size_t kTries = 5;

// The best of some tries: everything that disturbs only adds.
template <class Work>
void measure(std::string_view what, std::size_t rounds, const Work& work) {
  double best = 1e12;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < kTries; ++i) {
    const double begun = cpu_us();
    for (std::size_t round = 0; round < rounds; ++round) bytes += work();
    best = std::min(best, (cpu_us() - begun) / static_cast<double>(rounds));
  }
  fmt::print("{:<58} {:8.2f} us  ({} bytes)\n", what, best, bytes / kTries / rounds);
}

std::string flat_data(int keys) {
  std::string data = "{";
  for (int i = 0; i < keys; ++i) data += fmt::format("{}\"field_{}\":\"value {}\"", i == 0 ? "" : ",", i, i);
  return data + "}";
}

std::string letter(int keys, std::string_view form) {
  std::string text = "Dear guest,\n";
  for (int i = 0; i < keys; ++i) text += fmt::format("line {} of the letter says {{{{{}{}}}}} to you.\n", i, form, i);
  return text + "Yours\n";
}

void run(std::size_t rounds) {
  const RenderOptions plain{.formatter = &icu_formatter()};
  const RenderOptions html{.escape = Escape::Html, .formatter = &icu_formatter()};
  const std::string flat = flat_data(20);
  const auto data = JsonDocument::parse(flat);
  const CompiledText exact = *CompiledText::compile(letter(20, "field_"));
  measure("20 placeholders, text", rounds, [&] { return exact.render(data->root(), plain)->text.size(); });
  measure("20 placeholders, html", rounds, [&] { return exact.render(data->root(), html)->text.size(); });
  measure("20 placeholders, text, the data parsed each time", rounds,
          [&] { return exact.render(JsonDocument::parse(flat)->root(), plain)->text.size(); });
  const CompiledText shouted = *CompiledText::compile(letter(20, "FIELD_"));
  measure("20 placeholders in another case of letters", rounds,
          [&] { return shouted.render(data->root(), plain)->text.size(); });
  const auto deep = JsonDocument::parse("{\"booking\":{\"guest\":" + flat + "}}");
  const CompiledText dotted = *CompiledText::compile(letter(20, "booking.guest.field_"));
  measure("20 placeholders with two dots", rounds, [&] { return dotted.render(deep->root(), plain)->text.size(); });
  const CompiledText joined = *CompiledText::compile(letter(20, "bookingGuestField_"));
  measure("20 placeholders by their flattened names", rounds,
          [&] { return joined.render(deep->root(), plain)->text.size(); });
  const auto order = JsonDocument::parse(
      R"({"items":[{"n":"a","q":1},{"n":"b","q":2},{"n":"c","q":3},{"n":"d","q":4},{"n":"e","q":5}],"at":"2026-03-15","sum":"99.50","nights":3})");
  const CompiledText list = *CompiledText::compile("{{#items}}\n* {{n}}: {{q}}\n{{/items}}\n{{^items}}none{{/items}}");
  measure("a list of 5 items with 2 values each", rounds,
          [&] { return list.render(order->root(), plain)->text.size(); });
  const CompiledText formatted = *CompiledText::compile(
      "{{at | date:long}} {{sum | currency:EUR}} {{nights | plural:one=# night; other=# nights}}");
  measure("a date, an amount and a plural", rounds / 4,
          [&] { return formatted.render(order->root(), plain)->text.size(); });
  const std::string source = letter(20, "field_");
  measure("compiling the 20 placeholders", rounds / 4,
          [&] { return CompiledText::compile(source)->empty() ? 0U : 1U; });
}

}  // namespace
}  // namespace postrider

int main(int argc, char** argv) {
  std::size_t rounds = 100'000;
  if (argc == 3 && std::string_view{argv[1]} == "--rounds") {
    const std::string_view text = argv[2];
    std::from_chars(text.data(), text.data() + text.size(), rounds);
  }
  postrider::run(std::max<std::size_t>(rounds, 4));
}
