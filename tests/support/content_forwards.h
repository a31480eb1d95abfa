// For sessions that stand before a real one and change only the verbs of the stages: the others go through.
#pragma once
#include "ports/store.h"

namespace postrider {

class ContentForwards : public StoreSession {
 public:
  Result<AddressedPage> addressed(const AddressedFilter& filter) override { return real().addressed(filter); }
  Result<std::vector<RowId>> deliveries_of(RowId message, const DeliveryRange& range) override {
    return real().deliveries_of(message, range);
  }
  Result<Acted> dispatch_expand(Instant now, const OperatorAction& action, std::span<const Uuid> messages) override {
    return real().dispatch_expand(now, action, messages);
  }
  Result<std::vector<MessageView>> messages(const MessageFilter& filter) override { return real().messages(filter); }
  Result<CancelledEntity> cancel_entity(Instant now, const OperatorAction& action, const EntityRef& entity,
                                        const ExpandDecision& decide) override {
    return real().cancel_entity(now, action, entity, decide);
  }
  Result<std::int64_t> catalog_version() override { return real().catalog_version(); }
  Result<std::vector<StoredTemplate>> templates(const TemplateFilter& filter) override {
    return real().templates(filter);
  }
  Result<StoredTemplate> template_version(std::optional<TenantId> tenant, std::int64_t id, int version) override {
    return real().template_version(tenant, id, version);
  }
  Result<std::vector<StoredTemplate>> save_templates(Instant now, const OperatorAction& by,
                                                     std::span<const StoredTemplate> wanted) override {
    return real().save_templates(now, by, wanted);
  }
  Result<Removal> remove_template(Instant now, const OperatorAction& by, std::int64_t id) override {
    return real().remove_template(now, by, id);
  }
  Result<std::vector<Contact>> contacts(const ContactFilter& filter) override { return real().contacts(filter); }
  Result<std::vector<Contact>> find_contacts(std::span<const ContactRef> refs) override {
    return real().find_contacts(refs);
  }
  Result<std::size_t> save_contacts(Instant now, const OperatorAction& by, std::span<const Contact> wanted,
                                    std::span<const std::string> exempt) override {
    return real().save_contacts(now, by, wanted, exempt);
  }
  Result<std::size_t> remove_contacts(Instant now, const OperatorAction& by,
                                      std::span<const ContactRef> refs) override {
    return real().remove_contacts(now, by, refs);
  }
  Result<std::vector<RecipientList>> lists(TenantId tenant, std::string_view after, std::size_t count_max) override {
    return real().lists(tenant, after, count_max);
  }
  Result<RecipientList> list_named(TenantId tenant, std::string_view name) override {
    return real().list_named(tenant, name);
  }
  Result<RecipientList> save_list(Instant now, const OperatorAction& by, const RecipientList& wanted) override {
    return real().save_list(now, by, wanted);
  }
  Result<Done> remove_list(Instant now, const OperatorAction& by, TenantId tenant, std::string_view name) override {
    return real().remove_list(now, by, tenant, name);
  }
  Result<std::vector<ListMember>> members(TenantId tenant, std::string_view name, const MemberRange& range) override {
    return real().members(tenant, name, range);
  }
  Result<std::size_t> add_members(Instant now, const OperatorAction& by, TenantId tenant, std::string_view name,
                                  std::span<const ListMember> wanted) override {
    return real().add_members(now, by, tenant, name, wanted);
  }
  Result<std::size_t> remove_members(Instant now, const OperatorAction& by, TenantId tenant, std::string_view name,
                                     std::span<const ListMember> gone) override {
    return real().remove_members(now, by, tenant, name, gone);
  }
  Result<bool> any_suppression() override { return real().any_suppression(); }
  Result<std::vector<Suppression>> find_suppressions(std::span<const SuppressionRef> refs) override {
    return real().find_suppressions(refs);
  }
  Result<SuppressionPage> suppressions(const SuppressionFilter& filter) override { return real().suppressions(filter); }
  Result<Acted> suppress(Instant now, const OperatorAction& by, std::span<const Suppression> wanted) override {
    return real().suppress(now, by, wanted);
  }
  Result<std::size_t> unsuppress(Instant now, const OperatorAction& by, std::span<const SuppressionRef> refs) override {
    return real().unsuppress(now, by, refs);
  }

 protected:
  virtual StoreSession& real() = 0;
};

}  // namespace postrider
