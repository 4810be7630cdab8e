#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "memory/planners/packing.h"

namespace skyline {

// Places blocks one by one, each at the lowest address where it fits between those placed before
// it.
//
// The placed blocks lie in address order in small chunks; a search walks upwards from chunk to
// chunk and stops at the first hole. Chunks that end below the place reached are skipped whole, and
// lifetimes are compared eight at a time. There is no interference graph. A pass is O(n × blocks
// below the hole): O(n²) at worst with a small constant, see the benchmark.
class GapPacker {
 public:
  explicit GapPacker(const Packing& packing) : packing_(packing) {}

  // Places the blocks in this order. Gives up, returning false, as soon as one would end above
  // `limit`; then `out` is of no use.
  bool pack(const std::vector<BlockIndex>& order, std::uint64_t limit, Placement& out);

 private:
  static constexpr std::size_t kChunkBlocks = 128;
  static constexpr std::size_t kGroup = 8;
  // Sorted by begin. Entries beyond count have an empty lifetime that meets none.
  struct Chunk {
    std::array<std::int32_t, kChunkBlocks> lower, upper;
    std::array<std::uint64_t, kChunkBlocks> begin, end;
    std::size_t count;
    std::uint64_t highest_end;
  };

  std::uint64_t lowest_hole(BlockIndex block) const;
  static bool climb(const Chunk& chunk, std::int32_t lower, std::int32_t upper, std::uint64_t bytes,
                    std::uint64_t& place);
  void insert(BlockIndex block, std::uint64_t begin);
  std::size_t chunk_for(std::uint64_t begin);

  const Packing& packing_;
  std::vector<Chunk> chunks_;
  std::vector<std::uint32_t> in_order_;  // chunks by address; the first begins the list
};

}  // namespace skyline
