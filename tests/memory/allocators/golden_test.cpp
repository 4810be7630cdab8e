// The golden vectors of the allocators, on the simulated device.
#include <gtest/gtest.h>

#include <algorithm>

#include "memory/allocators/allocators.h"
#include "memory/device/simulated_device.h"
#include "tests/memory/allocators/replay.h"
#include "tests/memory/units.h"

namespace skyline {
namespace {

using Events = std::vector<AllocatorEvent>;

void request_all(Events& events, const std::string& name, int blocks, std::size_t bytes) {
  for (int i = 0; i < blocks; ++i) events.push_back({'a', name + std::to_string(i), bytes});
}
void free_all(Events& events, const std::string& name, int blocks) {
  for (int i = 0; i < blocks; ++i) events.push_back({'f', name + std::to_string(i)});
}

// PyTorch's developer log on fragmentation, its program and the reverse of it.
Events t1() {
  Events events;
  request_all(events, "p", 8, 16 * kMiB);
  free_all(events, "p", 8);
  request_all(events, "q", 4, 32 * kMiB);
  return events;
}
Events t1_reversed() {
  Events events;
  request_all(events, "q", 4, 32 * kMiB);
  free_all(events, "q", 4);
  request_all(events, "p", 8, 16 * kMiB);
  return events;
}

// A snapshot published on PyTorch's forum.
Events t2() {
  return {{'a', "W", 40000}, {'a', "b", 40}, {'a', "X", 4000}, {'a', "ws", 8519680},
          {'a', "xw", 40},   {'a', "y", 40}, {'f', "xw"}};
}

// Three steps of an MLP 784-1024-1024-10 at batch 512 with momentum.
Events t3() {
  Events events = {{'a', "W0", 3211264},  {'a', "b0", 4096},    {'a', "mW0", 3211264},
                   {'a', "mb0", 4096},    {'a', "W1", 4194304}, {'a', "b1", 4096},
                   {'a', "mW1", 4194304}, {'a', "mb1", 4096},   {'a', "W2", 40960},
                   {'a', "b2", 40},       {'a', "mW2", 40960},  {'a', "mb2", 40}};
  const Events step = {{'s', ""},
                       {'a', "x0", 1605632},
                       {'a', "z0", 2097152},
                       {'a', "x1", 2097152},
                       {'f', "z0"},
                       {'a', "z1", 2097152},
                       {'a', "x2", 2097152},
                       {'f', "z1"},
                       {'a', "z2", 20480},
                       {'a', "prob", 20480},
                       {'f', "z2"},
                       {'a', "loss", 4},
                       {'a', "dz2", 20480},
                       {'f', "prob"},
                       {'a', "dW2", 40960},
                       {'a', "db2", 40},
                       {'a', "dx2", 2097152},
                       {'f', "dz2"},
                       {'a', "dz1", 2097152},
                       {'f', "dx2"},
                       {'f', "x2"},
                       {'a', "dW1", 4194304},
                       {'a', "db1", 4096},
                       {'a', "dx1", 2097152},
                       {'f', "dz1"},
                       {'a', "dz0", 2097152},
                       {'f', "dx1"},
                       {'f', "x1"},
                       {'a', "dW0", 3211264},
                       {'a', "db0", 4096},
                       {'f', "dz0"},
                       {'f', "x0"},
                       {'f', "dW0"},
                       {'f', "db0"},
                       {'f', "dW1"},
                       {'f', "db1"},
                       {'f', "dW2"},
                       {'f', "db2"},
                       {'f', "loss"}};
  for (int i = 0; i < 3; ++i) events.insert(events.end(), step.begin(), step.end());
  return events;
}

struct GoldenRow {
  const char* trace;
  Events events;
  const char* allocator;
  std::size_t peak_reserved_bytes;
};

// The vectors of bfc assume a limit of 64 GiB.
const AllocatorOptions kOptions{.bfc = {.limit_bytes = std::uint64_t{64} << 30}};

class Golden : public testing::TestWithParam<GoldenRow> {};

TEST_P(Golden, PeakReserved) {
  SimulatedDevice device;
  const auto allocator = make_allocator(GetParam().allocator, device, kOptions);
  replay(GetParam().events, *allocator);
  EXPECT_EQ(allocator->statistics().peak_reserved_bytes, GetParam().peak_reserved_bytes);
  EXPECT_EQ(device.statistics().peak_reserved_bytes, GetParam().peak_reserved_bytes);
  EXPECT_EQ(allocator->statistics().flushes, 0u);
  EXPECT_EQ(allocator->statistics().requested_bytes, 0u);
}

std::vector<GoldenRow> golden_rows() {
  struct Column {
    const char* allocator;
    std::size_t t1, t1_reversed, t2, t3;
  };
  constexpr Column kColumns[] = {
      {"network-wise", 268435456, 268435456, 8565760, 40810496},
      {"exact-pool", 268435456, 268435456, 8564736, 32400384},
      {"best-fit-pool", 268435456, 134217728, 8565760, 34407424},
      {"caching", 268435456, 134217728, 23068672, 44040192},
      {"bfc", 268435456, 134217728, 18874368, 67108864},
      {"stitched", 134217728, 134217728, 12582912, 31457280},  // by hand: whole pages of 2 MiB
  };
  std::vector<GoldenRow> rows;
  for (const Column& column : kColumns) {
    rows.push_back({"T1", t1(), column.allocator, column.t1});
    rows.push_back({"T1r", t1_reversed(), column.allocator, column.t1_reversed});
    rows.push_back({"T2", t2(), column.allocator, column.t2});
    rows.push_back({"T3", t3(), column.allocator, column.t3});
  }
  return rows;
}

INSTANTIATE_TEST_SUITE_P(Vectors, Golden, testing::ValuesIn(golden_rows()), [](const auto& row) {
  std::string name = row.param.trace + std::string("_") + row.param.allocator;
  std::ranges::replace(name, '-', '_');
  return name;
});

using SizeAndUse = std::pair<std::size_t, bool>;  // bytes, used

std::vector<SizeAndUse> pieces(const Segment& segment) {
  std::vector<SizeAndUse> found;
  for (const SegmentBlock& block : segment.blocks) found.emplace_back(block.bytes, block.used);
  return found;
}

// The snapshot on PyTorch's forum, block for block.
TEST(GoldenSnapshot, T2UnderCaching) {
  SimulatedDevice device;
  const auto caching = make_allocator("caching", device);
  std::vector<Segment> segments;
  replay(t2(), *caching, [&] { segments = caching->segments(); });
  ASSERT_EQ(segments.size(), 2u);
  EXPECT_EQ(segments[0].pool, "small");
  EXPECT_EQ(segments[0].bytes, 2 * kMiB);
  EXPECT_EQ(
      pieces(segments[0]),
      (std::vector<SizeAndUse>{
          {40448, true}, {512, true}, {4096, true}, {512, false}, {512, true}, {2051072, false}}));
  EXPECT_EQ(segments[1].pool, "large");
  EXPECT_EQ(segments[1].bytes, 20 * kMiB);
  EXPECT_EQ(pieces(segments[1]), (std::vector<SizeAndUse>{{8519680, true}, {12451840, false}}));
}

// With less memory than its peak the pool flushes, or says why it cannot serve.
TEST(GoldenUnderPressure, T1FlushesInsteadOfGrowing) {
  SimulatedDevice device(160 * kMiB);
  const auto pool = make_allocator("pool", device);
  replay(t1(), *pool);
  EXPECT_EQ(pool->statistics().flushes, 1u);
  EXPECT_EQ(pool->statistics().peak_reserved_bytes, 160 * kMiB);
}

}  // namespace
}  // namespace skyline
