#include "runtime/intake.h"

#include <algorithm>
#include <utility>

#include "base/fault.h"
#include "base/thread_name.h"

namespace postrider {

Intake::Intake(std::unique_ptr<StoreSession> session, const Clock& clock, std::function<void()> on_accepted)
    : session_(std::move(session)), clock_(clock), on_accepted_(std::move(on_accepted)), thread_([this] {
        name_thread("intake");
        run();
      }) {}

Intake::~Intake() { stop(); }

void Intake::stop() {
  waiting_.close();
  if (thread_.joinable()) thread_.join();
}

void Intake::accept(IntakeGroup group, Answer answer) {
  const std::size_t count = group.size();
  if (waiting_.closed()) return answer(Error{ErrorCode::Cancelled, "shutting down"});
  if (waiting_messages_.fetch_add(count) + count > kWaitingMax) {
    waiting_messages_.fetch_sub(count);
    return answer(Error{ErrorCode::Exhausted, "too many messages are waiting to be stored"});
  }
  waiting_.put({std::move(group), std::move(answer)});
}

void Intake::run() {
  for (;;) {
    const bool closing = waiting_.closed();
    std::vector<Item> items = waiting_.take_all(std::chrono::milliseconds{200});
    std::size_t from = 0;
    while (from < items.size()) {
      std::vector<Item> part;
      std::size_t messages = 0;
      while (from < items.size() && (part.empty() || messages + items[from].group.size() <= kPerCommitMax)) {
        messages += items[from].group.size();
        part.push_back(std::move(items[from++]));
      }
      commit(std::move(part));
    }
    if (closing && items.empty()) return;
  }
}

void Intake::commit(std::vector<Item> items) {
  std::vector<IntakeGroup> groups;
  groups.reserve(items.size());
  for (Item& item : items) {
    waiting_messages_.fetch_sub(item.group.size());
    groups.push_back(std::move(item.group));
  }
  POSTRIDER_FAULT_POINT("before_accept");
  auto admitted = session_->accept(clock_.now(), groups);
  POSTRIDER_FAULT_POINT("after_accept");
  if (admitted) on_accepted_();
  for (std::size_t i = 0; i < items.size(); ++i) {
    items[i].answer(admitted ? Result<std::vector<Admitted>>{std::move((*admitted)[i])}
                             : Result<std::vector<Admitted>>{admitted.error()});
  }
}

}  // namespace postrider
