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
  for (const ByteRange& range : reads) {
    for (auto piece = first_in(range); piece != pieces_.end() && begins_in(piece, range); ++piece) {
      wait_for(piece->second.writer, waits);
    }
  }
  for (const ByteRange& range : writes) {
    for (auto piece = first_in(range); piece != pieces_.end() && begins_in(piece, range); ++piece) {
      wait_for_users(piece->second, waits);
    }
  }
  return waits;
}

LaneClock ByteUses::add(LaneOp op, std::span<const ByteRange> reads,
                        std::span<const ByteRange> writes) {
  LaneClock waits(lanes_, 0);
  for (const ByteRange& range : reads) read(op, range, waits);
  for (const ByteRange& range : writes) write(op, range, waits);
  waits[op.lane] = 0;
  return waits;
}

// Returns the first piece with bytes of the range, which may begin before it.
ByteUses::Pieces::iterator ByteUses::first_in(const ByteRange& range) {
  if (range.bytes == 0) return pieces_.end();
  const auto after = pieces_.upper_bound(range.begin);
  if (after == pieces_.begin()) return after;
  const auto before = std::prev(after);
  return before->second.end > range.begin ? before : after;
}

bool ByteUses::begins_in(Pieces::const_iterator piece, const ByteRange& range) {
  return piece->first < range.begin + range.bytes;
}

// Returns the part of the piece from `at` on; the part before stays a piece of its own.
ByteUses::Pieces::iterator ByteUses::cut(Pieces::iterator piece, const std::byte* at) {
  if (piece->first >= at) return piece;
  Piece rest = piece->second;
  piece->second.end = at;
  return pieces_.emplace_hint(std::next(piece), at, std::move(rest));
}

void ByteUses::wait_for_users(const Piece& piece, LaneClock& waits) {
  wait_for(piece.writer, waits);
  for (std::size_t lane = 0; lane < piece.readers.size(); ++lane) {
    wait_for({lane, piece.readers[lane]}, waits);
  }
}

void ByteUses::read(LaneOp op, const ByteRange& range, LaneClock& waits) {
  const std::byte* const end = range.begin + range.bytes;
  auto piece = first_in(range);
  for (const std::byte* at = range.begin; at < end; ++piece) {
    if (piece == pieces_.end() || piece->first > at) {  // bytes that nobody has used yet
      const std::byte* const next = piece == pieces_.end() ? end : std::min(end, piece->first);
      piece = pieces_.emplace_hint(piece, at, Piece{.end = next});
    }
    piece = cut(piece, at);
    if (piece->second.end > end) cut(piece, end);
    wait_for(piece->second.writer, waits);
    LaneClock& readers = piece->second.readers;
    readers.resize(lanes_, 0);
    readers[op.lane] = op.count;
    at = piece->second.end;
  }
}

void ByteUses::write(LaneOp op, const ByteRange& range, LaneClock& waits) {
  if (range.bytes == 0) return;
  const std::byte* const end = range.begin + range.bytes;
  auto piece = first_in(range);
  while (piece != pieces_.end() && begins_in(piece, range)) {
    piece = cut(piece, range.begin);
    if (piece->second.end > end) cut(piece, end);
    wait_for_users(piece->second, waits);
    if (piece->first == range.begin && piece->second.end == end) {  // mostly whole blocks
      piece->second.writer = op;
      piece->second.readers.clear();
      return;
    }
    piece = pieces_.erase(piece);
  }
  pieces_.emplace_hint(piece, range.begin, Piece{.end = end, .writer = op});
}

}  // namespace skyline
