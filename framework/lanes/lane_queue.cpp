#include "framework/lanes/lane_queue.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace skyline {
namespace {

constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

// A sleeping thread takes some 50 microseconds to wake up, so short waits do not sleep. A few
// thousand pauses are about as long.
constexpr int kSpins = 2000;
// Lanes that share a loop end it at nearly the same time, and nothing can run before that.
constexpr int kJoinSpins = 20'000;

thread_local bool within_op = false;

void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

// Counts may pass the largest number: two of them are never far apart.
bool reached(std::uint32_t now, std::uint32_t number) noexcept {
  return static_cast<std::int32_t>(now - number) >= 0;
}

}  // namespace

void LaneQueue::Counter::add_one() noexcept {
  number_.fetch_add(1, std::memory_order_release);
  number_.notify_all();
}

void LaneQueue::Counter::reach(std::uint32_t number, int spins) noexcept {
  for (int spin = 0; spin < spins; ++spin) {
    if (reached(number_.load(std::memory_order_acquire), number)) return;
    pause();
  }
  while (true) {
    const std::uint32_t now = number_.load(std::memory_order_acquire);
    if (reached(now, number)) return;
    number_.wait(now, std::memory_order_acquire);
  }
}

LaneQueue::LaneQueue(std::size_t lanes) : uses_(lanes), failed_at_(kNone) {
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    lanes_.push_back(std::make_unique<Lane>());
    lanes_.back()->waited.resize(lanes, 0);
  }
}

LaneQueue::~LaneQueue() {
  failed_at_.store(0);
  finish();
  for (const auto& lane : lanes_) {
    if (!lane->thread.joinable()) continue;
    push(*lane, {});
    lane->thread.join();
  }
}

void LaneQueue::enqueue(std::size_t lane, std::span<const ByteRange> reads,
                        std::span<const ByteRange> writes, std::function<void()> op) {
  Lane& own = *lanes_[lane];
  if (lane > 0) begin_thread(own);
  busy_ = true;
  Task task{.number = ++ops_, .waits = {}, .op = std::move(op)};
  const LaneClock clock = uses_.add({lane, ++own.enqueued}, reads, writes);
  for (std::size_t other = 0; other < clock.size(); ++other) {
    if (clock[other] == 0 || reached(own.waited[other], clock[other])) continue;
    own.waited[other] = clock[other];
    task.waits.push_back({other, clock[other]});
  }
  waits_ += task.waits.size();
  push(own, std::move(task));
  if (lane == 0) run_here_until(kAhead);
}

void LaneQueue::share(std::int64_t count, std::int64_t grain,
                      const std::function<void(std::int64_t, std::int64_t)>& body) {
  const std::int64_t grains = (count + grain - 1) / grain;
  const auto begin = [&](std::size_t lane) {
    const auto all = static_cast<std::int64_t>(lanes_.size());
    return std::min(count, static_cast<std::int64_t>(lane) * grains / all * grain);
  };
  for (std::size_t lane = 1; lane < lanes_.size(); ++lane) begin_thread(*lanes_[lane]);
  ++shares_;
  const std::uint64_t first = ++ops_;
  for (std::size_t lane = 1; lane < lanes_.size(); ++lane) {
    if (begin(lane) == begin(lane + 1)) continue;
    ++lanes_[lane]->enqueued;
    push(*lanes_[lane],
         {.number = ++ops_, .waits = {}, .op = [&body, from = begin(lane), to = begin(lane + 1)] {
            body(from, to);
          }});
  }
  try {
    if (begin(1) > 0) body(0, begin(1));
  } catch (...) {
    fail(first, std::current_exception());
  }
  for (std::size_t lane = 1; lane < lanes_.size(); ++lane) {
    lanes_[lane]->done.reach(lanes_[lane]->enqueued, kJoinSpins);
  }
  const std::exception_ptr error = std::exchange(error_, nullptr);
  forget_error();
  if (error) std::rethrow_exception(error);
}

LaneClock LaneQueue::enqueued() const {
  LaneClock counts;
  for (const auto& lane : lanes_) counts.push_back(lane->enqueued);
  return counts;
}

void LaneQueue::begin_thread(Lane& lane) {
  if (!lane.thread.joinable()) lane.thread = std::thread([this, &lane] { serve(lane); });
}

void LaneQueue::push(Lane& lane, Task task) {
  {
    const std::lock_guard lock(lane.mutex);
    lane.tasks.push_back(std::move(task));
  }
  lane.announced.add_one();
}

LaneQueue::Task LaneQueue::pop(Lane& lane) {
  const std::lock_guard lock(lane.mutex);
  Task task = std::move(lane.tasks.front());
  lane.tasks.pop_front();
  return task;
}

void LaneQueue::run(Lane& lane, Task task) noexcept {
  for (const LaneOp& wait : task.waits) lanes_[wait.lane]->done.reach(wait.count, kSpins);
  within_op = true;
  try {
    if (task.number < failed_at_.load()) task.op();
  } catch (...) {
    fail(task.number, std::current_exception());
  }
  within_op = false;
  task.op = nullptr;  // what it holds ends before others go on
  lane.done.add_one();
}

// The thread of a lane.
void LaneQueue::serve(Lane& lane) noexcept {
  for (std::uint32_t taken = 1;; ++taken) {
    lane.announced.reach(taken, kSpins);
    Task task = pop(lane);
    if (!task.op) return;
    run(lane, std::move(task));
  }
}

void LaneQueue::fail(std::uint64_t number, std::exception_ptr error) noexcept {
  const std::lock_guard lock(error_mutex_);
  if (number >= failed_at_.load()) return;
  failed_at_.store(number);
  error_ = std::move(error);
}

// Runs ops of lane 0 until so many are left.
void LaneQueue::run_here_until(std::uint32_t left) noexcept {
  Lane& own = *lanes_[0];
  for (; own.enqueued - run_here_ > left; ++run_here_) run(own, pop(own));
}

void LaneQueue::finish() noexcept {
  if (within_op || !busy_) return;
  run_here_until(0);
  for (std::size_t lane = 1; lane < lanes_.size(); ++lane) {
    lanes_[lane]->done.reach(lanes_[lane]->enqueued, kSpins);
  }
  uses_.clear();
  busy_ = false;
}

void LaneQueue::wait() {
  if (within_op) return;
  finish();
  const std::exception_ptr error = std::exchange(error_, nullptr);
  forget_error();
  if (error) std::rethrow_exception(error);
}

void LaneQueue::forget_error() noexcept {
  error_ = nullptr;
  failed_at_.store(kNone);
}

}  // namespace skyline
