#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

// Options and counters of the emulated device, for one host thread.

namespace cuda_emulation {

// Order in which the threads of a block run between two barriers, and the blocks of a grid. A
// missing barrier shows as results that differ between kForward and kBackward.
enum class ThreadOrder { kForward, kBackward, kShuffled };

// Streams that run when the host waits for one. A missing event shows as wrong data under at least
// one of these orders.
enum class StreamOrder {
  kOthersLast,   // only the work that the stream waits for; other work as late as possible
  kOthersFirst,  // first, all work that other streams can run
  kShuffled,     // work of random streams, and somewhat more than is waited for
};

struct Options {
  ThreadOrder threads = ThreadOrder::kForward;
  std::uint64_t seed = 0;  // for both kShuffled
  StreamOrder streams = StreamOrder::kOthersLast;
  // Closes new device memory to the host: touching it crashes, as on a real device.
  bool protect = false;
  int devices = 1;                         // of one memory; 0: calls report that there is none
  int driver_version = 13000;              // 11040: too old; 0: no driver; calls fail accordingly
  int compute_capability = 90;             // kernels exist only for 90
  bool virtual_memory = true;              // false: cuMem… calls are refused
  const char* missing_function = nullptr;  // a function that the driver lacks
  std::size_t capacity_bytes = 1u << 30;   // of the device
  std::size_t held_by_others_bytes = 0;    // part of the capacity, held by other processes
  std::optional<std::uint64_t> ignored_wait;  // the n-th event wait from now does nothing
  std::optional<std::uint64_t> failing_call;  // the n-th allocating call from now fails
};

// Calls since the last reset.
struct Counts {
  std::uint64_t mallocs = 0, frees = 0;              // cudaMalloc, cudaFree
  std::uint64_t maps = 0, unmaps = 0;                // cuMemMap, cuMemUnmap
  std::uint64_t async_mallocs = 0, async_frees = 0;  // in stream-ordered pools
  std::uint64_t host_mallocs = 0, host_frees = 0;    // pinned memory
  std::uint64_t kernels = 0, copies = 0, fills = 0;  // enqueued
  std::uint64_t graphs = 0;                          // launched; what they hold is not counted
  std::uint64_t synchronizations = 0;
  std::uint64_t on_default_stream = 0;  // work of all kinds enqueued there
};

Options& options();
Counts& counts();
// Returns the bytes of device memory that the program holds.
std::size_t held_bytes();

// Sets options for its lifetime and resets the counts.
class Emulated {
 public:
  explicit Emulated(Options set);
  ~Emulated();
  Emulated(const Emulated&) = delete;
  Emulated& operator=(const Emulated&) = delete;

 private:
  Options before_;
};

}  // namespace cuda_emulation
