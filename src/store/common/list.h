// One page of the list of deliveries and messages.
#pragma once
#include <algorithm>
#include <map>
#include <memory>

#include "store/common/read.h"

namespace postrider::common {

/// One page. The statements find ids by the narrowest way; what is on the page is decided by lets_through().
template <class Connection>
class Page {
 public:
  Page(Connection& c, const ListFilter& filter, const StateFilter& state)
      : c_(c), filter_(filter), state_(state), range_(id_range(filter)) {}

  std::vector<ListItem> read() {
    std::vector<ListItem> items = pending();
    std::vector<ListItem> rest = collect(delivery_source(), &Page::delivery_item);
    if (!state_.delivery || state_.message) {
      for (ListItem& item : collect(bare_source(), &Page::message_item)) rest.push_back(std::move(item));
    }
    std::sort(rest.begin(), rest.end(), [](const ListItem& a, const ListItem& b) { return a.id > b.id; });
    if (rest.size() > filter_.count_max) rest.resize(filter_.count_max);
    items.insert(items.end(), std::make_move_iterator(rest.begin()), std::make_move_iterator(rest.end()));
    return items;
  }

 private:
  struct Source {
    std::string_view statement;
    std::optional<int> state = {};
  };

  [[nodiscard]] Source delivery_source() const {
    if (!filter_.entity.empty()) return {"ids_of_entity"};
    if (!filter_.recipient.empty()) return {"ids_of_recipient"};
    if (state_.delivery) {
      const int number = static_cast<int>(*state_.delivery);
      switch (*state_.delivery) {
        case DeliveryState::Queued:
        case DeliveryState::Sending: return {"ids_queue", number};
        case DeliveryState::Retrying: return {"ids_deferred", number};
        case DeliveryState::Parked: return {"ids_parked", number};
        case DeliveryState::Sent:
        case DeliveryState::Delivered:
        case DeliveryState::Discarded:
        case DeliveryState::Cancelled:
        case DeliveryState::Suppressed:
        case DeliveryState::Expired: return {"ids_settled", number};
      }
    }
    if (state_.message && *state_.message != MessageState::Expanded) {
      return {"ids_of_message_state", static_cast<int>(*state_.message)};
    }
    return {filter_.tenant ? "ids_of_tenant" : "ids_all"};
  }
  [[nodiscard]] Source bare_source() const {
    if (!filter_.entity.empty()) return {"ids_of_bare_entity"};
    return {"ids_of_bare_messages", state_.message ? std::optional{static_cast<int>(*state_.message)} : std::nullopt};
  }

  std::vector<ListItem> collect(const Source& source, std::optional<ListItem> (Page::*load)(RowId)) {
    std::vector<ListItem> items;
    RowId before = range_.before;
    for (;;) {
      const std::vector<RowId> ids = next_ids(source, before);
      for (const RowId id : ids) {
        if (items.size() == filter_.count_max) return items;
        if (auto item = (this->*load)(id)) items.push_back(std::move(*item));
      }
      if (ids.size() < filter_.count_max) return items;
      before = ids.back();
    }
  }

  std::vector<RowId> next_ids(const Source& source, RowId before) {
    std::vector<RowId> ids;
    const auto maybe = [](const std::string& text) { return text.empty() ? std::nullopt : std::optional{text}; };
    auto rows =
        c_.use(source.statement)
            .query(filter_.tenant, range_.from, before, maybe(filter_.type), filter_.channel,
                   maybe(filter_.entity.empty() ? filter_.recipient : filter_.entity), filter_.count_max, source.state);
    while (rows.next()) ids.push_back(rows.integer(0));
    return ids;
  }

  void add_message_state(RowId message, ListItem& item) {
    item.message_state = MessageState::Expanded;
    item.reason = Reason::Expanded;
    if (const auto state = find_state(c_, message)) {
      item.message_state = state->state;
      item.reason = state->reason;
      item.detail = state->detail;
    }
  }

