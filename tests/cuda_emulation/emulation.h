#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

// What tests set and read of the emulated device. One thread of the host uses it.

namespace cuda_emulation {

// In which order the threads of a block run between two barriers, and the blocks of a grid. A
// missing barrier shows as results that differ between kForward and kBackward.
enum class ThreadOrder { kForward, kBackward, kShuffled };

// What runs when the host waits for a stream. A missing event shows as wrong data under at least
// one of them.
enum class StreamOrder {
  kOthersLast,   // only what the stream waits for; the rest as late as possible
  kOthersFirst,  // whatever other streams may run goes first
  kShuffled,     // any stream that may run, and somewhat more than is waited for
};

struct Options {
  ThreadOrder threads = ThreadOrder::kForward;
  std::uint64_t seed = 0;  // of either kShuffled
  StreamOrder streams = StreamOrder::kOthersLast;
  bool protect = false;  // memory taken now is closed to the host: touching it crashes, as it would
  int devices = 1;       // 0: calls answer that there is none
  int driver_version = 13000;                 // 11040 is too old, and 0 no driver: calls answer so
  int compute_capability = 90;                // programs have kernels for 90 alone
  const char* missing_function = nullptr;     // that the driver lacks
  std::size_t capacity_bytes = 1u << 30;      // of the device
  std::size_t held_by_others_bytes = 0;       // of that, by other processes
  std::optional<std::uint64_t> ignored_wait;  // the n-th wait for an event from now does not happen
  std::optional<std::uint64_t> failing_call;  // the n-th call from now that takes memory fails
};

// Calls since the last reset.
struct Counts {
  std::uint64_t mallocs = 0, frees = 0;              // cudaMalloc, cudaFree
  std::uint64_t managed_mallocs = 0;                 // cudaMallocManaged
  std::uint64_t maps = 0, unmaps = 0;                // cuMemMap, cuMemUnmap
  std::uint64_t async_mallocs = 0, async_frees = 0;  // of stream-ordered pools
  std::uint64_t host_mallocs = 0, host_frees = 0;    // pinned memory
  std::uint64_t kernels = 0, copies = 0, fills = 0;  // enqueued
  std::uint64_t synchronizations = 0;
};

Options& options();
Counts& counts();
// Bytes of device memory that the program holds.
std::size_t held_bytes();

// Sets options for its life, with counts from zero.
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
