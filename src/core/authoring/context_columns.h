// Which columns a query names, read from its text alone: no database is asked.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace postrider {

/// The names of the columns of the outermost SELECT, as far as it names them (`a.guest_name`, `count(*) AS n`). Empty
/// when it does not: `SELECT *`.
std::optional<std::vector<std::string>> named_columns(std::string_view sql);

}  // namespace postrider
