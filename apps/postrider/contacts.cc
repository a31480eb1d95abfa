// postrider contacts: people, one by one or from a file.
#include <algorithm>
#include <array>
#include <set>

#include "api/people_views.h"
#include "base/text.h"
#include "people.h"

namespace postrider::app {
namespace {

constexpr std::array<std::string_view, 16> kColumns{
    "key",  "name",    "locale", "timezone", "quiet_hours", "email",      "sms",         "whatsapp",
    "push", "webhook", "teams",  "slack",    "inapp",       "attributes", "preferences", "opt_out"};

/// "email/marketing", "sms", "*/news", "*": a channel and a category, either of them any.
Result<Preference> parse_wish(std::string_view text, bool allowed) {
  Preference wish{.allowed = allowed};
  const std::size_t slash = std::min(text.find('/'), text.size());
  const std::string_view channel = trim(text.substr(0, slash));
  if (channel != "*") {
    wish.channel = parse_channel(channel);
    if (!wish.channel) {
      return Error{ErrorCode::Invalid,
                   fmt::format("\"{}\" is not CHANNEL/CATEGORY, such as email/marketing, sms or */news", text)};
    }
  }
  if (slash < text.size()) wish.category = trim(text.substr(slash + 1));
  if (wish.category == "*") wish.category.clear();
  return wish;
}

void put_wish(Contact& contact, const Preference& wish) {
  std::erase_if(contact.preferences,
                [&](const Preference& p) { return p.channel == wish.channel && p.category == wish.category; });
  contact.preferences.push_back(wish);
}

class RowReader {
 public:
  RowReader(const Table& table, const PeopleVisit& v, Instant now) : table_(table), v_(v), now_(now) {}

  Result<Contact> read() {
    Contact c;
    c.tenant = v_.tenant->id;
    c.key = table_.cell("key");
    c.name = table_.cell("name");
    c.locale = table_.cell("locale");
    c.timezone = table_.cell("timezone");
    const std::string quiet = table_.cell("quiet_hours");
    c.quiet_hours = parse_quiet_hours(quiet);
    if (!quiet.empty() && !c.quiet_hours) return table_.wrong("quiet_hours", "must be like 22:00-08:00");
    for (const Channel channel : kChannels) {
      const std::string address = table_.cell(to_text(channel));
      if (!address.empty()) c.addresses.push_back({channel, address});
    }
    const std::string attributes = table_.cell("attributes");
    if (!attributes.empty()) c.attributes = tidy_attributes(attributes).value_or("");
    POSTRIDER_TRY_DONE(read_wishes(c));
    if (const auto wrong = problem_of(c, v_.knowledge())) {
      const std::string_view field = wrong->field;
      const bool address = field.starts_with("addresses.");
      return table_.wrong(address ? field.substr(field.find('.') + 1) : field, wrong->what);
    }
    return c;
  }

 private:
  Result<Done> read_wishes(Contact& c) {
    const std::string json = table_.cell("preferences");
    if (!json.empty()) {
      const auto document = JsonDocument::parse(json);
      if (!document) return table_.wrong("preferences", document.error().text);
      if (const auto wrong = read_preferences(document->root(), {now_, "import"}, c.preferences)) {
        return table_.wrong("preferences", fmt::format("{} {}", wrong->field, wrong->what));
      }
    }
    const std::string opt_out = table_.cell("opt_out");
    for (const std::string_view part : split(opt_out, ';')) {
      if (trim(part).empty()) continue;
      auto wish = parse_wish(trim(part), false);
      if (!wish) return table_.wrong("opt_out", wish.error().text);
      wish->source = "import";
      wish->at = now_;
      put_wish(c, *wish);
    }
    return Done{};
  }

