// The stage that writes late texts: from the record, the contact, the templates and the secret as they are now.
#pragma once
#include <map>
#include <vector>

#include "pipeline/catalog.h"
#include "pipeline/late.h"
#include "ports/context.h"
#include "ports/secrets.h"
#include "ports/store.h"

namespace postrider {

class PrepareStage {
 public:
  struct Parts {
    StoreSession& store;
    const Rules& rules;
    ContextSource* context = nullptr;  // null: no route asks for records
    SecretOpener* secrets = nullptr;   // null: no key is here
  };
  explicit PrepareStage(Parts parts) : parts_(parts), catalog_(parts.rules) {}

  /// One answer for each job, in their order. Waits for the store and for the application's database.
  std::vector<LateAnswer> turn(Instant now, const std::vector<LateJob>& jobs);
  void catalog_changed() { catalog_changed_ = true; }

 private:
  using Answer = decltype(LateAnswer::what);
  Result<Done> keep_up(Instant now);
  Answer prepare(const LateDelivery& late, const ContextRecord& record, const People& people);
  Answer write(const LateDelivery& late, std::string_view record, const Contact* contact);
  std::vector<ContextRecord> records_of(const std::vector<LateDelivery>& all);

  Parts parts_;
  Catalog catalog_;
  bool catalog_changed_ = true;
};

}  // namespace postrider
