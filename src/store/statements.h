// SQL lives in .sql files, one per stage, cut into statements by lines `-- name: x`.
#pragma once
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace postrider {

using Statements = std::map<std::string, std::string, std::less<>>;

/// All statements of all files by name. A name given twice, an empty statement, or SQL before the first name is a bug
/// and stops the process: the files are part of the program.
Statements parse_statements(std::span<const std::string_view> files);

/// The statement with every `mark` replaced: for statements that differ in one condition.
std::string with(std::string text, std::string_view mark, std::string_view instead);

}  // namespace postrider
