// An application with a database of its own, in either dialect, that is asked for its records.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "context/context_source.h"

namespace postrider {

class Application {
 public:
  virtual ~Application() = default;
  /// The application writes.
  virtual void run(const std::string& sql) = 0;
  /// How it is asked.
  [[nodiscard]] virtual ContextDatabase database() const = 0;
  /// A query that gives one row after longer than anybody waits.
  [[nodiscard]] virtual std::string slow_query() const = 0;
  /// Nobody can reach it any more, until it is back.
  virtual void go_away() = 0;
  virtual void come_back() = 0;

  [[nodiscard]] ContextRule rule(const std::string& query) const {
    auto sql = compile_context_sql(query, database().dialect);
    return {"shop", std::move(*sql)};
  }
};

struct ApplicationKind {
  const char* name;
  std::function<std::unique_ptr<Application>()> make;
};
std::vector<ApplicationKind> application_kinds();
std::unique_ptr<Application> make_postgres_application();
std::unique_ptr<Application> make_sqlite_application();

/// A record's JSON; "none", "many", or why not with "passing: " or "lasting: " before it.
std::string spoken(const ContextRecord& record);
std::string ask(ContextSource& source, const ContextRule& rule, const ContextAsk& one);

}  // namespace postrider
