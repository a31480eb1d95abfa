// A good configuration is read whole; a wrong one names file, line, key and reason.
#include "runtime/config.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "providers/registry.h"

namespace postrider {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::string_view kSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

std::string environment(const std::string& name) {
  if (name == "HOOK_SECRET") return std::string{kSecret};
  if (name == "DATABASE_URL") return "postgresql://db/app";
  return "";
}
Result<std::string> file_text(const std::string& path) {
  if (path == "/run/secrets/smtp") return std::string{"hunter2-hunter2\n"};
  if (path == "/run/secrets/empty") return std::string{"\n"};
  return Error{ErrorCode::NotFound, "cannot read " + path};
}
Result<Config> parse(std::string_view text) {
  return parse_config(text, "postrider.toml", adapters(), {environment, file_text});
}

constexpr std::string_view kGood = R"(
[engine]
node_name = "one"
metrics_prefix = "listo"

[store]
url_env = "DATABASE_URL"
shared_with_application = true

[http]
listen = "[::1]:9090"
tls_certificate = "/etc/tls/cert.pem"
tls_key = "/etc/tls/key.pem"

[channels]
email = ["mail"]
webhook = "hook"

[providers.mail]
type = "smtp"
host = "mail.example.org"
from = "Shop <shop@example.org>"
user = "shop"
password = { file = "/run/secrets/smtp" }
max_attempts = 7
retry_interval = "90s"
window = 64
connections = 4
acceptance = "sent"

[providers.hook]
type = "webhook"
url = "https://example.org/hook"
secret = { env = "HOOK_SECRET" }

[providers.box]
type = "sandbox"
channel = "sms"

[[tenants]]
name = "acme"
channels = { sms = ["box"] }
locale = "de-DE"
timezone = "Europe/Berlin"
date_format = "dd-MMM-yyyy"
missing_keys = "keep"

[[tenants]]
name = "globex"

[[routes]]
type = "booking.confirmed"
tenant = "acme"
lane = "priority"
guarantee = "at_most_once"
category = "bookings"
date_format = "long"
recipients = { email = "guest.email", sms = "phones[]" }

[[templates]]
key = "confirmed-mail"
type = "booking.confirmed"
channel = "email"
version = 2
subject = "Hello {{name}}"
body = "Dear {{name}}"
html = "<p>{{name}}</p>"

[[policies]]
preset = "email"
channel = "email"
max_attempts = 9

[[policies]]
origin = "auth"
type = "otp"
lane = "priority"
kind = "ladder"
ladder = ["1s", "5s"]
timeout = "10s"

[[policies]]
channel = "webhook"
kind = "fixed"
interval = "2m"
)";

TEST(Config, AGoodFileIsReadWhole) {
  const auto config = parse(kGood);
  ASSERT_TRUE(config) << config.error().text;
  EXPECT_EQ(config->node_name, "one");
  EXPECT_EQ(config->metrics_prefix, "listo");
  EXPECT_EQ(config->store.url, "postgresql://db/app");
  EXPECT_TRUE(config->store.shared_with_application);
  EXPECT_EQ(config->http.host, "::1");
  EXPECT_EQ(config->http.port, 9090);
  EXPECT_EQ(config->http.tls_key, "/etc/tls/key.pem");
  ASSERT_EQ(config->providers.size(), 3U);
  ASSERT_EQ(config->tenants.size(), 2U);
  EXPECT_EQ(config->tenants[0].chains.at(0).providers, std::vector<std::string>{"box"});
  EXPECT_EQ(config->tenants[0].writing.locale, "de-DE");
  EXPECT_EQ(config->tenants[0].writing.timezone, "Europe/Berlin");
  EXPECT_EQ(config->tenants[0].writing.date_format, "dd-MMM-yyyy");
  EXPECT_EQ(config->tenants[0].writing.missing_keys, MissingKey::Kept);
  EXPECT_EQ(config->tenants[1].writing.locale, "en-US");
  EXPECT_EQ(config->tenants[1].writing.missing_keys, MissingKey::Empty);
  const Route& route = config->routes.at(0);
  EXPECT_EQ(route.date_format, "long");
  EXPECT_EQ(route.lane, Lane::Priority);
  EXPECT_EQ(route.guarantee, Guarantee::AtMostOnce);
  EXPECT_EQ(route.category, "bookings");
  ASSERT_EQ(route.recipients.size(), 2U);
  EXPECT_EQ(route.recipients[0].field, "guest.email");
  EXPECT_EQ(route.recipients[1].field, "phones");
  EXPECT_EQ(route.recipients[1].shape, RecipientShape::Array);
  EXPECT_EQ(config->templates.at(0).version, 2);
  ASSERT_EQ(config->policies.size(), 3U);
  EXPECT_EQ(config->policies[0].policy.attempts_max, 9);
  EXPECT_EQ(config->policies[0].policy.base, seconds{5}) << "the rest is the preset's";
  EXPECT_EQ(config->policies[1].policy.ladder, (std::vector<Duration>{seconds{1}, seconds{5}}));
  EXPECT_EQ(config->policies[2].policy.base, minutes{2});
}

