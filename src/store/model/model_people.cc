#include "store/model/model_session.h"

namespace postrider::model {
namespace {
const Error kNotYet{ErrorCode::Unsupported, "not yet"};
}

Result<std::vector<Contact>> ModelSession::contacts(const ContactFilter&) { return kNotYet; }
Result<std::vector<Contact>> ModelSession::find_contacts(std::span<const ContactRef>) { return std::vector<Contact>{}; }
Result<std::size_t> ModelSession::save_contacts(Instant, const OperatorAction&, std::span<const Contact>) {
  return kNotYet;
}
Result<std::size_t> ModelSession::remove_contacts(Instant, const OperatorAction&, std::span<const ContactRef>) {
  return kNotYet;
}
Result<std::vector<RecipientList>> ModelSession::lists(TenantId, std::string_view, std::size_t) { return kNotYet; }
Result<RecipientList> ModelSession::list_named(TenantId, std::string_view) { return kNotYet; }
Result<RecipientList> ModelSession::save_list(Instant, const OperatorAction&, const RecipientList&) { return kNotYet; }
Result<Done> ModelSession::remove_list(Instant, const OperatorAction&, TenantId, std::string_view) { return kNotYet; }
Result<std::vector<ListMember>> ModelSession::members(TenantId, std::string_view, const MemberRange&) {
  return kNotYet;
}
Result<std::size_t> ModelSession::add_members(Instant, const OperatorAction&, TenantId, std::string_view,
                                              std::span<const ListMember>) {
  return kNotYet;
}
Result<std::size_t> ModelSession::remove_members(Instant, const OperatorAction&, TenantId, std::string_view,
                                                 std::span<const ListMember>) {
  return kNotYet;
}
Result<bool> ModelSession::any_suppression() { return false; }
Result<std::vector<Suppression>> ModelSession::find_suppressions(std::span<const SuppressionRef>) {
  return std::vector<Suppression>{};
}
Result<SuppressionPage> ModelSession::suppressions(const SuppressionFilter&) { return kNotYet; }
Result<Acted> ModelSession::suppress(Instant, const OperatorAction&, std::span<const Suppression>) { return kNotYet; }
Result<std::size_t> ModelSession::unsuppress(Instant, const OperatorAction&, std::span<const SuppressionRef>) {
  return kNotYet;
}

}  // namespace postrider::model