  std::optional<ListItem> delivery_item(RowId id) {
    auto view = look_at_delivery(c_, id);
    if (!view) return std::nullopt;
    ListItem item;
    item.id = id;
    item.message_uuid = view->delivery.message_uuid;
    item.tenant = view->delivery.tenant;
    item.type = view->delivery.type;
    add_message_state(view->delivery.message, item);
    if (auto rows = c_.use("message_brief").query(view->delivery.message); rows.next()) {
      item.accepted_at = rows.instant(0);
      item.entity_id = rows.text(1);
    }
    item.delivery = std::move(*view);
    if (!lets_through(filter_, state_, item, {})) return std::nullopt;
    if (filter_.whole) add_all(item, item.delivery->delivery.message);
    return item;
  }

  // Deliveries of one message share it.
  void add_all(ListItem& item, RowId message) {
    if (item.delivery) item.delivery->tries = look_at_attempts(c_, item.delivery->delivery.id);
    std::shared_ptr<const Message>& known = messages_[message];
    if (known == nullptr) {
      auto found = find(message);
      if (!found) return;
      found->sealed.clear();
      known = std::make_shared<const Message>(std::move(*found));
    }
    item.message = known;
  }

  std::optional<Message> find(RowId id) {
    auto rows = c_.use("message_of").query(id);
    if (!rows.next()) return std::nullopt;
    return read_message(rows);
  }

  std::optional<ListItem> message_item(RowId id) {
    const auto found = find(id);
    if (!found) return std::nullopt;
    const Message& message = *found;
    ListItem item;
    item.id = id;
    item.message_uuid = message.uuid;
    item.tenant = message.tenant;
    item.type = message.type;
    item.entity_id = message.entity_id;
    item.accepted_at = message.accepted_at;
    add_message_state(id, item);
    if (!lets_through(filter_, state_, item, {message.channel, message.recipient})) return std::nullopt;
    if (filter_.whole) add_all(item, id);
    return item;
  }

  std::vector<ListItem> pending() {
    std::vector<ListItem> items;
    if (filter_.before) return items;
    if (state_.message.value_or(MessageState::Pending) != MessageState::Pending) return items;
    if (state_.delivery) return items;
    auto rows = c_.use("outbox_newest").query(kPendingLookedAtMax);
    while (items.size() < filter_.count_max && rows.next()) {
      const OutboxRow row = read_outbox_row(rows);
      ListItem item = pending_item(row, tenant_number(c_, row.tenant));
      if (lets_through(filter_, state_, item, {parse_channel(row.channel), row.recipient})) {
        items.push_back(std::move(item));
      }
    }
    return items;
  }

  Connection& c_;
  const ListFilter& filter_;
  const StateFilter& state_;
  IdRange range_;
  std::map<RowId, std::shared_ptr<const Message>> messages_;
};

/// One page of messages without their deliveries.
template <class Connection>
class MessagePage {
 public:
  MessagePage(Connection& c, const MessageFilter& filter) : c_(c), filter_(filter) {}

  std::vector<MessageView> read() {
    std::vector<MessageView> page = pending();
    for (const RowId id : ids()) {
      if (page.size() == filter_.count_max) break;
      if (auto view = look_at_message_alone(c_, id)) page.push_back(std::move(*view));
    }
    return page;
  }

 private:
  std::vector<RowId> ids() {
    const IdRange range = id_range(filter_.from, filter_.until, filter_.before);
    std::vector<RowId> found;
    auto rows =
        c_.use(source()).query(filter_.tenant, range.from, range.before, filter_.count_max, state_mask(filter_));
    while (rows.next()) found.push_back(rows.integer(0));
    return found;
  }

  // An expanded message has mostly no row among the states; every other one has.
  [[nodiscard]] std::string_view source() const {
    if (!wants(filter_, MessageState::Expanded)) return "message_ids_in_state";
    return filter_.tenant ? "message_ids_of_tenant" : "message_ids_all";
  }

  std::vector<MessageView> pending() {
    std::vector<MessageView> page;
    if (filter_.before || !wants(filter_, MessageState::Pending)) return page;
    auto rows = c_.use("outbox_newest").query(kPendingLookedAtMax);
    while (page.size() < filter_.count_max && rows.next()) {
      const OutboxRow row = read_outbox_row(rows);
      MessageView view = listed_view(row, tenant_number(c_, row.tenant));
      if (lets_through(filter_, view)) page.push_back(std::move(view));
    }
    return page;
  }

  Connection& c_;
  const MessageFilter& filter_;
};

}  // namespace postrider::common
