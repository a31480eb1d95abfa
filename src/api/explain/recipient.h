// What one address got, what it did not get, and why: looked up and told. The API and the command line ask the same.
#pragma once
#include <vector>

#include "api/explain.h"
#include "core/rules.h"

namespace postrider {

struct RecipientQuestion {
  std::optional<TenantId> tenant = {};  // empty: all of them
  std::string address = {};
  std::string type = {};
  std::optional<Instant> from = {};
  std::optional<RowId> before = {};  // for the next page
  std::size_t count_max = 50;
};
struct RecipientFindings {
  std::vector<Contact> contacts = {};          // whose address it is now
  std::vector<Suppression> suppressions = {};  // that hold now
  AddressedPage page = {};
};
Result<RecipientFindings> look_up_recipient(StoreSession& session, const Rules& rules,
                                            const RecipientQuestion& question);

/// What holds for the address (on the first page), then one line per item, then what cannot be known (on the last).
Story explain_recipient(const RecipientQuestion& question, const RecipientFindings& found, const Rules& rules,
                        Addresses shown);

}  // namespace postrider
