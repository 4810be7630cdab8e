#include "framework/cuda/launch.h"
#include "framework/cuda/nccl/cuda_ranks.h"

namespace skyline {
namespace {

struct AddInOrder {
  float* values;
  const float* received;
  std::int64_t stride, rank, ranks;

  __device__ void operator()(std::int64_t i) const {
    const float own = values[i];
    float sum = rank == 0 ? own : received[i];
    for (std::int64_t other = 1; other < ranks; ++other) {
      const std::int64_t place = other < rank ? other : other - 1;
      sum += other == rank ? own : received[place * stride + i];
    }
    values[i] = sum;
  }
};

}  // namespace

void add_in_order(cudaStream_t stream, std::span<float> values, const float* received,
                  std::size_t stride, RankOf place) {
  const auto count = static_cast<std::int64_t>(values.size());
  if (count == 0) return;
  const AddInOrder function{values.data(), received, static_cast<std::int64_t>(stride),
                            static_cast<std::int64_t>(place.rank),
                            static_cast<std::int64_t>(place.ranks)};
  launch_on(stream, blocks_for(count), kThreads, for_each_kernel<AddInOrder>, count, function);
}

}  // namespace skyline
