#include "store/sqlite/session.h"

namespace postrider::sqlite {
namespace {
const Error kNotYet{ErrorCode::Unsupported, "not yet"};
}

Result<std::vector<Contact>> SqliteSession::contacts(const ContactFilter&) { return kNotYet; }
Result<std::vector<Contact>> SqliteSession::find_contacts(std::span<const ContactRef>) {
  return std::vector<Contact>{};
}
Result<std::size_t> SqliteSession::save_contacts(Instant, const OperatorAction&, std::span<const Contact>) {
  return kNotYet;
}
Result<std::size_t> SqliteSession::remove_contacts(Instant, const OperatorAction&, std::span<const ContactRef>) {
  return kNotYet;
}
Result<std::vector<RecipientList>> SqliteSession::lists(TenantId, std::string_view, std::size_t) { return kNotYet; }
Result<RecipientList> SqliteSession::list_named(TenantId, std::string_view) { return kNotYet; }
Result<RecipientList> SqliteSession::save_list(Instant, const OperatorAction&, const RecipientList&) { return kNotYet; }
Result<Done> SqliteSession::remove_list(Instant, const OperatorAction&, TenantId, std::string_view) { return kNotYet; }
Result<std::vector<ListMember>> SqliteSession::members(TenantId, std::string_view, const MemberRange&) {
  return kNotYet;
}
Result<std::size_t> SqliteSession::add_members(Instant, const OperatorAction&, TenantId, std::string_view,
                                               std::span<const ListMember>) {
  return kNotYet;
}
Result<std::size_t> SqliteSession::remove_members(Instant, const OperatorAction&, TenantId, std::string_view,
                                                  std::span<const ListMember>) {
  return kNotYet;
}
Result<bool> SqliteSession::any_suppression() {
  return read([](Connection& c) { return c.use("suppression_any").integer().has_value(); });
}
Result<std::vector<Suppression>> SqliteSession::find_suppressions(std::span<const SuppressionRef>) {
  return std::vector<Suppression>{};
}
Result<SuppressionPage> SqliteSession::suppressions(const SuppressionFilter&) { return kNotYet; }
Result<Acted> SqliteSession::suppress(Instant, const OperatorAction&, std::span<const Suppression>) { return kNotYet; }
Result<std::size_t> SqliteSession::unsuppress(Instant, const OperatorAction&, std::span<const SuppressionRef>) {
  return kNotYet;
}

}  // namespace postrider::sqlite
