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
  kOthersLast,   // only what the stream waits for; the rest as late as possible
  kOthersFirst,  // everything other streams may run goes first
  kShuffled,     // any stream that may run, and somewhat more than is waited for
};

struct Options {
  ThreadOrder threads = ThreadOrder::kForward;
  std::uint64_t seed = 0;  // for both kShuffled
  StreamOrder streams = StreamOrder::kOthersLast;
  bool protect = false;        // new memory is closed to the host: touching it crashes, as it would
  int devices = 1;             // 0: calls answer that there is no device
  int driver_version = 13000;  // 11040 is too old, 0 means no driver: calls answer so
  int compute_capability = 90;                // programs have kernels for 90 only
  const char* missing_function = nullptr;     // the driver lacks it
  std::size_t capacity_bytes = 1u << 30;      // of the device
  std::size_t held_by_others_bytes = 0;       // part of it, held by other processes
  std::optional<std::uint64_t> ignored_wait;  // the n-th wait for an event from now does nothing
  std::optional<std::uint64_t> failing_call;  // the n-th call from now that takes memory fails
};

// Calls since the last reset.
struct Counts {
  std::uint64_t mallocs = 0, frees = 0;              // cudaMalloc, cudaFree
  std::uint64_t maps = 0, unmaps = 0;                // cuMemMap, cuMemUnmap
  std::uint64_t async_mallocs = 0, async_frees = 0;  // of stream-ordered pools
  std::uint64_t host_mallocs = 0, host_frees = 0;    // pinned memory
  std::uint64_t kernels = 0, copies = 0, fills = 0;  // enqueued
  std::uint64_t synchronizations = 0;
};

Options& options();
Counts& counts();
// Returns the bytes of device memory that the program holds.
std::size_t held_bytes();

// Sets options during its life, with counts from zero.
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
