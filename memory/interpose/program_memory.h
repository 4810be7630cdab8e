#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "memory/allocator.h"
#include "memory/device/cpu_device.h"
#include "memory/interpose/period_finder.h"
#include "memory/interpose/run_options.h"

namespace skyline {

class Session;

// Serves the large blocks of a program that knows nothing of it, beside the program's own allocator
// (the C library's). Requests are those of the leading thread: the one that asks for most large
// bytes. The C library serves the other threads, so they never wait.
//
//   watching   the C library serves everything until the program is about to make steps
//   warm-up    each block has pages of its own, so that no more is held than is alive; a step is
//              recorded
//   planned    a Session serves the steps from its plan
//
// A mark says that a step is over. Gradients may be alive then that the next step frees at once.
// So a step begins before the request at which the fewest bytes are alive; its number after the
// mark is the same in every step. A program that announces its steps by then may do other things
// before, evaluate say: no step begins until it has.
//
// Thread rule: any thread calls any function. One lock is held inside, before locks of the C
// library. No exception and no output leaves it. The C library serves what it allocates itself,
// which inside() tells.
class ProgramMemory {
 public:
  // Takes at most so many addresses, an eighth of those of a process: they are free.
  static constexpr std::size_t kSpanBytes = std::size_t{1} << 44;
  explicit ProgramMemory(RunOptions options, std::size_t span_bytes = kSpanBytes);
  ProgramMemory(const ProgramMemory&) = delete;
  ProgramMemory& operator=(const ProgramMemory&) = delete;

  // True while this thread is in one of the functions below.
  static bool inside() noexcept { return inside_; }

  // Returns null where the C library is to serve the request. `zeroed`: all bytes are to be 0.
  // Aligned to kAlignment.
  static constexpr std::size_t kAlignment = 256;  // `bfc` has no more
  void* request(std::size_t bytes, bool zeroed) noexcept;
  bool owns(const void* address) const noexcept {
    return reinterpret_cast<std::uintptr_t>(address) - span_begin_.load(std::memory_order_relaxed) <
           span_bytes_.load(std::memory_order_relaxed);
  }
  // For addresses that it owns. An address of no block ends the program, as in the C library.
  std::size_t bytes_of(const void* address) noexcept;
  void release(void* address) noexcept;
  // Counts a large request that the C library serves because of its alignment.
  void note_alignment() noexcept { large_alignment_.fetch_add(1, std::memory_order_relaxed); }

  // The program is about to make steps, and will mark their ends.
  void begin() noexcept;
  // A step is over. Kinds of steps are numbered as they appear: those of two optimizers, say. The
  // newest kind leads: from one of its marks to the next is a step, until 16 marks of others pass.
  void end_step(std::uint64_t kind) noexcept;
  // The next step is about to begin: gradients are zero. Only the first call after a mark counts.
  void announce_step() noexcept;

  // In the child of a fork, the C library serves all requests. Frees of blocks that it inherited do
  // nothing.
  void before_fork() noexcept;
  void after_fork(bool in_child) noexcept;

  // At the program's end: writes the files, serves nothing more, and keeps all blocks.
  void finish() noexcept;
  // Returns what was done so far; while no other thread calls.
  RunReport report() const;

 private:
  enum class State : std::uint8_t { kWatching, kServing, kClosed };
  struct Entry;
  struct Live {
    Extent extent;
    std::uint64_t id = 0;
  };
  struct Usage {
    std::chrono::steady_clock::time_point time;
    double system_seconds = 0;
    std::uint64_t page_faults = 0;
  };

  void lock() noexcept;
  void unlock() noexcept;
  std::size_t count_for_thread(std::size_t bytes) noexcept;
  bool choose_leader() noexcept;
  void* serve(std::size_t bytes, bool zeroed, bool leads);
  void* take(std::size_t bytes, bool leads);
  void start();
  void adopt_plan();
  bool leading_kind(std::uint64_t kind);
  void step_is_over();
  void mark();
  void note_announcement();
  void begin_step();
  void stop_steps(std::string problem);
  bool warms_up() const;
  bool holds() const;
  void measure();
  void write_files() const;

  static constinit thread_local bool inside_;

  const RunOptions options_;
  const std::size_t most_span_bytes_;
  const pid_t process_;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  std::atomic<State> state_ = State::kWatching;
  std::atomic<std::uintptr_t> span_begin_ = 0, span_bytes_ = 0;

  // Large bytes by thread; the last place is of all threads that found no other.
  static constexpr std::size_t kMostThreads = 256;
  std::array<std::atomic<std::uint64_t>, kMostThreads> thread_bytes_ = {};
  std::atomic<std::size_t> leader_ = 0;  // the first thread to ask for large bytes

  std::optional<AddressSpan> span_;
  std::optional<CpuDevice> device_;
  std::unique_ptr<Allocator> allocator_;
  Session* session_ = nullptr;  // the allocator, if it is `planned`
  std::unordered_map<const void*, Live> live_;
  std::uint64_t live_bytes_ = 0, ids_ = 0;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> events_{nullptr, std::fclose};

  PeriodFinder finder_;
  bool marked_ = false, found_ = false;  // by the program; by the finder
  std::uint64_t kinds_ = 0, kind_ = 0, other_marks_ = 0;
  std::uint64_t marks_ = 0;       // since steps were first known
  std::uint64_t after_mark_ = 0;  // requests of the leading thread
  std::uint64_t cut_ = 0;         // the one that begins a step
  std::uint64_t fewest_bytes_ = 0, fewest_at_ = 0;
  std::optional<std::uint64_t> announced_;     // in the running step, at so many requests
  std::optional<std::uint64_t> announced_at_;  // in every step; a step begins no sooner
  bool announces_ = true;                      // until a step came without
  bool steps_ = false;                         // requests belong to steps
  std::optional<std::uint64_t> adopted_cut_;   // of the plan of an earlier run

  std::optional<Usage> usage_;        // at the last mark
  Server server_ = Server::kLibrary;  // then
  RunReport totals_;
  std::atomic<std::uint64_t> requests_ = 0, other_threads_ = 0, large_alignment_ = 0, zeroed_ = 0;
};

}  // namespace skyline
