// A template in one language as a file: a head of plain lines between two `---`, then the body, then maybe an html
// part.
//
//   ---
//   key: booking_made
//   type: booking.made
//   channel: whatsapp
//   locale: en-US
//   provider_template: booking_made_v2
//   provider_params:
//     1 = {{guestName}}
//   ---
//   Dear {{guestName}}, …
//   --- html ---
//   <p>Dear {{guestName}}, …</p>
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/authoring/template_source.h"

namespace postrider {

/// One file: the template's head, and exactly one text.
struct TemplateFile {
  TemplateSource head = {};  // without texts
  TextSource text = {};
  bool operator==(const TemplateFile&) const = default;
};

/// Invalid: "line 3: …". The text's origin has the lines of its parts.
Result<TemplateFile> read_template_file(std::string_view text);
/// What read_template_file() reads as the same template.
std::string write_template_file(const TemplateFile& file);

/// "booking_made.email.listing-10.en-US.tpl": letters, digits, '_', '-' and '.' alone.
inline constexpr std::string_view kTemplateFileEnding = ".tpl";
std::string template_file_name(const TemplateSource& head, std::string_view locale);

}  // namespace postrider
