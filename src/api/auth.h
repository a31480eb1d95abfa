// Who is calling. Keys are stored as hashes; what is known of them is at most kKeysFreshFor old, so a revoked key ends
// within that time.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "api/http/http_server.h"
#include "ports/store.h"

namespace postrider {

inline constexpr Duration kKeysFreshFor = std::chrono::seconds{5};
inline constexpr Duration kKeysRefreshedAhead = std::chrono::seconds{2};  // so that a busy node never waits for them
inline constexpr Duration kKeysRefreshedOnMiss = std::chrono::seconds{1};

/// "pr_" and 256 random bits. It is shown once, when it is made.
std::string new_api_key();
/// What is stored of a key: the SHA-256 of its whole text ("pr_…"), in hex.
std::string api_key_hash(std::string_view key);

std::string_view to_text(Role role);
std::optional<Role> parse_role(std::string_view text);

/// What a request does; a viewer only reads, whatever else its role would allow.
enum class Does : std::uint8_t { Reads, Changes };
bool may(Role role, Role least, Does does);

struct Caller {
  Role role = Role::Viewer;
  std::string name = {};                // of the key; the actor in the audit trail
  std::optional<TenantId> tenant = {};  // empty: every tenant (ops)
  [[nodiscard]] bool sees_addresses() const { return role >= Role::Operator && role != Role::Site; }
};

/// The key of "Authorization: Bearer pr_…"; empty when there is none, or more than one.
std::string_view bearer_key(const HttpIn& in);

/// The keys as the store had them a moment ago. Thread-safe; only refresh() touches the store.
class KeyCache {
 public:
  enum class Answer : std::uint8_t { Known, Unknown, AskStore };
  struct Found {
    Answer answer = Answer::AskStore;
    Caller caller = {};
    bool refresh_soon = false;  // the answer holds, but the keys should be read again in the background
  };
  Found look_up(std::string_view key, Instant now);
  /// Reads the keys unless they were read less than kKeysRefreshedOnMiss ago.
  Result<Done> refresh(StoreSession& session, Instant now);

 private:
  struct Snapshot {
    Instant read_at = {};
    std::multimap<std::string, ApiKey, std::less<>> by_prefix = {};  // the first characters of the hash: not a secret
  };
  static std::optional<Caller> find(const Snapshot& snapshot, std::string_view hash);
  std::shared_ptr<const Snapshot> snapshot();

  std::mutex mutex_;
  std::shared_ptr<const Snapshot> snapshot_;
  std::mutex refreshing_;
};

}  // namespace postrider
