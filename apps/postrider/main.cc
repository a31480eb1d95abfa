// The command line. Each command's work is in the file of its name.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "commands.h"

using namespace postrider::app;  // NOLINT(google-build-using-namespace): this file only wires commands to arguments

namespace {

struct Arguments {
  Common common;
  ServeOptions serve;
  SendOptions send;
  ListOptions list;
  ExplainOptions explain;
  SandboxOptions sandbox;
  RenderCommand render;
  OperateOptions operate;
  ResendOptions resend;
  KeysOptions keys;
  TemplatesOptions templates;
  SealOptions seal;
  std::string seal_file = "-";
  PeopleOptions people;
  std::string id;
};

CLI::App* add(CLI::App& app, const std::string& name, const std::string& help, const std::function<int()>& run,
              int& code) {
  CLI::App* command = app.add_subcommand(name, help);
  command->callback([run, &code] { code = run(); });
  command->fallthrough();
  return command;
}

void add_looking(CLI::App& app, Arguments& a, int& code) {
  auto* show = add(
      app, "show", "Show one message with its deliveries and attempts", [&] { return run_show(a.common, a.id); }, code);
  show->add_option("message", a.id, "message id")->required();
  auto* list = add(
      app, "list", "List deliveries, and messages that have none, newest first",
      [&] { return run_list(a.common, a.list); }, code);
  list->add_option("--tenant", a.list.tenant, "only this tenant");
  list->add_option("--state", a.list.state,
                   "queued, sending, sent, delivered, retrying, parked, discarded, cancelled, suppressed, expired, "
                   "pending, ignored, duplicate, failed");
  list->add_option("--type", a.list.type, "only this event type");
  list->add_option("--channel", a.list.channel, "only this channel");
  list->add_option("--recipient", a.list.recipient, "only this address");
  list->add_option("--since", a.list.since, "a time, or how long ago (2d, 3h)");
  list->add_option("--limit", a.list.limit, "at most this many (default 50)")->check(CLI::Range(1, 100000));
  auto* explain = add(
      app, "explain", "Tell in plain words what happened, and why", [&] { return run_explain(a.common, a.explain); },
      code);
  explain->add_option("message", a.explain.message, "message id");
  explain->add_option("--recipient", a.explain.recipient, "what this address got and did not get");
  explain->add_option("--type", a.explain.type, "only this event type");
  explain->add_option("--since", a.explain.since, "a time, or how long ago (default 7d)");
  explain->add_option("--tenant", a.explain.tenant, "only this tenant");
  explain->add_option("--limit", a.explain.limit, "at most this many for a recipient (default 200)")
      ->check(CLI::Range(1, 100000));
  auto* sandbox = add(
      app, "sandbox", "Show what the sandbox and the shim would have sent, newest first",
      [&] { return run_sandbox(a.common, a.sandbox); }, code);
  sandbox->add_option("--tenant", a.sandbox.tenant, "only this tenant");
  sandbox->add_option("--limit", a.sandbox.limit, "at most this many (default 50)")->check(CLI::Range(1, 100000));
}

void add_operating(CLI::App& app, Arguments& a, int& code) {
  const std::array<std::pair<const char*, const char*>, 5> actions{{
      {"retry", "Queue parked deliveries again, attempts counted anew"},
      {"discard", "End parked deliveries for good"},
      {"cancel", "End deliveries that still wait; what is being sent is not tried again"},
      {"replay", "Expand failed and ignored messages again"},
      {"dispatch", "Make what waits for a later time due now (dispatch-now)"},
  }};
  for (const auto& [name, help] : actions) {
    const std::string action = name;
    auto* command = add(
        app, name, help,
        [&a, action] {
          a.operate.action = action;
          if (action == "dispatch" && a.operate.messages.empty()) a.operate.all = true;
          return run_operate(a.common, a.operate);
        },
        code);
    command->add_option("message,--message", a.operate.messages, "message ids");
    command->add_flag("--all", a.operate.all, "everything that the filters match");
    command->add_option("--state", a.operate.state, "with --all: only this state");
    command->add_option("--type", a.operate.type, "with --all: only this event type");
    command->add_option("--tenant", a.operate.tenant, "only this tenant");
    command->add_option("--why", a.operate.why, "kept in the audit trail");
    command->add_flag("--dry-run", a.operate.dry_run, "count, change nothing");
    if (action == "cancel") {
      command->add_option("--entity", a.operate.entity, "everything of the tenant that waits about this entity");
    }
  }
}

void add_resending(CLI::App& app, Arguments& a, int& code) {
  auto* resend = add(
      app, "resend", "Tell once more what was told about an entity; the first stays as it is",
      [&] { return run_resend(a.common, a.resend); }, code);
  resend->add_option("entity", a.resend.entity, "the thing it was about, such as a booking's id")->required();
  resend->add_option("--channel", a.resend.channel, "the newest of what was told by this channel")->required();
  resend->add_option("--template", a.resend.template_name, "a template's number or key (default: the one in force)");
  resend->add_option("--request-id", a.resend.request_id,
                     "the same one again is the same request (default: a new one)");
  resend->add_option("--why", a.resend.why, "kept in the audit trail");
  resend->add_option("--tenant", a.resend.tenant, "default: default");
}

void add_sending(CLI::App& app, Arguments& a, int& code) {
  auto* send = add(
      app, "send", "Put one message into the outbox", [&] { return run_send(a.common, a.send); }, code);
  send->add_option("type", a.send.type, "event type")->required();
  send->add_option("--tenant", a.send.tenant, "default: default");
  send->add_option("--payload", a.send.payload, "JSON object");
  send->add_option("--payload-file", a.send.payload_file, "JSON object from a file (- is standard input)");
  send->add_option("--entity", a.send.entity_id, "the thing it is about");
  send->add_option("--version", a.send.version, "of that thing");
  send->add_option("--key", a.send.key, "idempotency key");
  send->add_option("--lane", a.send.lane, "priority, standard or bulk");
  send->add_option("--channel", a.send.channel, "direct message on this channel");
  send->add_option("--to", a.send.to, "recipient's address");
  send->add_option("--contact", a.send.contact, "a contact's key: its address for the channel");
  send->add_option("--list", a.send.list, "everybody on this list");
  send->add_option("--category", a.send.category, "for preferences, such as marketing");
  send->add_option("--subject", a.send.subject, "of a direct message");
  send->add_option("--body", a.send.body, "of a direct message");
  send->add_option("--template", a.send.template_key, "template for a direct message");
  send->add_option("--due", a.send.due_at, "not before this time (RFC 3339)");
  send->add_option("--expires", a.send.expires_at, "not after this time (RFC 3339)");
}

void add_rendering(CLI::App& app, Arguments& a, int& code) {
  auto* render = add(
      app, "render", "Render a template with data, exactly as it would be sent",
      [&] { return run_render(a.common, a.render); }, code);
  render->add_option("--body-file", a.render.body_file, "the template (- is standard input)")->required();
  render->add_option("--data-file", a.render.data_file, "its data, as JSON (- is standard input)")->required();
  render->add_option("--partials", a.render.partials, "folder of partials, one file each");
  render->add_flag("--html", a.render.html, "as an html part: values are escaped");
  render->add_option("--locale", a.render.locale, "language tag for formatters (default en-US)");
  render->add_option("--timezone", a.render.timezone, "zone for formatters (default UTC)");
  render->add_option("--date-format", a.render.date_format, "for dates without a formatter (medium, dd-MMM-yyyy, …)");
  render->add_flag("--keep-missing", a.render.keep_missing, "leave placeholders without a value as they are");
}

void add_seal_keys(CLI::App& keys, Arguments& a, int& code) {
  CLI::App* seal = keys.add_subcommand("seal", "Key pairs for sealed secrets, in <home>/seal");
  seal->require_subcommand(1)->fallthrough();
  const auto action = [&](const char* name, const char* does) {
    return add(
        *seal, name, does,
        [&a, name] {
          a.seal.action = name;
          return run_seal_keys(a.common, a.seal);
        },
        code);
  };
  action("list", "All of them, newest first");
  action("new", "Make one; from now on it seals");
  action("public", "The public key that producers seal with");
  action("retire", "Let one seal no more; it still opens")
      ->add_option("name", a.seal.name, "from `keys seal list`")
      ->required();
}

void add_keys(CLI::App& app, Arguments& a, int& code) {
  CLI::App* keys = app.add_subcommand("keys", "API keys, and key pairs for sealed secrets");
  keys->require_subcommand(1)->fallthrough();
  auto* create = add(
      *keys, "create", "Make a key; it is shown once",
      [&] {
        a.keys.action = "create";
        return run_keys(a.common, a.keys);
      },
      code);
  create->add_option("name", a.keys.name, "whose it is")->required();
  create->add_option("--role", a.keys.role, "producer, viewer, operator, admin, ops (all tenants), site");
  create->add_option("--tenant", a.keys.tenant, "default: default");
  add(
      *keys, "list", "All keys, without their secrets",
      [&] {
        a.keys.action = "list";
        return run_keys(a.common, a.keys);
      },
      code);
  auto* revoke = add(
      *keys, "revoke", "Refuse a key from now on",
      [&] {
        a.keys.action = "revoke";
        return run_keys(a.common, a.keys);
      },
      code);
  revoke->add_option("id", a.keys.id, "number from `keys list`")->required();
  add_seal_keys(*keys, a, code);
}

CLI::App* add_template_command(CLI::App& group, Arguments& a, int& code, const std::string& name,
                               const std::string& help) {
  auto* command = add(
      group, name, help,
      [&a, name] {
        a.templates.action = name;
        return run_templates(a.common, a.templates);
      },
      code);
  command->add_option("--tenant", a.templates.tenant, "whose (default: default; * is every tenant's)");
  return command;
}

void add_templates(CLI::App& app, Arguments& a, int& code) {
  CLI::App* group = app.add_subcommand("templates", "Stored templates, and folders of template files");
  group->require_subcommand(1)->fallthrough();
  TemplatesOptions& o = a.templates;
  add_template_command(*group, a, code, "list", "The tenant's own and the common ones");
  auto* show = add_template_command(*group, a, code, "show", "One template as files");
  auto* lint = add_template_command(*group, a, code, "lint", "Check a folder against the configuration");
  auto* apply = add_template_command(*group, a, code, "apply", "Check a folder and make it live, all of it or nothing");
  auto* exported = add_template_command(*group, a, code, "export", "Write the tenant's templates as files");
  auto* preview = add_template_command(*group, a, code, "preview", "What it would write, without sending");
  for (CLI::App* command : {show, preview}) {
    command->add_option("id", o.id, "number from `templates list`")->required();
    command->add_option("--version", o.version, "an older version");
  }
  for (CLI::App* command : {lint, apply, exported})
    command->add_option("folder", o.folder, "of files *.tpl")->required();
  apply->add_flag("--dry-run", o.dry_run, "check and tell, change nothing");
  apply->add_flag("--prune", o.prune, "deactivate the tenant's templates that the folder does not have");
  apply->add_option("--why", o.why, "kept in the audit trail");
  preview->add_option("--data-file", o.data_file, "its data, as JSON (- is standard input)");
  preview->add_option("--message", o.message, "the data of this past message");
  preview->add_option("--locale", o.locale, "in this language (default: as a delivery would be)");
  preview->add_option("--timezone", o.timezone, "for dates (default: the tenant's)");
}

}  // namespace

