// What the commands for contacts, lists and suppressions have in common: whose they are, who acts, and files of rows.
#pragma once
#include <fmt/format.h>

#include <cstdio>
#include <functional>
#include <istream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/csv.h"
#include "base/json.h"
#include "base/limits.h"
#include "commands.h"
#include "pipeline/contact_check.h"

namespace postrider::app {

inline constexpr std::size_t kImportRowsMax = 100'000;  // in one transaction
inline constexpr std::size_t kProblemsTold = 20;

/// The store, the tenant, the moment and the actor of one command.
struct PeopleVisit {
  std::unique_ptr<Visit> at = {};
  const Tenant* tenant = nullptr;
  OperatorAction by = {};
  [[nodiscard]] StoreSession& store() const { return *at->session; }
  [[nodiscard]] Result<Instant> now() const { return at->session->database_now(); }
  [[nodiscard]] PeopleKnowledge knowledge() const;
};
Result<PeopleVisit> visit_people(const Common& common, const PeopleOptions& options);

/// "email=ada@example.org"
Result<ContactAddress> parse_address(std::string_view text);
Error problem(const FieldProblem& what);

/// A file with a head, read row by row; cells are asked for by the name of their column.
class Table {
 public:
  /// `-` is standard input. A column that is not among `columns` is refused, and the first of them must be there.
  static Result<std::unique_ptr<Table>> open(const std::string& path, std::span<const std::string_view> columns);
  Result<bool> next();                                            // false: no more
  [[nodiscard]] std::string cell(std::string_view column) const;  // empty where there is none
  [[nodiscard]] std::size_t line() const { return row_.line; }
  [[nodiscard]] Error wrong(std::string_view column, std::string_view what) const;

 private:
  Table(std::string name, std::unique_ptr<std::istream> in);
  std::string name_;
  std::unique_ptr<std::istream> in_;
  CsvReader reader_;
  std::map<std::string, std::size_t, std::less<>> columns_;
  CsvRow row_;
};

/// Writes rows to a file, whole or not at all; `-` is standard output.
class TableWriter {
 public:
  explicit TableWriter(std::span<const std::string_view> columns);
  void add(const std::vector<std::string>& cells);
  /// 0, or the exit code.
  int finish(const Common& common, const std::string& path) const;

 private:
  std::string text_;
  std::size_t rows_ = 0;
};

inline constexpr std::size_t kRowsBetweenShows = 1000;
/// Rows done, on a terminal; nothing in a pipe.
void show_rows(std::size_t done, bool last);

/// How the rows of a file become things in the store.
template <class Item>
struct Import {
  std::function<Result<Item>(const Table&)> read;
  std::function<std::string(const Item&)> key;                          // the same twice in one file is a mistake
  std::function<Result<std::size_t>(std::span<const Item>)> count_new;  // of these
  std::function<Result<std::size_t>(std::span<const Item>)> save;       // how many were new
  std::string_view key_column = {};
};

struct Imported {
  std::size_t rows = 0;
  std::size_t fresh = 0;
  std::vector<Error> problems = {};
};

/// One transaction for the whole file, or one for each `batch` rows. The first thing that is wrong stops it; a dry run
/// goes on, and saves nothing.
template <class Item>
class Importing {
 public:
  Importing(Table& table, const Import<Item>& how, const PeopleOptions& options)
      : table_(table), how_(how), options_(options) {}

  Result<Imported> run() {
    for (;;) {
      auto more = table_.next();
      if (!more) return stopped(more.error());
      if (!*more) break;
      if (auto done = take_row(); !done) return stopped(done.error());
      if (++read_ % kRowsBetweenShows == 0) show_rows(read_, false);
    }
    if (auto done = flush(); !done) return stopped(done.error());
    show_rows(done_.rows, true);
    return done_;
  }

 private:
  Result<Done> take_row() {
    auto item = how_.read(table_);
    if (item) {
      const auto [first, fresh] = lines_.emplace(how_.key(*item), table_.line());
      if (!fresh) item = table_.wrong(how_.key_column, fmt::format("stands on line {} too", first->second));
    }
    if (!item && (!options_.dry_run || done_.problems.size() == kProblemsTold)) return item.error();
    if (!item) {
      done_.problems.push_back(item.error());
      return Done{};
    }
    waiting_.push_back(std::move(*item));
    if (options_.batch > 0 && waiting_.size() == static_cast<std::size_t>(options_.batch)) return flush();
    if (options_.batch == 0 && waiting_.size() > kImportRowsMax) {
      return Error{ErrorCode::Invalid, fmt::format("more than {} rows; import them with --batch N", kImportRowsMax)};
    }
    return Done{};
  }

  Result<Done> flush() {
    if (!waiting_.empty()) {
      POSTRIDER_TRY(fresh, options_.dry_run ? how_.count_new(waiting_) : how_.save(waiting_));
      done_.fresh += fresh;
      done_.rows += waiting_.size();
      waiting_.clear();
    }
    return Done{};
  }

  Error stopped(Error error) const {
    const bool some = done_.rows > 0 && !options_.dry_run;
    error.text += some ? fmt::format("; the {} rows before it were imported", done_.rows) : "; nothing was changed";
    return error;
  }

  Table& table_;
  const Import<Item>& how_;
  const PeopleOptions& options_;
  std::map<std::string, std::size_t> lines_;
  std::vector<Item> waiting_;
  Imported done_;
  std::size_t read_ = 0;
};

/// Prints what an import did; the exit code.
int tell(const Common& common, const PeopleOptions& options, const Imported& done);

template <class Item>
int import_file(const Common& common, const PeopleOptions& options, std::span<const std::string_view> columns,
                const Import<Item>& how) {
  auto table = Table::open(options.file, columns);
  if (!table) return fail(table.error());
  const auto done = Importing<Item>{**table, how, options}.run();
  if (!done) return fail(done.error());
  return tell(common, options, *done);
}

}  // namespace postrider::app
