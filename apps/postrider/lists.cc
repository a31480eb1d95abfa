// postrider lists: names that stand for many recipients.
#include <algorithm>
#include <array>
#include <set>

#include "api/people_views.h"
#include "people.h"

namespace postrider::app {
namespace {

constexpr std::array<std::string_view, 3> kColumns{"contact", "channel", "address"};

int count(const Common& common, std::string_view what, std::size_t how_many) {
  if (common.json) {
    fmt::print("{}\n", JsonWriter{}.begin_object().member(what, how_many).end_object().take());
  } else {
    fmt::print("{} {}\n", how_many, what);
  }
  return 0;
}

Result<ListMember> read_row(const Table& table) {
  ListMember member{.contact = table.cell("contact"), .address = table.cell("address")};
  const std::string channel = table.cell("channel");
  if (!member.contact.empty() && (!channel.empty() || !member.address.empty())) {
    return table.wrong("contact", "is given, and an address too: a row is one or the other");
  }
  if (member.contact.empty()) {
    const auto known = parse_channel(channel);
    if (!known) return table.wrong("channel", "is not a known channel");
    member.channel = *known;
  }
  if (const auto wrong = problem_of(member)) return table.wrong(wrong->field, wrong->what);
  return member;
}

Result<std::vector<ListMember>> members_named(const PeopleOptions& options) {
  std::vector<ListMember> members;
  for (const std::string& key : options.contacts) members.push_back({.contact = key});
  for (const std::string& text : options.addresses) {
    POSTRIDER_TRY(address, parse_address(text));
    members.push_back({.channel = address.channel, .address = std::move(address.address)});
  }
  if (members.empty()) return Error{ErrorCode::Invalid, "name contacts, or --address CHANNEL=ADDRESS"};
  return members;
}

/// A slip of the pen is told to who made it, not found out when a message does not arrive.
Result<Done> check_contacts(const PeopleVisit& v, std::span<const ListMember> members) {
  for (std::size_t from = 0; from < members.size(); from += kBatchMax) {
    std::vector<ContactRef> refs;
    for (const ListMember& m : members.subspan(from, std::min(kBatchMax, members.size() - from))) {
      if (!m.contact.empty()) refs.push_back({v.tenant->id, m.contact});
    }
    POSTRIDER_TRY(found, v.store().find_contacts(refs));
    std::set<std::string> known;
    for (const Contact& contact : found) known.insert(contact.key);
    for (const ContactRef& ref : refs) {
      if (!known.contains(ref.key)) {
        return Error{ErrorCode::NotFound, fmt::format("there is no contact \"{}\"", ref.key)};
      }
    }
  }
  return Done{};
}

/// Calls `each` for everybody who is on the list now.
template <class Each>
Result<Done> for_members(const PeopleVisit& v, const std::string& name, Each each) {
  POSTRIDER_TRY(now, v.now());
  MemberRange range{.as_of = now, .count_max = kBatchMax};
  for (;;) {
    POSTRIDER_TRY(page, v.store().members(v.tenant->id, name, range));
    for (const ListMember& member : page) each(member);
    if (page.size() < range.count_max) return Done{};
    range.after = page.back().id;
  }
}

int list(const Common& common, const PeopleVisit& v) {
  JsonWriter json;
  json.begin_array();
  for (std::string after;;) {
    const auto page = v.store().lists(v.tenant->id, after, kBatchMax);
    if (!page) return fail(page.error());
    for (const RecipientList& each : *page) {
      if (common.json) {
        write_list(json, each);
      } else {
        fmt::print("{:<24} {:>8}  {}\n", each.name, each.members, each.description);
      }
    }
    if (page->size() < kBatchMax) break;
    after = page->back().name;
  }
  if (common.json) fmt::print("{}\n", json.end_array().take());
  return 0;
}

int show(const Common& common, const PeopleOptions& options, const PeopleVisit& v) {
  const auto found = v.store().list_named(v.tenant->id, options.name);
  if (!found) return fail(found.error());
  JsonWriter json;
  json.begin_object().key("list");
  write_list(json, *found);
  json.key("members").begin_array();
  if (!common.json) fmt::print("{}: {} members  {}\n", found->name, found->members, found->description);
  const auto read = for_members(v, options.name, [&](const ListMember& m) {
    if (common.json) return write_member(json, m, Addresses::Plain);
    fmt::print("{}\n", m.contact.empty() ? fmt::format("{}={}", to_text(m.channel), m.address) : m.contact);
  });
  if (!read) return fail(read.error());
  if (common.json) fmt::print("{}\n", json.end_array().end_object().take());
  return 0;
}

int create(const Common& common, const PeopleOptions& options, const PeopleVisit& v) {
  if (const std::string_view wrong = name_problem(options.name); !wrong.empty()) {
    return fail(fmt::format("the name {}", wrong));
  }
  const auto now = v.now();
  if (!now) return fail(now.error());
  const auto saved = v.store().save_list(
      *now, v.by, {.tenant = v.tenant->id, .name = options.name, .description = options.description});
  if (!saved) return fail(saved.error());
  if (common.json) {
    JsonWriter json;
    write_list(json, *saved);
    fmt::print("{}\n", json.take());
  } else {
    fmt::print("list {} saved, {} members\n", saved->name, saved->members);
  }
  return 0;
}

int remove(const Common& common, const PeopleOptions& options, const PeopleVisit& v) {
  const auto now = v.now();
  if (!now) return fail(now.error());
  const auto removed = v.store().remove_list(*now, v.by, v.tenant->id, options.name);
  if (!removed) return fail(removed.error());
  return count(common, "removed", 1);
}

int add(const Common& common, const PeopleOptions& options, const PeopleVisit& v) {
  const auto members = members_named(options);
  if (!members) return fail(members.error());
  if (const auto known = check_contacts(v, *members); !known) return fail(known.error());
  const auto now = v.now();
  if (!now) return fail(now.error());
  const auto added = v.store().add_members(*now, v.by, v.tenant->id, options.name, *members);
  return added ? count(common, "added", *added) : fail(added.error());
}

int drop(const Common& common, const PeopleOptions& options, const PeopleVisit& v) {
  const auto members = members_named(options);
  if (!members) return fail(members.error());
  const auto now = v.now();
  if (!now) return fail(now.error());
  const auto removed = v.store().remove_members(*now, v.by, v.tenant->id, options.name, *members);
  return removed ? count(common, "removed", *removed) : fail(removed.error());
}

std::string key_of(const ListMember& m) {
  return m.contact.empty() ? fmt::format("{}={}", to_text(m.channel), comparable_address(m.channel, m.address))
                           : m.contact;
}

int import(const Common& common, const PeopleOptions& options, const PeopleVisit& v) {
  if (const auto there = v.store().list_named(v.tenant->id, options.name); !there) return fail(there.error());
  std::set<std::string> on_it;
  if (options.dry_run) {
    const auto read = for_members(v, options.name, [&](const ListMember& m) { on_it.insert(key_of(m)); });
    if (!read) return fail(read.error());
  }
  const Import<ListMember> how{
      .read = read_row,
      .key = key_of,
      .count_new = [&](std::span<const ListMember> members) -> Result<std::size_t> {
        POSTRIDER_TRY_DONE(check_contacts(v, members));
        return static_cast<std::size_t>(std::count_if(members.begin(), members.end(),
                                                      [&](const ListMember& m) { return !on_it.contains(key_of(m)); }));
      },
      .save = [&](std::span<const ListMember> members) -> Result<std::size_t> {
        POSTRIDER_TRY_DONE(check_contacts(v, members));
        POSTRIDER_TRY(now, v.now());
        return v.store().add_members(now, v.by, v.tenant->id, options.name, members);
      },
      .key_column = "contact"};
  return import_file(common, options, std::span{kColumns}, how);
}

int export_all(const Common& common, const PeopleOptions& options, const PeopleVisit& v) {
  TableWriter table{kColumns};
  const auto read = for_members(v, options.name, [&](const ListMember& m) {
    const bool contact = !m.contact.empty();
    table.add({m.contact, contact ? "" : std::string{to_text(m.channel)}, contact ? "" : m.address});
  });
  return read ? table.finish(common, options.file) : fail(read.error());
}

}  // namespace

int run_lists(const Common& common, const PeopleOptions& options) {
  const auto v = visit_people(common, options);
  if (!v) return fail(v.error());
  if (options.action == "list") return list(common, *v);
  if (options.action == "show") return show(common, options, *v);
  if (options.action == "create") return create(common, options, *v);
  if (options.action == "remove") return remove(common, options, *v);
  if (options.action == "add") return add(common, options, *v);
  if (options.action == "drop") return drop(common, options, *v);
  if (options.action == "import") return import(common, options, *v);
  return export_all(common, options, *v);
}

}  // namespace postrider::app
