#include "store/postgres/session.h"

namespace postrider::postgres {
namespace {
const Error kNotYet{ErrorCode::Unsupported, "not yet"};
}

Result<std::vector<Contact>> PostgresSession::contacts(const ContactFilter&) { return kNotYet; }
Result<std::vector<Contact>> PostgresSession::find_contacts(std::span<const ContactRef>) {
  return std::vector<Contact>{};
}
Result<std::size_t> PostgresSession::save_contacts(Instant, const OperatorAction&, std::span<const Contact>) {
  return kNotYet;
}
Result<std::size_t> PostgresSession::remove_contacts(Instant, const OperatorAction&, std::span<const ContactRef>) {
  return kNotYet;
}
Result<std::vector<RecipientList>> PostgresSession::lists(TenantId, std::string_view, std::size_t) { return kNotYet; }
Result<RecipientList> PostgresSession::list_named(TenantId, std::string_view) { return kNotYet; }
Result<RecipientList> PostgresSession::save_list(Instant, const OperatorAction&, const RecipientList&) {
  return kNotYet;
}
Result<Done> PostgresSession::remove_list(Instant, const OperatorAction&, TenantId, std::string_view) {
  return kNotYet;
}
Result<std::vector<ListMember>> PostgresSession::members(TenantId, std::string_view, const MemberRange&) {
  return kNotYet;
}
Result<std::size_t> PostgresSession::add_members(Instant, const OperatorAction&, TenantId, std::string_view,
                                                 std::span<const ListMember>) {
  return kNotYet;
}
Result<std::size_t> PostgresSession::remove_members(Instant, const OperatorAction&, TenantId, std::string_view,
                                                    std::span<const ListMember>) {
  return kNotYet;
}
Result<bool> PostgresSession::any_suppression() {
  return run([](Connection& c) { return c.use("suppression_any").integer().has_value(); });
}
Result<std::vector<Suppression>> PostgresSession::find_suppressions(std::span<const SuppressionRef>) {
  return std::vector<Suppression>{};
}
Result<SuppressionPage> PostgresSession::suppressions(const SuppressionFilter&) { return kNotYet; }
Result<Acted> PostgresSession::suppress(Instant, const OperatorAction&, std::span<const Suppression>) {
  return kNotYet;
}
Result<std::size_t> PostgresSession::unsuppress(Instant, const OperatorAction&, std::span<const SuppressionRef>) {
  return kNotYet;
}

}  // namespace postrider::postgres