TEST(Config, SecretsAreReadFromEnvironmentAndFilesAndKeptApart) {
  const auto config = parse(kGood);
  ASSERT_TRUE(config);
  const auto find = [&](std::string_view name) {
    return std::find_if(config->providers.begin(), config->providers.end(),
                        [&](const ProviderConfig& p) { return p.settings.name == name; })
        ->settings;
  };
  EXPECT_EQ(find("mail").secrets.at("password").reveal(), "hunter2-hunter2") << "without the line's end";
  EXPECT_EQ(find("hook").secrets.at("secret").reveal(), kSecret);
  EXPECT_EQ(find("mail").values.count("password"), 0U);
}

TEST(Config, RulesAreMadeFromItAndTheStoresNumbers) {
  const auto config = parse(kGood);
  ASSERT_TRUE(config);
  std::vector<ProviderId> ids;
  for (const ProviderConfig& p : config->providers)
    ids.push_back(p.settings.name == "mail"   ? ProviderId{11}
                  : p.settings.name == "hook" ? ProviderId{12}
                                              : ProviderId{13});
  const auto rules = make_rules(*config, adapters(), {21, 22}, ids);
  ASSERT_TRUE(rules);
  const ProviderRule& mail = *rules->provider("mail");
  EXPECT_EQ(mail.id, 11);
  EXPECT_EQ(mail.window, 64);
  EXPECT_EQ(mail.connections, 4);
  EXPECT_EQ(mail.acceptance, Acceptance::MayReportLater);
  ASSERT_TRUE(mail.own_policy);
  EXPECT_EQ(mail.own_policy->attempts_max, 7);
  EXPECT_EQ(mail.own_policy->base, seconds{90});
  EXPECT_EQ(rules->provider("hook")->fixed_recipient, "https://example.org/hook");
  EXPECT_EQ(rules->provider("hook")->acceptance, Acceptance::IsTheEnd);
  EXPECT_EQ(rules->first_provider(*rules->tenant("acme"), Channel::Sms)->name, "box");
  EXPECT_EQ(rules->first_provider(*rules->tenant("globex"), Channel::Sms), nullptr);
  EXPECT_EQ(rules->first_provider(*rules->tenant("globex"), Channel::Email)->name, "mail");
  EXPECT_EQ(rules->tenant("globex")->id, 22);
}

TEST(Config, AnSmtpProvidersIntervalCountsAlsoWithoutItsOwnLimit) {
  const auto config =
      parse("[providers.m]\ntype = \"smtp\"\nhost = \"h\"\nfrom = \"a@b.co\"\nretry_interval = \"7s\"\n");
  ASSERT_TRUE(config) << config.error().text;
  const auto rules = make_rules(*config, adapters(), {1}, {1});
  ASSERT_TRUE(rules->providers.at(0).own_policy);
  EXPECT_EQ(rules->providers[0].own_policy->base, seconds{7});
}

