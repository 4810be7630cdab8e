#include "framework/lanes/byte_uses.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace skyline {
namespace {

void wait_for(LaneOp op, LaneClock& waits) {
  waits[op.lane] = std::max(waits[op.lane], op.count);
}

}  // namespace

LaneClock ByteUses::add(LaneOp op, std::span<const ByteRange> reads,
                        std::span<const ByteRange> writes) {
  LaneClock waits(lanes_, 0);
  for (const ByteRange& range : reads) {
    if (range.bytes > 0) read(op, range, waits);
  }
  for (const ByteRange& range : writes) {
    if (range.bytes > 0) write(op, range, waits);
  }
  waits[op.lane] = 0;
  return waits;
}

// Returns the first piece that begins at `at` or after it, once no piece goes across `at`.
ByteUses::Pieces::iterator ByteUses::cut(const std::byte* at) {
  const auto after = pieces_.lower_bound(at);
  if (after == pieces_.begin()) return after;
  Piece& before = std::prev(after)->second;
  if (before.end <= at) return after;
  Piece rest = before;
  before.end = at;
  return pieces_.emplace_hint(after, at, std::move(rest));
}

void ByteUses::read(LaneOp op, const ByteRange& range, LaneClock& waits) {
  const std::byte* const end = range.begin + range.bytes;
  auto piece = cut(range.begin);
  cut(end);
  for (const std::byte* at = range.begin; at < end; ++piece) {
    if (piece == pieces_.end() || piece->first > at) {  // bytes that nobody has used yet
      const std::byte* const next = piece == pieces_.end() ? end : std::min(end, piece->first);
      piece = pieces_.emplace_hint(piece, at, Piece{.end = next});
    }
    wait_for(piece->second.writer, waits);
    LaneClock& readers = piece->second.readers;
    readers.resize(lanes_, 0);
    readers[op.lane] = op.count;
    at = piece->second.end;
  }
}

void ByteUses::write(LaneOp op, const ByteRange& range, LaneClock& waits) {
  const std::byte* const end = range.begin + range.bytes;
  const auto first = cut(range.begin);
  const auto last = cut(end);
  for (auto piece = first; piece != last; ++piece) {
    wait_for(piece->second.writer, waits);
    for (std::size_t lane = 0; lane < piece->second.readers.size(); ++lane) {
      wait_for({lane, piece->second.readers[lane]}, waits);
    }
  }
  const auto next = pieces_.erase(first, last);
  pieces_.emplace_hint(next, range.begin, Piece{.end = end, .writer = op});
}

}  // namespace skyline
