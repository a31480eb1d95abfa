#include "api/workers.h"

#include <utility>

#include "base/thread_name.h"

namespace postrider {

Result<StoreSession*> Worker::session() {
  if (!session_) {
    POSTRIDER_TRY(opened, store_.open_session());
    opened->use_ids(ids_);
    session_ = std::move(opened);
  }
  return session_.get();
}

void Worker::note(const Error& error) {
  switch (error.code) {
    case ErrorCode::Unavailable:
    case ErrorCode::Ambiguous:
    case ErrorCode::Corrupt: session_.reset(); return;
    case ErrorCode::Conflict:
    case ErrorCode::NotFound:
    case ErrorCode::Invalid:
    case ErrorCode::Exhausted:
    case ErrorCode::Unsupported:
    case ErrorCode::Cancelled: return;
  }
  POSTRIDER_DIE("an ErrorCode outside its enum");
}

Workers::Workers(Store& store, IdSource& ids) {
  threads_.reserve(kThreads);
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads_.emplace_back([this, &store, &ids] {
      name_thread("api");
      work(Worker{store, ids});
    });
  }
}

Workers::~Workers() { stop(); }

Workers::Taken Workers::put(Job job) {
  {
    const std::lock_guard lock{mutex_};
    if (stopping_) return Taken::Stopping;
    if (waiting_.size() >= kWaitingMax) return Taken::Full;
    waiting_.push_back(std::move(job));
  }
  changed_.notify_one();
  return Taken::Yes;
}

void Workers::stop() {
  std::deque<Job> left;
  {
    const std::lock_guard lock{mutex_};
    stopping_ = true;
    left.swap(waiting_);
  }
  changed_.notify_all();
  for (const Job& job : left) job.refused();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void Workers::work(Worker worker) {
  for (;;) {
    Job job;
    {
      std::unique_lock lock{mutex_};
      changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      if (waiting_.empty()) return;  // stopping
      job = std::move(waiting_.front());
      waiting_.pop_front();
    }
    job.run(worker);
  }
}

}  // namespace postrider
