// One page of what was for an address, and of what would have been.
#pragma once
#include <algorithm>

#include "store/common/list.h"

namespace postrider::common {

/// Deliveries are found by their indexes (address, contact). There is none over the addresses of messages, because
/// nearly all of them have deliveries: only those that have none are read, and only so many for one page.
template <class Connection>
class AddressedReader {
 public:
  AddressedReader(Connection& c, const AddressedFilter& filter)
      : c_(c),
        filter_(filter),
        type_(filter.type.empty() ? std::nullopt : std::optional{filter.type}),
        quoted_(quoted(filter.address)),
        contacts_(contacts_json(filter.contacts)) {}

  AddressedPage read() {
    AddressedPage page;
    if (!filter_.before) page.items = waiting();
    range_ = id_range({.from = filter_.from, .before = filter_.before});
    // What lies below the last message that is looked at belongs to the next page, deliveries too: none is left out.
    const auto floor =
        c_.use("addressed_floor").integer(filter_.tenant, range_.from, range_.before, filter_.looked_at_max);
    if (floor) {
      range_.from = *floor + 1;
      page.next = range_.from;
    }
    find();
    std::sort(found_.begin(), found_.end(), [](const Found& a, const Found& b) { return a.id > b.id; });
    if (found_.size() > filter_.count_max) {
      found_.resize(filter_.count_max);
      page.next = found_.back().id;
    }
    for (const Found& each : found_) add(each, page.items);
    return page;
  }

 private:
  struct Found {
    RowId id = 0;
    bool bare = false;  // a message without deliveries
  };

  // One more than fits from each source shows whether there is a next page.
  void find() {
    const std::size_t count = filter_.count_max + 1;
    take(c_.use("ids_of_recipient")
             .query(filter_.tenant, range_.from, range_.before, type_, std::optional<Channel>{}, filter_.address, count,
                    std::optional<int>{}),
         false);
    for (const ContactRef& contact : filter_.contacts) {
      take(c_.use("addressed_contact").query(contact.tenant, contact.key, range_.from, range_.before, type_, count),
           false);
    }
    take(c_.use("addressed_messages")
             .query(filter_.tenant, range_.from, range_.before, type_, filter_.address, quoted_, contacts_, count),
         true);
  }
  template <class Rows>
  void take(Rows rows, bool bare) {
    while (rows.next()) found_.push_back({rows.integer(0), bare});
  }

  void add(const Found& each, std::vector<ListItem>& items) {
    if (!each.bare) {
      if (auto item = item_of_delivery(c_, each.id)) items.push_back(std::move(*item));
      return;
    }
    auto rows = c_.use("message_of").query(each.id);
    if (rows.next()) items.push_back(item_of_message(c_, read_message(rows)));
  }

  std::vector<ListItem> waiting() {
    std::vector<ListItem> items;
    auto rows = c_.use("addressed_outbox").query(filter_.looked_at_max, filter_.address, quoted_, contacts_);
    while (items.size() < filter_.count_max && rows.next()) {
      const OutboxRow row = read_outbox_row(rows);
      ListItem item = pending_item(row, tenant_number(c_, row.tenant));
      if (filter_.tenant && *filter_.tenant != item.tenant) continue;
      if (type_ && *type_ != item.type) continue;
      items.push_back(std::move(item));
    }
    return items;
  }

  Connection& c_;
  const AddressedFilter& filter_;
  std::optional<std::string> type_;
  std::string quoted_;
  std::string contacts_;
  IdRange range_ = {};
  std::vector<Found> found_ = {};
};

}  // namespace postrider::common
