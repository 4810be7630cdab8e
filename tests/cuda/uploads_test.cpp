#include "framework/cuda/uploads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "framework/cuda/launch.h"
#include "tests/cuda_emulation/emulation.h"

namespace skyline {
namespace {

using cuda_emulation::Emulated;
using cuda_emulation::StreamOrder;

constexpr int kSteps = 4;
constexpr unsigned kCount = 8;
constexpr std::size_t kBytes = kCount * sizeof(int);
constexpr int kReused = -1;

// A step's use of uploaded bytes: one op reads them, another overwrites them.
__global__ void read_kernel(int* result, const int* inputs) {
  result[threadIdx.x] = inputs[threadIdx.x];
}
__global__ void reuse_kernel(int* inputs) { inputs[threadIdx.x] = kReused; }

// Device memory of `count` inputs.
struct Inputs {
  explicit Inputs(unsigned count) { check_cuda(cudaMalloc(&bytes, count * kBytes), "cudaMalloc"); }
  ~Inputs() { cudaFree(bytes); }
  Inputs(const Inputs&) = delete;
  Inputs& operator=(const Inputs&) = delete;

  std::byte* at(int i) const { return bytes + static_cast<std::size_t>(i) * kBytes; }
  int* numbers(int i = 0) const { return reinterpret_cast<int*>(at(i)); }

  std::byte* bytes = nullptr;
};

// Returns what the ops of some steps see of their inputs, which all go to the same bytes (two
// inputs a step if staged), followed by what an op saw there before.
std::vector<int> seen_by_ops(cuda_emulation::Options options, bool staged) {
  const int count = staged ? 2 : 1;
  const unsigned threads = static_cast<unsigned>(count) * kCount;
  Emulated emulated(options);
  CudaCompute compute({});
  const Inputs inputs(2), staging(2), results(2 * (kSteps + 1));
  const auto read = [&](int step, const Inputs& from) {
    launch(compute, 1, threads, read_kernel, results.numbers(step * count), from.numbers());
  };
  const Inputs& used_before = staged ? staging : inputs;
  compute.zero(used_before.bytes, 2 * kBytes);
  read(kSteps, used_before);
  for (int step = 0; step < kSteps; ++step) {
    for (int i = 0; i < count; ++i) {
      using enum Staging::Users;
      const Staging through{staging.at(i), i > 0 ? kNone : step > 0 ? kUploads : kOps};
      std::vector<int> host(kCount, step * count + i + 1);
      compute.upload(inputs.at(i), host.data(), kBytes, staged ? &through : nullptr);
      std::fill(host.begin(), host.end(), 99);  // may be reused at once
    }
    read(step, inputs);
    launch(compute, 1, threads, reuse_kernel, inputs.numbers());
  }
  std::vector<int> seen((kSteps + 1) * threads);
  compute.read(seen.data(), results.bytes, seen.size() * sizeof(int));
  return seen;
}

std::vector<int> expected(bool staged) {
  const int count = staged ? 2 : 1;
  std::vector<int> values;
  for (int i = 1; i <= kSteps * count; ++i) values.insert(values.end(), kCount, i);
  values.insert(values.end(), static_cast<unsigned>(count) * kCount, 0);
  return values;
}

// True if results are right in every order of streams; `ignored_wait` plants a missing event.
bool is_right_in_all_orders(bool staged, std::optional<std::uint64_t> ignored_wait) {
  for (const StreamOrder order : {StreamOrder::kOthersLast, StreamOrder::kOthersFirst}) {
    if (seen_by_ops({.streams = order, .ignored_wait = ignored_wait}, staged) != expected(staged)) {
      return false;
    }
  }
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    if (seen_by_ops({.seed = seed, .streams = StreamOrder::kShuffled, .ignored_wait = ignored_wait},
                    staged) != expected(staged)) {
      return false;
    }
  }
  return true;
}

// Checks each of the `waits` waits for events.
void expect_every_wait_is_needed(bool staged, std::uint64_t waits) {
  for (std::uint64_t wait = 0; wait < waits; ++wait) {
    EXPECT_FALSE(is_right_in_all_orders(staged, wait)) << "without wait " << wait;
  }
  EXPECT_TRUE(is_right_in_all_orders(staged, waits)) << "there are no more";
}

TEST(Uploads, NeverRaceWithOtherUsesOfTheirBytes) {
  EXPECT_TRUE(is_right_in_all_orders(false, {}));
  EXPECT_TRUE(is_right_in_all_orders(true, {})) << "staged";
}

// Each upload waits for the ops before it and makes the ops after it wait; from the third on the
// host also waits for the buffer's last copy.
TEST(Uploads, EveryEventIsNeeded) { expect_every_wait_is_needed(false, 2 * kSteps + kSteps - 2); }

// The first upload of a step waits until the last step's bytes have been taken, each makes the ops
// after it wait, and the host waits as before.
TEST(StagedUploads, EveryEventIsNeeded) {
  expect_every_wait_is_needed(true, kSteps + 2 * kSteps + 2 * kSteps - 2);
}

TEST(StagedUploads, ArriveWhileTheOpsOfTheStepBeforeStillRun) {
  Emulated emulated({});  // streams run only as far as the host waits for them
  CudaCompute compute({});
  const Inputs inputs(1), staging(1), result(1);
  compute.zero(result.bytes, kBytes);
  for (int step = 1; step <= 4; ++step) {
    const std::vector<int> host(kCount, step);
    const Staging through{staging.bytes,
                          step > 1 ? Staging::Users::kUploads : Staging::Users::kOps};
    compute.upload(inputs.bytes, host.data(), kBytes, &through);  // the fourth waits for the second
    launch(compute, 1, kCount, read_kernel, result.numbers(), inputs.numbers());
  }
  EXPECT_EQ(*staging.numbers(), 2);
  EXPECT_EQ(*result.numbers(), 0) << "the first step's op has run";
  int last = 0;
  compute.read(&last, result.bytes, sizeof last);
  EXPECT_EQ(last, 4);
}

}  // namespace
}  // namespace skyline