TEST(Config, AnEmptyFileIsOneTenantAndADatabaseBesideIt) {
  const auto config = parse("");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->store.url, "sqlite:postrider.db");
  EXPECT_EQ(config->http.host, "127.0.0.1");
  EXPECT_EQ(config->http.port, 8080);
  ASSERT_EQ(config->tenants.size(), 1U);
  EXPECT_EQ(config->tenants[0].name, "default");
}

struct Wrong {
  const char* text;
  int line;
  const char* key;
  const char* reason;  // part of it
};

void expect_refused(const Wrong& wrong) {
  const auto config = parse(wrong.text);
  ASSERT_FALSE(config) << "was taken: " << wrong.text;
  const std::string& said = config.error().text;
  EXPECT_TRUE(said.starts_with("postrider.toml:" + std::to_string(wrong.line) + ": "))
      << said << "\nfor " << wrong.text;
  EXPECT_NE(said.find(wrong.key), std::string::npos) << said;
  EXPECT_NE(said.find(wrong.reason), std::string::npos) << said;
  EXPECT_EQ(said.find('\n'), std::string::npos) << "one line";
}

TEST(ConfigErrors, TellFileLineKeyAndReasonOfTheEngineStoreAndHttp) {
  for (const Wrong& wrong : {
           Wrong{"x = 1", 1, "x", "not a known key"},
           Wrong{"\n[engine]\nnodename = \"a\"", 3, "engine.nodename", "not a known key"},
           Wrong{"[engine]\nmetrics_prefix = \"a-b\"", 2, "engine.metrics_prefix", "letters"},
           Wrong{"[engine]\nnode_name = 7", 2, "engine.node_name", "text"},
           Wrong{"engine = 7", 1, "engine", "table"},
           Wrong{"[store]\nurl = \"mysql://x\"", 2, "store.url", "sqlite:"},
           Wrong{"[store]\nurl_env = \"NOT_THERE\"", 2, "store.url_env", "NOT_THERE"},
           Wrong{"[store]\nshared_with_application = \"yes\"", 2, "store.shared_with_application", "true or false"},
           Wrong{"[http]\nlisten = \"8080\"", 2, "http.listen", "HOST:PORT"},
           Wrong{"[http]\nlisten = \"localhost:99999\"", 2, "http.listen", "65535"},
           Wrong{"[http]\nlisten = \"localhost:\"", 2, "http.listen", "port"},
           Wrong{"[http]\n\ntls_key = \"k\"", 3, "http.tls_key", "go together"},
           Wrong{"a = [1", 1, "", ""},
           Wrong{"[store]\nurl = \"sqlite:a\"\nurl = \"sqlite:b\"", 3, "", ""},
       })
    expect_refused(wrong);
}

