// The arguments of `contacts`, `lists` and `suppressions`.
#include <CLI/CLI.hpp>

#include "commands.h"

namespace postrider::app {
namespace {

using Run = int (*)(const Common&, const PeopleOptions&);

class Family {
 public:
  Family(CLI::App& app, const char* name, const char* help, PeopleArguments arguments, Run run)
      : family_(*app.add_subcommand(name, help)), a_(arguments), run_(run) {
    family_.require_subcommand(1)->fallthrough();
    family_.add_option("--tenant", a_.options.tenant, "whose people (default: default)");
  }

  CLI::App* add(const std::string& name, const std::string& help) {
    CLI::App* command = family_.add_subcommand(name, help);
    command->fallthrough();
    command->callback([a = a_, run = run_, name] {
      a.options.action = name;
      a.code = run(a.common, a.options);
    });
    return command;
  }
  CLI::App* add_changing(const std::string& name, const std::string& help) {
    CLI::App* command = add(name, help);
    command->add_option("--why", a_.options.why, "kept in the audit trail");
    return command;
  }
  CLI::App* add_import(const std::string& help, bool named = false) {
    CLI::App* command = add_changing("import", help);
    if (named) command->add_option("name", a_.options.name, "the list")->required();
    command->add_option("file", a_.options.file, "CSV with a head; - is standard input")->required();
    command->add_option("--batch", a_.options.batch, "commit after every N rows instead of all at once")
        ->check(CLI::Range(1, 100000));
    command->add_flag("--dry-run", a_.options.dry_run, "read, check and count; change nothing");
    return command;
  }
  void add_export(const std::string& help, bool named = false) {
    CLI::App* command = add("export", help);
    if (named) command->add_option("name", a_.options.name, "the list")->required();
    command->add_option("file", a_.options.file, "CSV; - is standard output")->required();
  }

 private:
  CLI::App& family_;
  PeopleArguments a_;
  Run run_;
};

void add_contacts(CLI::App& app, const PeopleArguments& a) {
  PeopleOptions& o = a.options;
  Family family{app, "contacts", "People: addresses, language, clock, wishes", a, run_contacts};
  CLI::App* list = family.add("list", "By key");
  list->add_option("--address", o.address, "only who has this address");
  list->add_option("--limit", o.limit, "at most this many (default 50)")->check(CLI::Range(1, 1000000));
  family.add("show", "One contact")->add_option("key", o.name, "the contact's key")->required();
  CLI::App* set = family.add_changing("set", "Make a contact, or change what is named of it");
  set->add_option("key", o.name, "the contact's key")->required();
  set->add_option("--name", o.full_name, "of the person");
  set->add_option("--locale", o.locale, "language tag, such as en-GB");
  set->add_option("--timezone", o.timezone, "such as Europe/Berlin");
  set->add_option("--quiet-hours", o.quiet_hours, "such as 22:00-08:00; empty for none");
  set->add_option("--address", o.addresses, "CHANNEL=ADDRESS; CHANNEL= takes it away");
  set->add_option("--attribute", o.attributes, "KEY=VALUE for templates; JSON or text");
  set->add_option("--opt-out", o.opt_out, "CHANNEL/CATEGORY that is not wanted; * is any");
  set->add_option("--opt-in", o.opt_in, "CHANNEL/CATEGORY that is wanted");
  family.add_changing("remove", "Remove a contact; it leaves its lists")
      ->add_option("key", o.name, "the contact's key")
      ->required();
  family.add_import("Make or replace contacts from a file, all or none");
  family.add_export("Write all contacts to a file that import reads");
}

void add_lists(CLI::App& app, const PeopleArguments& a) {
  PeopleOptions& o = a.options;
  Family family{app, "lists", "Names that stand for many recipients", a, run_lists};
  family.add("list", "By name");
  family.add("show", "Who is on a list")->add_option("name", o.name, "the list")->required();
  CLI::App* create = family.add_changing("create", "Make a list, or change its description");
  create->add_option("name", o.name, "the list")->required();
  create->add_option("--description", o.description, "what it is for");
  family.add_changing("remove", "End a list")->add_option("name", o.name, "the list")->required();
  for (const auto& [name, help] : {std::pair{"add", "Put contacts or addresses on a list"},
                                   std::pair{"drop", "Take contacts or addresses off a list"}}) {
    CLI::App* command = family.add_changing(name, help);
    command->add_option("name", o.name, "the list")->required();
    command->add_option("contact", o.contacts, "keys of contacts");
    command->add_option("--address", o.addresses, "CHANNEL=ADDRESS");
  }
  family.add_import("Put everybody in a file on a list, all or none", true);
  family.add_export("Write who is on a list to a file that import reads", true);
}

void add_suppressions(CLI::App& app, const PeopleArguments& a) {
  PeopleOptions& o = a.options;
  Family family{app, "suppressions", "Addresses that must not be written to", a, run_suppressions};
  CLI::App* list = family.add("list", "By channel and address");
  list->add_option("--channel", o.channel, "only this channel");
  list->add_option("--address", o.address, "only this address");
  list->add_option("--limit", o.limit, "at most this many (default 50)")->check(CLI::Range(1, 1000000));
  CLI::App* add =
      family.add_changing("add", "Suppress addresses; what waits for them ends, what is being sent is not tried again");
  add->add_option("address", o.addresses, "CHANNEL=ADDRESS")->required();
  add->add_option("--evidence", o.evidence, "what led to it")->required();
  add->add_option("--cause", o.cause, "unsubscribe, complaint, hard_bounce, operator (default), import");
  family.add_changing("remove", "Take suppressions off")
      ->add_option("address", o.addresses, "CHANNEL=ADDRESS")
      ->required();
  family.add_import("Suppress the addresses in a file, all or none")
      ->add_option("--evidence", o.evidence, "for rows that have none");
  family.add_export("Write all suppressions to a file that import reads");
}

}  // namespace

void add_people(CLI::App& app, const PeopleArguments& arguments) {
  add_contacts(app, arguments);
  add_lists(app, arguments);
  add_suppressions(app, arguments);
}

}  // namespace postrider::app
