// One function per command; main.cc only reads the arguments.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "context.h"

namespace CLI {
class App;
}

namespace postrider::app {

struct ServeOptions {
  std::string listen = {};  // --listen, else $POSTRIDER_LISTEN, else the configuration
  std::string roles = "api,expand,send,maintain";
  bool demo = false;
};
int run_serve(const Common& common, const ServeOptions& options);

int run_migrate(const Common& common);

struct SendOptions {
  std::string tenant = "default", type = {}, payload = "{}", payload_file = {}, entity_id = {}, version = {}, key = {},
              lane = {};
  std::string channel = {}, to = {}, contact = {}, list = {}, category = {}, subject = {}, body = {}, template_key = {},
              due_at = {}, expires_at = {};
};
int run_send(const Common& common, const SendOptions& options);

struct ListOptions {
  std::string tenant = {}, state = {}, type = {}, channel = {}, recipient = {}, since = {};
  int limit = 50;
};
int run_list(const Common& common, const ListOptions& options);
int run_show(const Common& common, const std::string& id);
struct ExplainOptions {
  std::string message = {}, recipient = {}, type = {}, since = "7d", tenant = {};
  int limit = 200;
};
int run_explain(const Common& common, const ExplainOptions& options);

struct SandboxOptions {
  std::string tenant = {};
  int limit = 50;
};
int run_sandbox(const Common& common, const SandboxOptions& options);

struct RenderCommand {
  std::string body_file = {}, data_file = {}, partials = {};  // - is standard input; partials is a folder
  std::string locale = "en-US", timezone = "UTC", date_format = {};
  bool html = false;
  bool keep_missing = false;
};
int run_render(const Common& common, const RenderCommand& command);

struct OperateOptions {
  std::string action = {};  // retry, discard, cancel, replay, dispatch
  std::vector<std::string> messages = {};
  std::string state = {};  // retry/discard/replay all of a filter
  std::string tenant = {}, type = {}, why = {};
  std::string entity = {};  // cancel all that waits about it
  bool all = false;
  bool dry_run = false;
};
int run_operate(const Common& common, const OperateOptions& options);

struct ResendOptions {
  std::string entity = {}, channel = {}, template_name = {}, request_id = {}, why = {};
  std::string tenant = "default";
};
int run_resend(const Common& common, const ResendOptions& options);

struct KeysOptions {
  std::string action = {};  // create, list, revoke
  std::string name = {}, role = "viewer", tenant = "default";
  long long id = 0;
};
int run_keys(const Common& common, const KeysOptions& options);

struct TemplatesOptions {
  std::string action = {};  // list, show, lint, apply, export, preview
  std::string folder = {};
  std::string tenant = "default";  // *: the common ones
  std::string why = {}, data_file = {}, message = {}, locale = {}, timezone = {};
  long long id = 0;
  int version = 0;  // 0: the newest
  bool dry_run = false;
  bool prune = false;
};
int run_templates(const Common& common, const TemplatesOptions& options);
struct SealOptions {
  std::string action = {};  // list, new, public, retire
  std::string name = {};
};
int run_seal_keys(const Common& common, const SealOptions& options);
/// A JSON object from a file (- is standard input) becomes a sealed box.
int run_seal(const Common& common, const std::string& file);
struct PeopleOptions {
  std::string action = {};
  std::string tenant = "default", name = {}, file = {}, why = {};
  std::string address = {}, channel = {}, description = {}, evidence = {}, cause = "operator";
  std::optional<std::string> full_name = {}, locale = {}, timezone = {}, quiet_hours = {};
  std::vector<std::string> addresses = {}, attributes = {}, opt_out = {}, opt_in = {}, contacts = {};
  int limit = 50;
  int batch = 0;  // 0: the whole file at once
  bool dry_run = false;
};
int run_contacts(const Common& common, const PeopleOptions& options);
int run_lists(const Common& common, const PeopleOptions& options);
int run_suppressions(const Common& common, const PeopleOptions& options);
struct PeopleArguments {
  const Common& common;
  PeopleOptions& options;
  int& code;
};
void add_people(CLI::App& app, const PeopleArguments& arguments);

int run_doctor(const Common& common);
int run_config_check(const Common& common);
int run_version(const Common& common);

}  // namespace postrider::app