TEST(ConfigErrors, TellFileLineKeyAndReasonOfProviders) {
  for (const Wrong& wrong : {
           Wrong{"[providers.p]\ntype = \"pigeon\"", 2, "providers.p.type", "sandbox, shim, webhook, smtp"},
           Wrong{"[providers.p]\nchannel = \"sms\"", 1, "providers.p.type", "not one of"},
           Wrong{"[providers.p]\ntype = \"sandbox\"\nchannel = \"fax\"", 3, "providers.p.channel", "email, sms"},
           Wrong{"[providers.p]\ntype = \"webhook\"\nchannel = \"email\"", 3, "providers.p.channel", "cannot serve"},
           Wrong{"[providers.p]\ntype = \"sandbox\"\nwindow = 0", 3, "providers.p.window", "from 1"},
           Wrong{"[providers.p]\ntype = \"sandbox\"\nacceptance = \"maybe\"", 3, "providers.p.acceptance",
                 "sent or delivered"},
           Wrong{"[providers.p]\ntype = \"sandbox\"\nurl = \"x\"", 3, "providers.p.url", "not a known key"},
           Wrong{"[providers.p]\ntype = \"smtp\"\nfrom = \"a@b.co\"", 1, "providers.p.host", "required"},
           Wrong{"[providers.p]\ntype = \"smtp\"\nhost = \"h\"\nfrom = \"nobody\"", 4, "providers.p.from",
                 "local part"},
           Wrong{"[providers.p]\ntype = \"smtp\"\nhost = \"h\"\nfrom = \"a@b.co\"\ntls = \"maybe\"", 5,
                 "providers.p.tls", "starttls"},
           Wrong{"[providers.p]\ntype = \"smtp\"\nhost = \"h\"\nfrom = \"a@b.co\"\nport = 70000", 5, "providers.p.port",
                 "65535"},
           Wrong{"[providers.p]\ntype = \"smtp\"\nhost = \"h\"\nfrom = \"a@b.co\"\nretry_interval = \"soon\"", 5,
                 "providers.p.retry_interval", "duration"},
           Wrong{"[providers.p]\ntype = \"smtp\"\nhost = \"h\"\nfrom = \"a@b.co\"\nmax_attempts = 0", 5,
                 "providers.p.max_attempts", "from 1"},
           Wrong{"[providers.p]\ntype = \"webhook\"\nconnections = 0", 3, "providers.p.connections", "from 1"},
           Wrong{"[providers.p]\ntype = \"webhook\"\nconnections = \"4\"", 3, "providers.p.connections",
                 "whole number"},
           Wrong{"[providers.p]\ntype = \"webhook\"\nallow_internal = 1", 3, "providers.p.allow_internal",
                 "true or false"},
           Wrong{"[providers.p]\ntype = \"webhook\"\nurl = \"example.org\"", 3, "providers.p.url", "http"},
           Wrong{"providers = [1]", 1, "providers", "table"},
           Wrong{"[providers]\np = 1", 2, "providers.p", "table"},
       })
    expect_refused(wrong);
}

TEST(ConfigErrors, SecretsAreNeverWrittenInTheFileAndNeverTold) {
  for (const Wrong& wrong : {
           Wrong{"[providers.p]\ntype = \"webhook\"\nsecret = \"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\"", 3,
                 "providers.p.secret", "env"},
           Wrong{"[providers.p]\ntype = \"webhook\"\nsecret = { env = \"NOT_THERE\" }", 3, "providers.p.secret",
                 "NOT_THERE"},
           Wrong{"[providers.p]\ntype = \"webhook\"\nsecret = { file = \"/nowhere\" }", 3, "providers.p.secret",
                 "/nowhere"},
           Wrong{"[providers.p]\ntype = \"webhook\"\nsecret = { file = \"/run/secrets/empty\" }", 3,
                 "providers.p.secret", "empty"},
           Wrong{"[providers.p]\ntype = \"webhook\"\nsecret = { }", 3, "providers.p.secret", "either env or file"},
           Wrong{"[providers.p]\ntype = \"webhook\"\nsecret = { env = \"HOOK_SECRET\", file = \"/x\" }", 3,
                 "providers.p.secret", "either env or file"},
           Wrong{"[providers.p]\ntype = \"webhook\"\nsecret = { envv = \"X\" }", 3, "providers.p.secret.envv",
                 "not a known key"},
           Wrong{"[providers.p]\ntype = \"webhook\"\nsecret = { file = \"/run/secrets/smtp\" }", 3,
                 "providers.p.secret", "base64"},
       }) {
    expect_refused(wrong);
    const std::string said = parse(wrong.text).error().text;
    EXPECT_EQ(said.find("MfKQ9r8"), std::string::npos) << said;
    EXPECT_EQ(said.find("hunter2"), std::string::npos) << said;
  }
}

