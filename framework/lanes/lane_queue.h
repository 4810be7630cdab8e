#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "framework/lanes/byte_uses.h"

namespace skyline {

// Runs the ops of one program on several lanes. A lane runs its ops in sequence. An op begins once
// every earlier op of the program is done that wrote bytes which it reads or writes, or that read
// bytes which it writes; so every lane assignment gives the results of one lane.
//
// Lane 0 is the program's own thread: its ops run while the program waits, or once kAhead of them
// are enqueued, so that the other lanes get work meanwhile. The other lanes have threads, which
// begin at once and end with the queue.
//
// An exception of an op is kept. Ops that come later in the program then do nothing, and wait()
// throws the exception that comes first in the program. Ops of other lanes may have run before it
// was known, so what the program wrote after that op is undefined.
// Thread rule: one thread, the program's. An op may call finish() and wait(), which then do
// nothing: all that it needs is done.
class LaneQueue {
 public:
  static constexpr std::uint32_t kAhead = 8;

  // At least 1 lane. The threads begin with the first op of their lanes.
  explicit LaneQueue(std::size_t lanes);
  // Ops that have not begun do nothing.
  ~LaneQueue();
  LaneQueue(const LaneQueue&) = delete;
  LaneQueue& operator=(const LaneQueue&) = delete;

  std::size_t lanes() const noexcept { return lanes_.size(); }

  // True if nothing was enqueued since the program last waited for all ops.
  bool idle() const noexcept { return !busy_; }
  // Returns how many ops of each lane must be done before an op with these uses begins.
  LaneClock before(std::span<const ByteRange> reads, std::span<const ByteRange> writes) {
    return uses_.before(reads, writes);
  }
  // Adds the next op of the program, which reads and writes these bytes and no others.
  void enqueue(std::size_t lane, std::span<const ByteRange> reads,
               std::span<const ByteRange> writes, std::function<void()> op);
  // Calls body(begin, end) on all lanes at the same time, for ranges that together are [0, count)
  // and begin at multiples of `grain`, and returns once all are done. All ops must be done. Throws
  // what the first range throws.
  void share(std::int64_t count, std::int64_t grain,
             const std::function<void(std::int64_t begin, std::int64_t end)>& body);
  // Returns once all ops are done; keeps an exception.
  void finish() noexcept;
  // Returns once all ops are done. Throws the kept exception, once.
  void wait();
  // Drops a kept exception, after finish().
  void forget_error() noexcept;

  // How many ops each lane has got so far.
  LaneClock enqueued() const;
  // Waits of an op for an op of another lane, of all ops so far. One that an earlier op of the same
  // lane has waited for costs nothing and is not counted.
  std::uint64_t waits() const noexcept { return waits_; }
  // Calls of share() so far.
  std::uint64_t shares() const noexcept { return shares_; }

 private:
  // A number that only grows, for which threads can wait.
  class Counter {
   public:
    void add_one() noexcept;
    // Looks `spins` times before it sleeps.
    void reach(std::uint32_t number, int spins) noexcept;

   private:
    std::atomic<std::uint32_t> number_{0};
  };
  struct Task {
    std::uint64_t number = 0;  // in the program, from 1
    std::vector<LaneOp> waits;
    std::function<void()> op;  // empty: the lane ends
  };
  struct Lane {
    std::mutex mutex;  // of `tasks`
    std::deque<Task> tasks;
    std::uint32_t enqueued = 0;  // by the program
    LaneClock waited;            // by lane: what its ops wait for already
    Counter announced, done;
    std::thread thread;
  };

  void begin_thread(Lane& lane);
  void push(Lane& lane, Task task);
  static Task pop(Lane& lane);
  void run(Lane& lane, Task task) noexcept;
  void run_here_until(std::uint32_t left) noexcept;
  void serve(Lane& lane) noexcept;
  void fail(std::uint64_t number, std::exception_ptr error) noexcept;

  std::vector<std::unique_ptr<Lane>> lanes_;
  ByteUses uses_;
  std::uint64_t ops_ = 0;
  std::uint64_t waits_ = 0;
  std::uint64_t shares_ = 0;
  std::uint32_t run_here_ = 0;  // ops of lane 0 that have run
  bool busy_ = false;           // an op was enqueued since all were done
  // The op whose exception is kept; ops after it do nothing.
  std::atomic<std::uint64_t> failed_at_;
  std::mutex error_mutex_;
  std::exception_ptr error_;
};

}  // namespace skyline
