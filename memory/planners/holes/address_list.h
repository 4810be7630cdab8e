#pragma once

#include <array>
#include <vector>

#include "memory/planners/holes/used_addresses.h"

namespace skyline {

// Used addresses as a list, the fastest structure up to a few thousand blocks.
//
// Entries lie in address order in small chunks. A search walks up the chunks and stops at the first
// hole. It skips chunks that end below its position and compares ticks eight at a time. O(entries
// below the hole), or O(all entries) for the smallest hole.
class AddressList : public UsedAddresses {
 public:
  void clear() override;
  std::uint64_t hole(std::span<const TickRange> ticks, std::uint64_t bytes, std::uint64_t from,
                     HoleChoice choice) const override;
  void use(std::span<const TickRange> ticks, std::uint64_t begin, std::uint64_t end) override;

 private:
  static constexpr std::size_t kChunkEntries = 128;
  static constexpr std::size_t kGroup = 8;
  // Sorted by begin. Entries beyond `count` have empty ticks, so they meet none.
  struct Chunk {
    std::array<std::int32_t, kChunkEntries> lower, upper;
    std::array<std::uint64_t, kChunkEntries> begin, end;
    std::size_t count;
    std::uint64_t highest_end;
  };

  static bool any_meets(TickRange entry, std::span<const TickRange> ticks);
  static bool any_meets(const Chunk& chunk, std::size_t group, std::span<const TickRange> ticks);
  template <class IsAbove, class Visit>
  void visit_in_the_way(std::span<const TickRange> ticks, const std::uint64_t& place,
                        IsAbove is_above, Visit visit) const;
  std::uint64_t lowest_hole(std::span<const TickRange> ticks, std::uint64_t bytes,
                            std::uint64_t from) const;
  std::uint64_t smallest_hole(std::span<const TickRange> ticks, std::uint64_t bytes,
                              std::uint64_t from) const;
  std::size_t chunk_for(std::uint64_t begin);
  void insert(TickRange ticks, std::uint64_t begin, std::uint64_t end);

  std::vector<Chunk> chunks_;
  std::vector<std::uint32_t> in_order_;  // chunks by address
};

}  // namespace skyline