TEST(ConfigErrors, TellFileLineKeyAndReasonOfRoutesTemplatesAndPolicies) {
  for (const Wrong& wrong : {
           Wrong{"[[routes]]\nlane = \"bulk\"", 1, "routes[0].type", "required"},
           Wrong{"[[tenants]]\nname = \"a\"\nmissing_keys = \"fail\"", 3, "tenants[0].missing_keys", "empty, keep"},
           Wrong{"[[routes]]\ntype = \"a\"\nlane = \"fast\"", 3, "routes[0].lane", "priority, standard, bulk"},
           Wrong{"[[routes]]\ntype = \"a\"\nguarantee = \"exactly_once\"", 3, "routes[0].guarantee", "at_most_once"},
           Wrong{"[[routes]]\ntype = \"a\"\nrecipients = { fax = \"x\" }", 3, "routes[0].recipients.fax",
                 "not a channel"},
           Wrong{"[[routes]]\ntype = \"a\"\n[[routes]]\ntype = \"a\"", 4, "routes[1].type", "two routes"},
           Wrong{"[[routes]]\ntype = \"a\"\n\ntenant = \"nobody\"", 4, "tenant", "nobody"},
           Wrong{"[routes]\ntype = \"a\"", 1, "routes", "[[routes]]"},
           Wrong{"[[templates]]\ntype = \"a\"\nchannel = \"sms\"\nbody = \"x\"", 1, "templates[0].key", "required"},
           Wrong{"[[templates]]\nkey = \"k\"\nchannel = \"sms\"\nbody = \"x\"", 1, "templates[0].type", "required"},
           Wrong{"[[templates]]\nkey = \"k\"\ntype = \"a\"\nbody = \"x\"", 1, "templates[0].channel", "required"},
           Wrong{"[[templates]]\nkey = \"k\"\ntype = \"a\"\nchannel = \"sms\"", 1, "templates[0].body", "required"},
           Wrong{"[[templates]]\nkey = \"k\"\ntype = \"a\"\nchannel = \"sms\"\nbody = \"{{x\"", 5, "templates[0].body",
                 "never closed"},
           Wrong{"[[templates]]\nkey = \"k\"\ntype = \"a\"\nchannel = \"sms\"\nbody = \"x\"\ntenant = \"nobody\"", 6,
                 "tenant", "nobody"},
           Wrong{"[[templates]]\nkey = \"k\"\ntype = \"a\"\nchannel = \"sms\"\nbody = \"x\"\n[[templates]]\nkey = "
                 "\"l\"\ntype = "
                 "\"a\"\nchannel = \"sms\"\nbody = \"y\"",
                 7, "templates[1].key", "already"},
           Wrong{"[[policies]]\npreset = \"hourly\"", 2, "policies[0].preset", "booking"},
           Wrong{"[[policies]]\nkind = \"linear\"", 2, "policies[0].kind", "exponential, fixed, ladder"},
           Wrong{"[[policies]]\nkind = \"ladder\"", 1, "policies[0].ladder", "required"},
           Wrong{"[[policies]]\nkind = \"ladder\"\nladder = [\"x\"]", 3, "policies[0].ladder", "not a duration"},
           Wrong{"[[policies]]\nbase = \"5\"", 2, "policies[0].base", "duration"},
           Wrong{"[[policies]]\ntimeout = \"1h\"", 2, "policies[0].timeout", "10m"},
           Wrong{"[[policies]]\nfactor = 0.5", 2, "policies[0].factor", "from 1"},
           Wrong{"[[policies]]\nfactor = nan", 2, "policies[0].factor", "from 1"},
           Wrong{"[[policies]]\ncap = \"106751991d\"", 2, "policies[0].cap", "is not a duration"},
           Wrong{"[[policies]]\nmax_attempts = 0", 2, "policies[0].max_attempts", "from 1"},
           Wrong{"[[policies]]\nmax_attempts = 101", 2, "policies[0].max_attempts", "100"},
       })
    expect_refused(wrong);
}

TEST(ConfigErrors, ATableWhoseNameIsNoneIsNamedWithItsLine) {
  for (const char* text : {"\n[#x]", "\n[\v", "\n[[.", "\n[a.#]"}) {
    const auto config = parse(text);
    ASSERT_FALSE(config) << text;
    EXPECT_TRUE(config.error().text.starts_with("postrider.toml:2: ")) << config.error().text;
  }
}

