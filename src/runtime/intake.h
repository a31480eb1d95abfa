// Group commit for messages that come by HTTP: whatever gathered while the last commit was under way is the next one.
// The answer is given only when the messages are durable.
#pragma once
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "ports/clock.h"
#include "ports/store.h"
#include "runtime/mailbox.h"

namespace postrider {

class Intake {
 public:
  using Answer = std::function<void(Result<std::vector<Admitted>>)>;  // called on the intake's thread

  Intake(std::unique_ptr<StoreSession> session, const Clock& clock, std::function<void()> on_accepted);
  ~Intake();
  Intake(const Intake&) = delete;
  Intake& operator=(const Intake&) = delete;

  /// Never waits. With more than kWaitingMax messages waiting the answer is Exhausted at once: the caller must slow
  /// down.
  void accept(IntakeGroup group, Answer answer);
  /// Answers everything that waits, then takes nothing more.
  void stop();

  static constexpr std::size_t kWaitingMax = 20'000;
  static constexpr std::size_t kPerCommitMax = 2'000;

 private:
  struct Item {
    IntakeGroup group;
    Answer answer;
  };
  void run();
  void commit(std::vector<Item> items);

  std::unique_ptr<StoreSession> session_;
  const Clock& clock_;
  std::function<void()> on_accepted_;
  Mailbox<Item> waiting_;
  std::atomic<std::size_t> waiting_messages_{0};
  std::thread thread_;
};

}  // namespace postrider
