#include "framework/cuda/nccl/cuda_ranks.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <random>
#include <vector>

#include "framework/cuda/cuda_error.h"

namespace skyline {
namespace {

using Floats = std::vector<float>;

Floats random_floats(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  Floats values(size);
  for (float& value : values) value = std::normal_distribution<float>(0, 1)(random);
  return values;
}

// Adds on the device as one of the ranks, which has `of_ranks[rank]` and receives the others in the
// sequence of `of_ranks`.
Floats added(std::vector<Floats> of_ranks, std::size_t rank) {
  const std::size_t size = of_ranks[rank].size(), bytes = size * sizeof(float);
  float* device = nullptr;
  check_cuda(cudaMalloc(&device, of_ranks.size() * bytes), "cudaMalloc");
  const auto copy = [&](void* to, const void* from, cudaMemcpyKind kind) {
    check_cuda(cudaMemcpyAsync(to, from, bytes, kind, nullptr), "cudaMemcpyAsync");
  };
  Floats sum = of_ranks[rank];
  of_ranks.erase(of_ranks.begin() + static_cast<std::ptrdiff_t>(rank));
  copy(device, sum.data(), cudaMemcpyHostToDevice);
  for (std::size_t i = 0; i < of_ranks.size(); ++i) {
    copy(device + (i + 1) * size, of_ranks[i].data(), cudaMemcpyHostToDevice);
  }
  add_in_order(nullptr, {device, size}, device + size, size,
               {.rank = rank, .ranks = of_ranks.size() + 1});
  copy(sum.data(), device, cudaMemcpyDeviceToHost);
  check_cuda(cudaFree(device), "cudaFree");
  return sum;
}

std::vector<std::uint32_t> bits_of(const Floats& values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

TEST(AddInOrder, GivesTheBitsOfTheOrderOfRanksOnEveryRank) {
  for (const std::size_t ranks : {2, 3, 5}) {
    std::vector<Floats> of_ranks;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      of_ranks.push_back(random_floats(1000, static_cast<unsigned>(rank)));
    }
    Floats expected = of_ranks[0];
    for (std::size_t rank = 1; rank < ranks; ++rank) {
      for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += of_ranks[rank][i];
    }
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      EXPECT_EQ(bits_of(added(of_ranks, rank)), bits_of(expected)) << rank << " of " << ranks;
    }
  }
}

// So the test above would find another order.
TEST(AddInOrder, GivesOtherBitsInAnotherOrder) {
  const std::vector<Floats> of_ranks = {random_floats(1000, 0), random_floats(1000, 1),
                                        random_floats(1000, 2)};
  EXPECT_NE(bits_of(added(of_ranks, 0)),
            bits_of(added({of_ranks[0], of_ranks[2], of_ranks[1]}, 0)));
}

}  // namespace
}  // namespace skyline