  const Table& table_;
  const PeopleVisit& v_;
  Instant now_;
};

std::vector<std::string> row_of(const Contact& c) {
  std::vector<std::string> cells{c.key, c.name, c.locale, c.timezone, c.quiet_hours ? to_text(*c.quiet_hours) : ""};
  for (const Channel channel : kChannels) cells.emplace_back(c.address(channel));
  cells.push_back(c.attributes == "{}" ? "" : c.attributes);
  std::string preferences;
  if (!c.preferences.empty()) {
    JsonWriter json;
    write_preferences(json.begin_object(), c);
    preferences = json.end_object().take();
    const std::size_t from = preferences.find('[');
    preferences = preferences.substr(from, preferences.rfind(']') + 1 - from);
  }
  cells.push_back(std::move(preferences));
  cells.emplace_back();
  return cells;
}

Result<std::size_t> count_new(const PeopleVisit& v, std::span<const Contact> contacts) {
  std::size_t known = 0;
  for (std::size_t from = 0; from < contacts.size(); from += kBatchMax) {
    std::vector<ContactRef> refs;
    for (const Contact& c : contacts.subspan(from, std::min(kBatchMax, contacts.size() - from))) {
      refs.push_back({c.tenant, c.key});
    }
    POSTRIDER_TRY(found, v.store().find_contacts(refs));
    known += found.size();
  }
  return contacts.size() - known;
}

int import(const Common& common, const PeopleOptions& options, const PeopleVisit& v) {
  const auto now = v.now();
  if (!now) return fail(now.error());
  const Import<Contact> how{.read =
                                [&](const Table& table) {
                                  return RowReader{table, v, *now}.read();
                                },
                            .key = [](const Contact& c) { return c.key; },
                            .count_new = [&](std::span<const Contact> contacts) { return count_new(v, contacts); },
                            .save =
                                [&](std::span<const Contact> contacts) {
                                  return v.store().save_contacts(*now, v.by, contacts, v.tenant->exempt_categories);
                                },
                            .key_column = "key"};
  return import_file(common, options, std::span{kColumns}, how);
}

/// Calls `each` for all of them, page by page.
template <class Each>
Result<Done> for_all(const PeopleVisit& v, ContactFilter filter, std::size_t limit, Each each) {
  for (std::size_t seen = 0; seen < limit;) {
    filter.count_max = std::min<std::size_t>(kBatchMax, limit - seen);
    POSTRIDER_TRY(page, v.store().contacts(filter));
    for (const Contact& contact : page) each(contact);
    seen += page.size();
    if (page.size() < filter.count_max) break;
    filter.after = page.back().key;
  }
  return Done{};
}

int export_all(const Common& common, const PeopleOptions& options, const PeopleVisit& v) {
  TableWriter table{kColumns};
  auto read = for_all(v, {.tenant = v.tenant->id}, SIZE_MAX, [&](const Contact& c) { table.add(row_of(c)); });
  if (!read) return fail(read.error());
  return table.finish(common, options.file);
}

int list(const Common& common, const PeopleOptions& options, const PeopleVisit& v) {
  JsonWriter json;
  json.begin_array();
  std::size_t count = 0;
  auto read = for_all(v, {.tenant = v.tenant->id, .address = options.address}, static_cast<std::size_t>(options.limit),
                      [&](const Contact& c) {
                        ++count;
                        if (common.json) return write_contact(json, c, Addresses::Plain);
                        std::string addresses;
                        for (const ContactAddress& a : c.addresses) {
                          addresses +=
                              fmt::format("{}{}={}", addresses.empty() ? "" : " ", to_text(a.channel), a.address);
                        }
                        fmt::print("{:<24} {:<24} {:<7} {}\n", c.key, c.name, c.locale, addresses);
                      });
  if (!read) return fail(read.error());
  if (common.json) fmt::print("{}\n", json.end_array().take());
  if (count == 0 && !common.json) fmt::print(stderr, "nobody matches\n");
  return 0;
}

Result<std::optional<Contact>> find(const PeopleVisit& v, const std::string& key) {
  const ContactRef ref{v.tenant->id, key};
  POSTRIDER_TRY(found, v.store().find_contacts({&ref, 1}));
  if (found.empty()) return std::optional<Contact>{};
  return std::optional{std::move(found.front())};
}

int show(const PeopleOptions& options, const PeopleVisit& v) {
  const auto found = find(v, options.name);
  if (!found) return fail(found.error());
  if (!*found) return fail(fmt::format("there is no contact \"{}\"", options.name));
  JsonWriter json;
  write_contact(json, **found, Addresses::Plain);
  fmt::print("{}\n", json.take());
  return 0;
}

/// KEY=VALUE: the value is JSON, or else a text.
Result<Done> put_attributes(Contact& contact, const std::vector<std::string>& wanted) {
  for (const std::string& one : wanted) {
    const std::size_t equals = one.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error{ErrorCode::Invalid, fmt::format("\"{}\" is not KEY=VALUE", one)};
    }
    const std::string name = one.substr(0, equals);
    const std::string value = one.substr(equals + 1);
    const auto old = JsonDocument::parse(contact.attributes);
    JsonWriter json;
    json.begin_object();
    if (old) {
      for (const auto& [key, kept] : old->root().members()) {
        if (key != name) json.key(key).raw(kept.json());
      }
    }
    const auto parsed = JsonDocument::parse(value);
    parsed ? json.key(name).raw(parsed->root().json()) : json.member(name, value);
    contact.attributes = json.end_object().take();
  }
  return Done{};
}

Result<Done> put_wishes(Contact& contact, const PeopleOptions& options, Instant now) {
  for (const auto& [texts, allowed] : {std::pair{&options.opt_out, false}, std::pair{&options.opt_in, true}}) {
    for (const std::string& text : *texts) {
      POSTRIDER_TRY(wish, parse_wish(text, allowed));
      wish.at = now;
      wish.source = options.why.empty() ? "operator" : options.why;
      put_wish(contact, wish);
    }
  }
  return Done{};
}

/// What is named is changed; the rest stays.
Result<Contact> changed(const PeopleOptions& options, const PeopleVisit& v, Contact contact, Instant now) {
  contact.tenant = v.tenant->id;
  contact.key = options.name;
  const auto put = [](const std::optional<std::string>& given, std::string& place) {
    if (given) place = *given;
  };
  put(options.full_name, contact.name);
  put(options.locale, contact.locale);
  put(options.timezone, contact.timezone);
  if (options.quiet_hours) {
    contact.quiet_hours = parse_quiet_hours(*options.quiet_hours);
    if (!options.quiet_hours->empty() && !contact.quiet_hours) {
      return Error{ErrorCode::Invalid, "--quiet-hours must be like 22:00-08:00"};
    }
  }
  for (const std::string& text : options.addresses) {
    if (const auto channel = parse_channel(text.substr(0, text.find('='))); channel && text.ends_with('=')) {
      std::erase_if(contact.addresses, [&](const ContactAddress& a) { return a.channel == *channel; });
      continue;
    }
    POSTRIDER_TRY(address, parse_address(text));
    std::erase_if(contact.addresses, [&](const ContactAddress& a) { return a.channel == address.channel; });
    contact.addresses.push_back(std::move(address));
  }
  POSTRIDER_TRY_DONE(put_attributes(contact, options.attributes));
  POSTRIDER_TRY_DONE(put_wishes(contact, options, now));
  if (const auto wrong = problem_of(contact, v.knowledge())) return problem(*wrong);
  return contact;
}

int set(const Common& common, const PeopleOptions& options, const PeopleVisit& v) {
  const auto now = v.now();
  if (!now) return fail(now.error());
  const auto before = find(v, options.name);
  if (!before) return fail(before.error());
  const auto contact = changed(options, v, before->value_or(Contact{}), *now);
  if (!contact) return fail(contact.error());
  const auto saved = v.store().save_contacts(*now, v.by, {&*contact, 1}, v.tenant->exempt_categories);
  if (!saved) return fail(saved.error());
  if (common.json) return show(options, v);
  fmt::print("contact {} {}\n", options.name, *saved == 1 ? "made" : "changed");
  return 0;
}

int remove(const Common& common, const PeopleOptions& options, const PeopleVisit& v) {
  const auto now = v.now();
  if (!now) return fail(now.error());
  const ContactRef ref{v.tenant->id, options.name};
  const auto removed = v.store().remove_contacts(*now, v.by, {&ref, 1});
  if (!removed) return fail(removed.error());
  if (*removed == 0) return fail(fmt::format("there is no contact \"{}\"", options.name));
  if (common.json) {
    fmt::print("{}\n", JsonWriter{}.begin_object().member("removed", *removed).end_object().take());
  } else {
    fmt::print("contact {} removed\n", options.name);
  }
  return 0;
}

}  // namespace

int run_contacts(const Common& common, const PeopleOptions& options) {
  const auto v = visit_people(common, options);
  if (!v) return fail(v.error());
  if (options.action == "list") return list(common, options, *v);
  if (options.action == "show") return show(options, *v);
  if (options.action == "set") return set(common, options, *v);
  if (options.action == "remove") return remove(common, options, *v);
  if (options.action == "import") return import(common, options, *v);
  return export_all(common, options, *v);
}

}  // namespace postrider::app
