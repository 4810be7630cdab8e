#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace skyline {

// Bytes that an op reads or writes.
struct ByteRange {
  const std::byte* begin = nullptr;
  std::size_t bytes = 0;
};

// An op on a lane: the `count`-th of that lane, from 1.
struct LaneOp {
  std::size_t lane = 0;
  std::uint32_t count = 0;  // 0: none
};

// By lane: how many of its ops must be done.
using LaneClock = std::vector<std::uint32_t>;

// Knows for every byte which op wrote it last and which ops have read it since. From addresses
// alone it finds whom an op must wait for, so that ops in any two places see the bytes that they
// would see one after another: readers wait for the writer, writers for the writer and all readers.
// The MXNet note calls the order that shared memory enforces an implicit edge.
class ByteUses {
 public:
  explicit ByteUses(std::size_t lanes) : lanes_(lanes) {}

  // Returns whom an op with these uses must wait for. O(ranges · log n + pieces that they cover).
  LaneClock before(std::span<const ByteRange> reads, std::span<const ByteRange> writes);
  // Adds the next op of the program. Returns whom it must wait for; 0 for its own lane, whose ops
  // run in sequence.
  LaneClock add(LaneOp op, std::span<const ByteRange> reads, std::span<const ByteRange> writes);
  // Forgets all ops: they are done.
  void clear() { pieces_.clear(); }

 private:
  struct Piece {
    const std::byte* end = nullptr;
    LaneOp writer = {};
    LaneClock readers = {};  // empty: none
  };
  using Pieces = std::map<const std::byte*, Piece>;  // by their first byte; they do not overlap

  Pieces::iterator first_in(const ByteRange& range);
  static bool begins_in(Pieces::const_iterator piece, const ByteRange& range);
  Pieces::iterator cut(Pieces::iterator piece, const std::byte* at);
  static void wait_for_users(const Piece& piece, LaneClock& waits);
  void read(LaneOp op, const ByteRange& range, LaneClock& waits);
  void write(LaneOp op, const ByteRange& range, LaneClock& waits);

  std::size_t lanes_;
  Pieces pieces_;
};

}  // namespace skyline
