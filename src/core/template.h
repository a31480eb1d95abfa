// Templates: what is written to people about an event, per channel and language, and which of several is the right one.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/channel.h"
#include "core/language.h"
#include "core/render.h"

namespace postrider {

/// Whether a text asks for a sealed secret, by all names under which rendering would find it: `secret.token` in either
/// case of letters, or perhaps without its dot (`secretToken`). What does is rendered only just before sending.
enum class SecretUse : std::uint8_t { None, Perhaps, Certain };
SecretUse secret_use(const CompiledText& text);

/// One language of a template, compiled. An empty locale serves every language (templates of the configuration file).
struct LocalText {
  std::string locale = {};
  CompiledText subject = {};
  CompiledText body = {};
  CompiledText html = {};
  std::string provider_template = {};  // the provider's own approved template, where it has such (WhatsApp, DLT)
  std::vector<std::pair<std::string, CompiledText>> provider_params = {};  // its parameters, in their order
};

struct Template {
  std::int64_t id = 0;      // of the store; 0: from the configuration file
  std::string key = {};     // stays the same over versions
  std::string name = {};    // for people
  std::string tenant = {};  // empty: every tenant
  std::string type = {};    // empty: only for messages that name it
  Channel channel = Channel::Email;
  std::string scope_type = {};  // with an id: only for events about that one ("listing", "10")
  std::string scope_id = {};
  int version = 1;
  bool active = true;
  std::vector<LocalText> texts = {};
  SecretUse secret = SecretUse::None;      // of its own words, without its partials
  std::vector<std::string> includes = {};  // the partials that it names

  /// What stands for this template in the keys of deliveries.
  [[nodiscard]] std::string id_in_keys() const { return id == 0 ? key : std::to_string(id); }
  [[nodiscard]] std::vector<std::string> locales() const;
  /// The text in this locale, or in the first of `fallbacks` that there is, or the one for every language.
  [[nodiscard]] Result<const LocalText*> text(std::string_view locale, std::span<const std::string> fallbacks) const;
};

/// What an event is about, for templates that are only for some: (scope type, scope id).
using EventScopes = std::vector<std::pair<std::string, std::string>>;

/// All templates that an engine knows. Built once, then only read; a change makes a new set.
class TemplateSet {
 public:
  void add(Template entry);
  /// A text that templates include by name, for one tenant (empty: every one) and locale (empty: every one).
  Result<Done> add_partial(std::string_view tenant, std::string_view name, std::string_view locale,
                           std::string_view text);

  /// Active templates of a type, one per channel, ordered by channel. The tenant's own beats the common one, and among
  /// those the one for an event's scope beats the one for all.
  [[nodiscard]] std::vector<const Template*> for_event(std::string_view tenant, std::string_view type,
                                                       const EventScopes& scopes) const;
  /// The active template that a message names, by the same order.
  [[nodiscard]] const Template* by_key(std::string_view tenant, std::string_view key, Channel channel,
                                       const EventScopes& scopes) const;
  [[nodiscard]] const Template* by_id(std::int64_t id) const;
  [[nodiscard]] const Partials* partials(std::string_view tenant, std::string_view locale) const;
  /// Of a template with the partials that it includes for this tenant in this locale.
  [[nodiscard]] SecretUse secret_use(const Template& entry, std::string_view tenant, std::string_view locale) const;
  [[nodiscard]] const std::vector<Template>& all() const { return templates_; }
  [[nodiscard]] bool empty() const { return templates_.empty(); }

 private:
  using Name = std::pair<std::string, std::string>;  // tenant, and type or key
  [[nodiscard]] const Template* better(const Template* a, const Template* b, const EventScopes& scopes) const;

  struct PartialText {
    std::string tenant = {};
    std::string name = {};
    std::string locale = {};
    std::string text = {};
    SecretUse secret = SecretUse::None;
    std::vector<std::string> includes = {};
  };
  struct PartialSet {
    Partials texts = {};
    std::map<std::string, SecretUse, std::less<>> secrets = {};  // with what each of them includes
  };
  [[nodiscard]] PartialSet partials_for(const Name& asker) const;
  [[nodiscard]] const PartialSet* find_partials(std::string_view tenant, std::string_view locale) const;

  std::vector<Template> templates_;
  std::map<Name, std::vector<std::size_t>> by_type_;
  std::map<Name, std::vector<std::size_t>> by_key_;
  std::map<std::int64_t, std::size_t> by_id_;
  std::vector<PartialText> partial_texts_;
  std::map<Name, PartialSet> partials_;  // by tenant and locale, complete each
};

}  // namespace postrider
