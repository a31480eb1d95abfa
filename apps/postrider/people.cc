#include "people.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "base/text.h"
#include "locale/icu_formatter.h"

namespace postrider::app {

PeopleKnowledge PeopleVisit::knowledge() const { return {at->rules.zones, &is_known_locale}; }

Result<PeopleVisit> visit_people(const Common& common, const PeopleOptions& options) {
  PeopleVisit v;
  // What waits may end, and that needs no new rows: no ids are needed.
  POSTRIDER_TRY(visited, visit(common, Ids::NotNeeded));
  v.at = std::move(visited);
  v.tenant = v.at->rules.tenant(options.tenant);
  if (v.tenant == nullptr) {
    return Error{ErrorCode::NotFound, fmt::format("there is no tenant \"{}\" in the configuration", options.tenant)};
  }
  v.by = operator_of(options.why, v.tenant->id);
  return v;
}

Result<ContactAddress> parse_address(std::string_view text) {
  const std::size_t equals = text.find('=');
  const auto channel = equals == std::string_view::npos ? std::nullopt : parse_channel(trim(text.substr(0, equals)));
  if (!channel) {
    return Error{ErrorCode::Invalid, fmt::format("\"{}\" is not CHANNEL=ADDRESS, such as email=ada@example.org", text)};
  }
  ContactAddress out{*channel, std::string{trim(text.substr(equals + 1))}};
  const std::string_view wrong = address_problem(out.channel, out.address);
  if (!wrong.empty()) return Error{ErrorCode::Invalid, fmt::format("the {} address {}", to_text(*channel), wrong)};
  return out;
}

Error problem(const FieldProblem& what) { return {ErrorCode::Invalid, fmt::format("{} {}", what.field, what.what)}; }

Table::Table(std::string name, std::unique_ptr<std::istream> in)
    : name_(std::move(name)), in_(std::move(in)), reader_(*in_) {}

Result<std::unique_ptr<Table>> Table::open(const std::string& path, std::span<const std::string_view> columns) {
  std::unique_ptr<std::istream> in;
  if (path == "-") {
    in = std::make_unique<std::istream>(std::cin.rdbuf());
  } else {
    in = std::make_unique<std::ifstream>(path, std::ios::binary);
    std::error_code ignored;
    if (!*in || std::filesystem::is_directory(path, ignored)) {
      return Error{ErrorCode::NotFound, fmt::format("cannot read {}", path)};
    }
  }
  std::unique_ptr<Table> table{new Table{path == "-" ? "standard input" : path, std::move(in)}};
  POSTRIDER_TRY(some, table->next());
  if (!some)
    return Error{ErrorCode::Invalid,
                 fmt::format("{}: the file is empty; its first line names the columns", table->name_)};
  for (std::size_t i = 0; i < table->row_.cells.size(); ++i) {
    const std::string name{trim(table->row_.cells[i])};
    if (std::find(columns.begin(), columns.end(), name) == columns.end()) {
      return table->wrong(name, fmt::format("is not known; there is: {}", fmt::join(columns, ", ")));
    }
    if (!table->columns_.emplace(name, i).second) return table->wrong(name, "is named twice");
  }
  if (!table->columns_.contains(columns.front())) return table->wrong(columns.front(), "is missing");
  return table;
}

Result<bool> Table::next() {
  auto row = reader_.next();
  if (!row) return Error{ErrorCode::Invalid, fmt::format("{}: {}", name_, row.error().text)};
  if (!*row) return false;
  row_ = std::move(**row);
  if (!columns_.empty() && row_.cells.size() != columns_.size()) {
    return Error{ErrorCode::Invalid, fmt::format("{}: line {}: {} cells, but there are {} columns", name_, row_.line,
                                                 row_.cells.size(), columns_.size())};
  }
  return true;
}

std::string Table::cell(std::string_view column) const {
  const auto at = columns_.find(column);
  return at == columns_.end() ? "" : row_.cells[at->second];
}

Error Table::wrong(std::string_view column, std::string_view what) const {
  return {ErrorCode::Invalid,
          fmt::format("{}: line {}, column {}: {}", name_, row_.line, printable(excerpt(column, 60)), what)};
}

TableWriter::TableWriter(std::span<const std::string_view> columns) {
  const std::vector<std::string> head{columns.begin(), columns.end()};
  text_ = csv_line(head);
}

void TableWriter::add(const std::vector<std::string>& cells) {
  text_ += csv_line(cells);
  if (++rows_ % kRowsBetweenShows == 0) show_rows(rows_, false);
}

int TableWriter::finish(const Common& common, const std::string& path) const {
  show_rows(rows_, true);
  if (path == "-") {
    fmt::print("{}", text_);
    return 0;
  }
  // Other people's addresses: for the owner's eyes.
  if (auto written = write_private_file(path, text_); !written) return fail(written.error());
  if (common.json) {
    fmt::print("{}\n", JsonWriter{}.begin_object().member("exported", rows_).member("file", path).end_object().take());
  } else {
    fmt::print("{} exported to {}\n", rows_, path);
  }
  return 0;
}

void show_rows(std::size_t done, bool last) {
  if (::isatty(STDERR_FILENO) == 0) return;
  fmt::print(stderr, "\r{} rows{}", done, last ? "\n" : "");
}

int tell(const Common& common, const PeopleOptions& options, const Imported& done) {
  if (common.json) {
    JsonWriter json;
    json.begin_object().member("rows", done.rows).member("new", done.fresh).member("dry_run", options.dry_run);
    json.key("problems").begin_array();
    for (const Error& error : done.problems) json.value(error.text);
    fmt::print("{}\n", json.end_array().end_object().take());
  } else {
    for (const Error& error : done.problems) fmt::print("{}\n", error.text);
    fmt::print("{} rows, {} of them new{}\n", done.rows, done.fresh,
               options.dry_run ? " (dry run: nothing was changed)" : "");
  }
  return done.problems.empty() ? 0 : fail(fmt::format("{} rows are wrong", done.problems.size()));
}

}  // namespace postrider::app
