#include "api/template_view.h"

#include "api/views.h"
#include "pipeline/template_sources.h"

namespace postrider {
namespace {

void write_text(JsonWriter& json, const TextSource& text) {
  json.begin_object().member("locale", text.locale).member("subject", text.subject).member("body", text.body);
  json.member("html", text.html).member("provider_template", text.provider_template);
  json.key("provider_params").begin_array();
  for (const auto& [name, value] : text.provider_params)
    json.begin_object().member("name", name).member("text", value).end_object();
  json.end_array().end_object();
}

}  // namespace

void write_template(JsonWriter& json, const StoredTemplate& entry, const Rules& rules) {
  const TemplateSource source = source_of(entry, rules);
  json.member("id", entry.id);
  text_or_null(json, "tenant", source.tenant);
  json.member("key", source.key).member("name", source.name).member("type", source.type);
  json.member("channel", source.channel ? to_text(*source.channel) : kPartialChannel);
  json.member("scope_type", source.scope_type).member("scope_id", source.scope_id);
  json.member("active", source.active).member("version", entry.version);
  json.member("created_at", format_instant(entry.created_at)).member("updated_at", format_instant(entry.updated_at));
  json.key("texts").begin_array();
  for (const TextSource& text : source.texts) write_text(json, text);
  json.end_array();
}

void write_findings(JsonWriter& json, std::string_view name, const std::vector<Finding>& findings) {
  json.key(name).begin_array();
  for (const Finding& finding : findings) {
    if (finding.weight == FindingWeight::Note) continue;
    json.begin_object().member("code", to_text(finding.kind)).member("locale", finding.locale);
    json.member("part", finding.part).member("line", finding.line).member("message", finding.text).end_object();
  }
  json.end_array();
}

void write_preview(JsonWriter& json, const Preview& made, const Mask& mask) {
  json.member("locale", made.locale).member("subject", mask.text(made.content.subject));
  json.member("body", mask.text(made.content.body)).member("html", mask.text(made.content.html));
  json.member("provider_template", made.provider_template).key("provider_params").begin_array();
  for (const auto& [name, value] : made.provider_params)
    json.begin_object().member("name", name).member("text", mask.text(value)).end_object();
  json.end_array().key("warnings").begin_array();
  for (const std::string& warning : made.warnings) json.value(warning);
  json.end_array().key("sms");
  if (!made.sms) {
    json.null();
    return;
  }
  json.begin_object().member("alphabet", made.sms->alphabet == SmsAlphabet::Gsm7 ? "GSM-7" : "UCS-2");
  json.member("units", made.sms->units).member("segments", made.sms->segments).end_object();
}

}  // namespace postrider
