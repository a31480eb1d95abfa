// Compile and render in one breath.
#pragma once
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "core/render.h"

namespace postrider::testing {

struct Rendering {
  Result<Rendered> result;

  Rendering(std::string_view text, std::string_view data, RenderOptions options = {},
            const std::map<std::string, std::string>& partials = {})
      : result(run(text, data, options, partials)) {}

 private:
  static Result<Rendered> run(std::string_view text, std::string_view data, RenderOptions options,
                              const std::map<std::string, std::string>& partials) {
    Partials known;
    for (const auto& [name, partial] : partials) POSTRIDER_TRY_DONE(known.add(name, partial));
    POSTRIDER_TRY(document, JsonDocument::parse(data));
    POSTRIDER_TRY(compiled, CompiledText::compile(text));
    options.partials = &known;
    return compiled.render(document.root(), options);
  }
};

inline Rendered render(std::string_view text, std::string_view data, RenderOptions options = {},
                       const std::map<std::string, std::string>& partials = {}) {
  Rendering rendering{text, data, options, partials};
  if (rendering.result) return *rendering.result;
  ADD_FAILURE() << rendering.result.error().text << " in " << text;
  return {};
}

}  // namespace postrider::testing
