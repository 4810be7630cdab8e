#include "framework/lanes/byte_uses.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace skyline {
namespace {

void wait_for(LaneOp op, LaneClock& waits) { waits[op.lane] = std::max(waits[op.lane], op.count); }

}  // namespace

LaneClock ByteUses::before(std::span<const ByteRange> reads, std::span<const ByteRange> writes) {
  LaneClock waits(lanes_, 0);
  for (const ByteRange& range : reads) wait_for_users(range, false, waits);
  for (const ByteRange& range : writes) wait_for_users(range, true, waits);
  return waits;
}

LaneClock ByteUses::add(LaneOp op, std::span<const ByteRange> reads,
                        std::span<const ByteRange> writes) {
  LaneClock waits = before(reads, writes);
  waits[op.lane] = 0;
  for (const ByteRange& range : reads) read(op, range);
  for (const ByteRange& range : writes) write(op, range);
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

void ByteUses::wait_for_users(const ByteRange& range, bool readers, LaneClock& waits) {
  const auto first = cut(range.begin);
  const auto last = cut(range.begin + range.bytes);
  for (auto piece = first; piece != last; ++piece) {
    wait_for(piece->second.writer, waits);
    if (!readers) continue;
    for (std::size_t lane = 0; lane < piece->second.readers.size(); ++lane) {
      wait_for({lane, piece->second.readers[lane]}, waits);
    }
  }
}

void ByteUses::read(LaneOp op, const ByteRange& range) {
  const std::byte* const end = range.begin + range.bytes;
  auto piece = cut(range.begin);
  cut(end);
  for (const std::byte* at = range.begin; at < end; ++piece) {
    if (piece == pieces_.end() || piece->first > at) {  // bytes that nobody has used yet
      const std::byte* const next = piece == pieces_.end() ? end : std::min(end, piece->first);
      piece = pieces_.emplace_hint(piece, at, Piece{.end = next});
    }
    LaneClock& readers = piece->second.readers;
    readers.resize(lanes_, 0);
    readers[op.lane] = op.count;
    at = piece->second.end;
  }
}

void ByteUses::write(LaneOp op, const ByteRange& range) {
  if (range.bytes == 0) return;
  const std::byte* const end = range.begin + range.bytes;
  const auto first = cut(range.begin);
  const auto next = pieces_.erase(first, cut(end));
  pieces_.emplace_hint(next, range.begin, Piece{.end = end, .writer = op});
}

}  // namespace skyline