int main(int argc, char** argv) {
  Arguments a;
  int code = 0;
  CLI::App app{"Postrider: a transactional notification outbox and delivery engine", "postrider"};
  app.require_subcommand(1);
  app.add_option("--home", a.common.home,
                 "folder of database, keys and configuration (default $POSTRIDER_HOME, else ./var)");
  app.add_option("--config", a.common.config, "configuration file (default <home>/postrider.toml)");
  app.add_flag("--json", a.common.json, "answer in JSON");
  auto* serve = add(
      app, "serve", "Run the engine", [&] { return run_serve(a.common, a.serve); }, code);
  serve->add_option("--listen", a.serve.listen,
                    "HOST:PORT (default $POSTRIDER_LISTEN, else the configuration's, else 127.0.0.1:8080)");
  serve->add_option("--roles", a.serve.roles,
                    "any of api,expand,send,maintain (default all; in processes of their own on PostgreSQL)");
  serve->add_flag("--demo", a.serve.demo, "write a demonstration configuration if there is none");
  add(
      app, "migrate", "Bring the tables to this version", [&] { return run_migrate(a.common); }, code);
  add_sending(app, a, code);
  add_looking(app, a, code);
  add_rendering(app, a, code);
  add_operating(app, a, code);
  add_resending(app, a, code);
  add_templates(app, a, code);
  add_people(app, {a.common, a.people, code});
  add_keys(app, a, code);
  auto* seal = add(
      app, "seal", "Make a sealed box of a JSON object, for the outbox",
      [&] { return run_seal(a.common, a.seal_file); }, code);
  seal->add_option("--file", a.seal_file, "the object (default: standard input)");
  add(
      app, "doctor", "Say what is wrong, and what to do", [&] { return run_doctor(a.common); }, code);
  CLI::App* config = app.add_subcommand("config", "The configuration file");
  config->require_subcommand(1)->fallthrough();
  add(
      *config, "check", "Read it as `serve` would, and say what is wrong", [&] { return run_config_check(a.common); },
      code);
  add(
      app, "version", "Print the version", [&] { return run_version(a.common); }, code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    const std::vector<std::string> unknown = app.remaining();
    const bool no_command = app.get_subcommands().empty() && !unknown.empty();
    fmt::print(stderr, "postrider: {}; `postrider --help` lists what there is\n",
               no_command ? fmt::format("there is no {} \"{}\"",
                                        unknown.front().starts_with('-') ? "option" : "command", unknown.front())
                          : error.what());
    return 2;
  }
  return code;
}
