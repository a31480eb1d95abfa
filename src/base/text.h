// Small things done to text, each in one place.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace postrider {

int hex_value(char c);  // -1 when it is no hexadecimal digit
std::string to_hex(std::string_view bytes);
std::optional<std::string> from_hex(std::string_view text);
std::string to_base64(std::string_view bytes);
/// Standard alphabet, padding required, nothing else allowed.
std::optional<std::string> from_base64(std::string_view text);

bool is_utf8(std::string_view text);
/// CR, LF, NUL or any other control byte (tab too).
bool has_control(std::string_view text);
/// At most `bytes_max` bytes, cut at a character's border, with "…" when something was cut.
std::string excerpt(std::string_view text, std::size_t bytes_max);
/// Control bytes as spaces, invalid UTF-8 as '?': safe in a log, an answer and a column.
std::string printable(std::string_view text);
/// An excerpt of what is printable of it. A text that is short and plain, as nearly all are, is handed back as it is.
std::string printable_excerpt(std::string text, std::size_t bytes_max);
/// "a•••@example.org", "+49•••4711": for viewers and logs.
std::string mask_address(std::string_view address);
std::string_view trim(std::string_view text);
std::string lower(std::string_view text);  // ASCII only
/// The 26 letters of ASCII in either case; everything else as it is.
bool equal_ignoring_case(std::string_view a, std::string_view b);
bool starts_with_ignoring_case(std::string_view text, std::string_view start);
/// Takes the first character from a text that is not empty; a byte that is no UTF-8 is U+FFFD.
char32_t take_character(std::string_view& text);
std::vector<std::string_view> split(std::string_view text, char separator);

}  // namespace postrider