TEST(ConfigErrors, LettersBeyondAsciiStandOnlyInQuotesAndComments) {
  for (const char* text : {"\nschl\xc3\xbcssel = 1", "\n[\xc2\xa0", "\n\xe2\x80\xa8", "\na = \"x\" \xff",
                           "\na = {b = \"\"\"x\"\"\"\", \xc3\xbc = 1}"}) {
    const auto config = parse(text);
    ASSERT_FALSE(config) << text;
    EXPECT_TRUE(config.error().text.starts_with("postrider.toml:2: outside of quotes")) << config.error().text;
  }
  EXPECT_TRUE(
      parse("# Gr\xc3\xbc\xc3\x9f"
            "e\n[engine]\nnode_name = \"M\xc3\xbcnchen \\\" \xe2\x9c\x93\"\n"));
  EXPECT_TRUE(parse("[engine]\nnode_name = '''M\xc3\xbcnchen\n\"\xc3\xa4\"''' # \xc3\xa4\n"));
  EXPECT_TRUE(parse("\xef\xbb\xbf[engine]\n"));
  const auto names = parse("[tenants]\n\"\xc3\xa4\" = 1\n\"\xc3\xb6\" = 1\n");
  ASSERT_FALSE(names);
  EXPECT_EQ(names.error().text.find("redefine"), std::string::npos) << names.error().text;  // two letters, two names
}

TEST(ConfigErrors, AQuoteThatOpensNothingHidesNoLetterFromTheParser) {
  for (const char* text : {"\na = 11epb\"\"\"b\xd2\x96", "\na = 1.\"\xd2\x96\"", "\na = x'\xd2\x96'",
                           "\na = 1=\"\xd2\x96\"", "\na = [1=\"\xd2\x96\"]"}) {
    const auto config = parse(text);
    ASSERT_FALSE(config) << text;
    EXPECT_TRUE(config.error().text.starts_with("postrider.toml:2: ")) << config.error().text;
  }
}

TEST(ConfigErrors, ReferencesThatLeadNowhereAreFoundWithTheirPlace) {
  for (const Wrong& wrong : {
           Wrong{"[channels]\nfax = \"p\"", 2, "channels.fax", "not a channel"},
           Wrong{"[channels]\nemail = []", 2, "channels.email", "no provider"},
           Wrong{"\n[channels]\nsms = [\"p\"]", 3, "channels.sms", "\"p\""},
           Wrong{"[channels]\nemail = \"p\"\n[providers.p]\ntype = \"sandbox\"\nchannel = \"sms\"", 2, "channels.email",
                 "serves sms"},
           Wrong{"[[tenants]]\nname = \"a\"\n[tenants.channels]\nsms = [\"p\"]", 4, "sms", "\"p\""},
           Wrong{"[[tenants]]\nchannels = {}", 1, "tenants[0].name", "required"},
           Wrong{"[[tenants]]\nname = \"a\"\n[[tenants]]\nname = \"a\"", 4, "tenants[1].name", "twice"},
       })
    expect_refused(wrong);
}

TEST(Config, ALadderOfOnesOwnReplacesThePresets) {
  const auto config = parse("[[policies]]\npreset = \"ladder\"\nladder = [\"1s\"]");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->policies[0].policy.ladder, std::vector<Duration>{seconds{1}});
}

TEST(Listen, IsHostAndPort) {
  EXPECT_EQ(parse_listen("127.0.0.1:8080")->port, 8080);
  EXPECT_EQ(parse_listen("localhost:0")->port, 0);
  EXPECT_EQ(parse_listen("[::]:1")->host, "::");
  for (const char* text :
       {"", "8080", ":8080", "[]:80", "host", "host:", "host:x", "host:-1", "host:65536", "host:80 "})
    EXPECT_FALSE(parse_listen(text)) << text;
}

TEST(LoadConfig, AFileThatIsNotThereIsNamed) {
  const auto config = load_config("/nowhere/postrider.toml", adapters());
  ASSERT_FALSE(config);
  EXPECT_NE(config.error().text.find("/nowhere/postrider.toml"), std::string::npos);
}

}  // namespace
}  // namespace postrider
