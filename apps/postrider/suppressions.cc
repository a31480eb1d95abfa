// postrider suppressions: addresses that must not be written to.
#include <algorithm>
#include <array>

#include "api/people_views.h"
#include "people.h"

namespace postrider::app {
namespace {

constexpr std::array<std::string_view, 5> kColumns{"address", "channel", "cause", "evidence", "at"};

/// Calls `each` for all that match, page by page.
template <class Each>
Result<Done> for_all(const PeopleVisit& v, SuppressionFilter filter, std::size_t limit, Each each) {
  for (std::size_t seen = 0; seen < limit;) {
    filter.count_max = std::min<std::size_t>(kBatchMax, limit - seen);
    POSTRIDER_TRY(page, v.store().suppressions(filter));
    for (const Suppression& s : page.items) each(s);
    seen += page.items.size();
    if (page.next.empty()) break;
    filter.after = page.next;
  }
  return Done{};
}

int list(const Common& common, const PeopleOptions& options, const PeopleVisit& v) {
  SuppressionFilter filter{.tenant = v.tenant->id, .address = options.address};
  if (!options.channel.empty()) {
    filter.channel = parse_channel(options.channel);
    if (!filter.channel) return fail(fmt::format("\"{}\" is not a channel", options.channel));
  }
  JsonWriter json;
  json.begin_array();
  const auto read = for_all(v, filter, static_cast<std::size_t>(options.limit), [&](const Suppression& s) {
    if (common.json) return write_suppression(json, s, Addresses::Plain);
    fmt::print("{}  {:<9} {:<32} {:<12} {}\n", format_instant(s.at), to_text(s.channel), s.address, to_text(s.cause),
               s.evidence);
  });
  if (!read) return fail(read.error());
  if (common.json) fmt::print("{}\n", json.end_array().take());
  return 0;
}

Result<std::vector<Suppression>> named(const PeopleOptions& options, const PeopleVisit& v) {
  const auto cause = parse_suppression_cause(options.cause);
  if (!cause) {
    return Error{
        ErrorCode::Invalid,
        fmt::format("\"{}\" is not one of unsubscribe, complaint, hard_bounce, operator, import", options.cause)};
  }
  std::vector<Suppression> out;
  for (const std::string& text : options.addresses) {
    POSTRIDER_TRY(address, parse_address(text));
    out.push_back({.tenant = v.tenant->id,
                   .channel = address.channel,
                   .address = std::move(address.address),
                   .cause = *cause,
                   .evidence = options.evidence});
  }
  if (out.empty()) return Error{ErrorCode::Invalid, "name addresses: CHANNEL=ADDRESS"};
  return out;
}

int count(const Common& common, std::string_view what, std::size_t how_many) {
  if (common.json) {
    fmt::print("{}\n", JsonWriter{}.begin_object().member(what, how_many).end_object().take());
  } else {
    fmt::print("{} {}\n", how_many, what);
  }
  return 0;
}

int add(const Common& common, const PeopleOptions& options, const PeopleVisit& v) {
  const auto wanted = named(options, v);
  if (!wanted) return fail(wanted.error());
  for (const Suppression& s : *wanted) {
    if (const auto wrong = problem_of(s)) return fail(problem(*wrong));
  }
  const auto now = v.now();
  if (!now) return fail(now.error());
  const auto acted = v.store().suppress(*now, v.by, *wanted);
  return acted ? count(common, "added", acted->changed) : fail(acted.error());
}

int remove(const Common& common, const PeopleOptions& options, const PeopleVisit& v) {
  const auto wanted = named(options, v);
  if (!wanted) return fail(wanted.error());
  std::vector<SuppressionRef> refs;
  for (const Suppression& s : *wanted) refs.push_back({s.tenant, s.channel, s.address});
  const auto now = v.now();
  if (!now) return fail(now.error());
  const auto removed = v.store().unsuppress(*now, v.by, refs);
  if (!removed) return fail(removed.error());
  if (*removed == 0) return fail("none of these addresses is suppressed");
  return count(common, "removed", *removed);
}

Result<Suppression> read_row(const Table& table, const PeopleOptions& options, const PeopleVisit& v) {
  Suppression s{.tenant = v.tenant->id, .address = table.cell("address"), .cause = SuppressionCause::Import};
  const auto channel = parse_channel(table.cell("channel"));
  if (!channel) return table.wrong("channel", "is not a known channel");
  s.channel = *channel;
  if (const std::string cause = table.cell("cause"); !cause.empty()) {
    const auto known = parse_suppression_cause(cause);
    if (!known) return table.wrong("cause", "must be unsubscribe, complaint, hard_bounce, operator or import");
    s.cause = *known;
  }
  s.evidence = table.cell("evidence");
  if (s.evidence.empty()) s.evidence = options.evidence;
  if (const std::string at = table.cell("at"); !at.empty()) {
    const auto when = parse_instant(at);
    if (!when) return table.wrong("at", "is not a time such as 2026-03-15T09:30:00Z");
    s.at = *when;
  }
  if (const auto wrong = problem_of(s)) return table.wrong(wrong->field, wrong->what);
  return s;
}

Result<std::size_t> count_new(const PeopleVisit& v, std::span<const Suppression> wanted) {
  std::size_t known = 0;
  for (std::size_t from = 0; from < wanted.size(); from += kBatchMax) {
    std::vector<SuppressionRef> refs;
    for (const Suppression& s : wanted.subspan(from, std::min(kBatchMax, wanted.size() - from))) {
      refs.push_back({s.tenant, s.channel, s.address});
    }
    POSTRIDER_TRY(found, v.store().find_suppressions(refs));
    known += found.size();
  }
  return wanted.size() - known;
}

int import(const Common& common, const PeopleOptions& options, const PeopleVisit& v) {
  const Import<Suppression> how{.read = [&](const Table& table) { return read_row(table, options, v); },
                                .key =
                                    [](const Suppression& s) {
                                      return fmt::format("{}={}", to_text(s.channel),
                                                         comparable_address(s.channel, s.address));
                                    },
                                .count_new = [&](std::span<const Suppression> wanted) { return count_new(v, wanted); },
                                .save = [&](std::span<const Suppression> wanted) -> Result<std::size_t> {
                                  POSTRIDER_TRY(now, v.now());
                                  POSTRIDER_TRY(acted, v.store().suppress(now, v.by, wanted));
                                  return acted.changed;
                                },
                                .key_column = "address"};
  return import_file(common, options, std::span{kColumns}, how);
}

int export_all(const Common& common, const PeopleOptions& options, const PeopleVisit& v) {
  TableWriter table{kColumns};
  const auto read = for_all(v, {.tenant = v.tenant->id}, SIZE_MAX, [&](const Suppression& s) {
    table.add(
        {s.address, std::string{to_text(s.channel)}, std::string{to_text(s.cause)}, s.evidence, format_instant(s.at)});
  });
  return read ? table.finish(common, options.file) : fail(read.error());
}

}  // namespace

int run_suppressions(const Common& common, const PeopleOptions& options) {
  const auto v = visit_people(common, options);
  if (!v) return fail(v.error());
  if (options.action == "list") return list(common, options, *v);
  if (options.action == "add") return add(common, options, *v);
  if (options.action == "remove") return remove(common, options, *v);
  if (options.action == "import") return import(common, options, *v);
  return export_all(common, options, *v);
}

}  // namespace postrider::app
