// The dispatcher's last step: what came of its deliveries is gathered, written down and counted.
#include <algorithm>
#include <iterator>
#include <utility>

#include "base/canary.h"
#include "base/limits.h"
#include "pipeline/dispatch.h"

namespace postrider {
namespace {

constexpr Duration kRecordRetry = std::chrono::milliseconds{200};
constexpr Duration kReleaseRetry = std::chrono::milliseconds{200};

}  // namespace

void Dispatcher::complete(const Flight& flight, const Verdict& verdict, std::optional<AttemptEnd> attempt,
                          std::string detail, int attempt_fence) {
  const Delivery& d = flight.claim.delivery;
  if (verdict.possible_duplicate) ++counts_.possible_duplicates;
  ++types_.of(d.type).ended(verdict.state);
  Completion& done = to_record_.emplace_back();
  if (flight.late && (flight.late->may_be_kept || canary("secret_kept")) && attempt) {
    const Content& c = flight.late->content;
    done.rendered = std::make_shared<const LateRendering>(
        LateRendering{flight.late->template_version, d.locale, c.subject, c.body, c.html, c.warnings});
  }
  done.lease = flight.claim.lease;
  done.verdict = verdict;
  done.guarantee = d.guarantee;
  done.expires_at = d.expires_at;
  done.attempt = std::move(attempt);
  done.attempt_fence = attempt_fence;
  done.detail = std::move(detail);
}

// While one batch is being written the next one gathers: the busier the store, the larger the batch, without a timer.
void Dispatcher::flush_record(Moment at) {
  if (to_record_.empty() || recording_ != nullptr || at.steady < record_again_at_) return;
  std::vector<Completion> later;
  if (to_record_.size() > kBatchMax) {
    const auto end = to_record_.begin() + kBatchMax;
    later.assign(std::make_move_iterator(end), std::make_move_iterator(to_record_.end()));
    to_record_.erase(end, to_record_.end());
  }
  later.reserve(to_record_.size());  // the next batch will be about as large
  recording_ = std::make_shared<const std::vector<Completion>>(std::move(to_record_));
  to_record_ = std::move(later);
  out_.emplace_back(effect::Record{recording_});
}

void Dispatcher::flush_release(Moment at) {
  if (to_release_.empty() || !releasing_.empty() || at.steady < release_again_at_) return;
  releasing_ = std::move(to_release_);
  to_release_.clear();
  out_.emplace_back(effect::Release{releasing_});
}

void Dispatcher::take(event::RecordDone done, Moment) {
  POSTRIDER_CHECK(recording_ != nullptr && done.results.size() == recording_->size());
  for (const Recorded result : done.results) result == Recorded::Stale ? ++counts_.stale : ++counts_.recorded;
  recording_ = nullptr;
  record_broken_ = false;
}

// What cannot be written is kept and tried again; meanwhile nothing new is started: an outcome that cannot be recorded
// would be a duplicate later.
void Dispatcher::take(event::RecordFailed, Moment at) {
  if (!canary("dropped_record")) to_record_.insert(to_record_.begin(), recording_->begin(), recording_->end());
  recording_ = nullptr;
  record_broken_ = true;
  record_again_at_ = at.steady + kRecordRetry;
}

void Dispatcher::take(event::ReleaseDone done, Moment at) {
  if (done.ok) {
    counts_.released += releasing_.size();
  } else {
    release_again_at_ = at.steady + kReleaseRetry;
    to_release_.insert(to_release_.end(), releasing_.begin(), releasing_.end());
  }
  releasing_.clear();
}

// --- counting

namespace {

void add_type(DispatchCounts& counts, const std::string& name, const TypeCounts& type) {
  for (const DeliveryState state : kDeliveryStates) {
    if (const std::uint64_t ended = type.ended(state); ended > 0) counts.by_type_and_state[{name, state}] += ended;
  }
  if (type.attempts > 0) counts.attempts_by_type[name] += type.attempts;
  if (type.times.calls > 0) counts.times_by_type[name].add(type.times);
}

}  // namespace

// A type may be named as the others are together, so they are added and not set.
DispatchCounts Dispatcher::counts() const {
  DispatchCounts counts = counts_;
  for (const auto& [name, type] : types_.named()) add_type(counts, name, type);
  add_type(counts, kOtherTypes, types_.others());
  return counts;
}

}  // namespace postrider
