#include "memory/formats/pytorch/snapshot_writer.h"

#include <algorithm>
#include <charconv>

#include "memory/allocators/account.h"
#include "memory/trace.h"

namespace skyline {
namespace {

constexpr std::string_view kSmall = "small", kLarge = "large";
constexpr std::uint64_t kMostSmallSegmentBytes = std::uint64_t{2} << 20;  // PyTorch's kSmallBuffer

std::uint64_t number_of(const std::byte* address) {
  return reinterpret_cast<std::uint64_t>(address);
}

std::string_view action_of(SegmentChange::Kind kind) {
  switch (kind) {
    case SegmentChange::Kind::kAllocated:
      return "segment_alloc";
    case SegmentChange::Kind::kFreed:
      return "segment_free";
    case SegmentChange::Kind::kMapped:
      return "segment_map";
    case SegmentChange::Kind::kUnmapped:
      return "segment_unmap";
  }
  return "segment_alloc";
}

// PyTorch counts streams; any other name is taken for the default one.
std::int64_t stream_number(std::string_view stream) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(stream.data(), stream.data() + stream.size(), number);
  const bool whole = error == std::errc() && end == stream.data() + stream.size();
  return whole ? number : 0;
}

std::string_view segment_type(const Segment& segment) {
  if (segment.pool == kSmall || segment.pool == kLarge) return segment.pool;
  return segment.bytes <= kMostSmallSegmentBytes ? kSmall : kLarge;
}

// A segment that its allocator does not tell of, filled with the blocks alive in it and free blocks
// between them.
Segment filled_segment(std::uint64_t address, std::uint64_t bytes,
                       const std::map<std::uint64_t, std::size_t>& live,
                       std::span<const Extent> extents) {
  const auto pointer = [](std::uint64_t at) { return reinterpret_cast<const std::byte*>(at); };
  Segment segment{.address = pointer(address), .bytes = bytes, .pool = {}, .blocks = {}};
  std::uint64_t at = address;
  const std::uint64_t end = address + bytes;
  for (auto next = live.lower_bound(address); next != live.end() && next->first < end; ++next) {
    if (next->first > at) segment.blocks.push_back({pointer(at), next->first - at, 0, false});
    const auto behind = std::next(next);
    const std::uint64_t limit = behind == live.end() ? end : std::min(end, behind->first);
    const std::size_t requested = extents[next->second].bytes;
    const std::uint64_t size = std::min(align_request(requested), limit - next->first);
    segment.blocks.push_back({pointer(next->first), size, requested, true});
    at = next->first + size;
  }
  if (at < end) segment.blocks.push_back({pointer(at), end - at, 0, false});
  return segment;
}

}  // namespace

SnapshotWriter::SnapshotWriter(Sink sink, ObservedDevice& device)
    : pickle_(std::move(sink)), device_(device) {
  pickle_.begin_dict();
  pickle_.text("device_traces");
  pickle_.begin_list();
  pickle_.begin_list();
}

void SnapshotWriter::allocated(const LiveEvents& events, const Extent& extent) {
  write_changes(events);
  block_entry("alloc", events, extent);
}

void SnapshotWriter::freed(const LiveEvents& events, const Extent& extent) {
  block_entry("free_requested", events, extent);
  block_entry("free_completed", events, extent);
  write_changes(events);
}

void SnapshotWriter::refused(const LiveEvents& events, const OutOfMemory&) {
  write_changes(events);
  begin_entry("oom", events.block().bytes);
  pickle_.text("device_free");
  pickle_.integer(
      static_cast<std::int64_t>(device_.capacity_bytes() - device_.statistics().reserved_bytes));
  end_entry(events, true);
}

void SnapshotWriter::step_began(const LiveEvents& events) { write_changes(events); }

void SnapshotWriter::block_entry(std::string_view action, const LiveEvents& events,
                                 const Extent& extent) {
  begin_entry(action, extent.bytes);
  number("addr", number_of(extent.address));
  if (const Category category = events.block().tag.category; category != Category::kUnknown) {
    pickle_.text("category");
    pickle_.text(category_name(category));
    categorised_ = true;
  }
  end_entry(events, true);
}

void SnapshotWriter::write_changes(const LiveEvents& events) {
  for (const SegmentChange& change : device_.take_changes()) {
    keep_books(change);
    begin_entry(action_of(change.kind), change.bytes);
    number("addr", change.address);
    end_entry(events, false);
  }
}

void SnapshotWriter::keep_books(const SegmentChange& change) {
  switch (change.kind) {
    case SegmentChange::Kind::kAllocated:
      reserved_[change.address] = {change.bytes, false};
      return;
    case SegmentChange::Kind::kFreed:
      reserved_.erase(change.address);
      return;
    case SegmentChange::Kind::kMapped: {
      // Grows the range that ends there, or is the beginning of one.
      const auto behind = reserved_.upper_bound(change.address);
      if (behind != reserved_.begin()) {
        Reserved& range = std::prev(behind)->second;
        if (range.grows && std::prev(behind)->first + range.bytes == change.address) {
          range.bytes += change.bytes;
          return;
        }
      }
      reserved_[change.address] = {change.bytes, true};
      return;
    }
    case SegmentChange::Kind::kUnmapped: {
      const auto range = std::prev(reserved_.upper_bound(change.address));
      range->second.bytes -= change.bytes;
      if (range->second.bytes == 0) reserved_.erase(range);
      return;
    }
  }
}

void SnapshotWriter::begin_entry(std::string_view action, std::uint64_t bytes) {
  pickle_.begin_dict();
  pickle_.text("action");
  pickle_.text(action);
  number("size", bytes);
}

void SnapshotWriter::end_entry(const LiveEvents& events, bool of_block) {
  pickle_.text("stream");
  pickle_.integer(of_block ? stream_number(events.block().stream) : 0);
  pickle_.text("time_us");
  pickle_.integer(events.tick());
  if (of_block) {
    frames(events.block());
  } else {
    no_frames();
  }
  pickle_.end_dict();
}

// The tag first, where there is one; then the name in the trace, at its tick.
void SnapshotWriter::frames(const LiveBlock& block) {
  pickle_.text("frames");
  pickle_.begin_list();
  if (!block.tag.op.empty() || !block.tag.layer.empty()) {
    frame(block.tag.op, block.tag.layer, 0);
  }
  frame(block.id, "trace", block.allocated);
  pickle_.end_list();
}

void SnapshotWriter::no_frames() {
  pickle_.text("frames");
  pickle_.begin_list();
  pickle_.end_list();
}

void SnapshotWriter::frame(std::string_view name, std::string_view file, std::int64_t line) {
  pickle_.begin_dict();
  pickle_.text("name");
  pickle_.text(name);
  pickle_.text("filename");
  pickle_.text(file);
  pickle_.text("line");
  pickle_.integer(line);
  pickle_.end_dict();
}

// memory_viz, where it meets categories, fails unless "unknown" is one of them.
void SnapshotWriter::write_snapshot_entry(const LiveEvents& events) {
  begin_entry("snapshot", 0);
  number("addr", 0);
  if (categorised_) {
    pickle_.text("category");
    pickle_.text(category_name(Category::kUnknown));
  }
  end_entry(events, false);
}

void SnapshotWriter::finished(const ReplayEnd& end) {
  write_changes(end.events);
  write_snapshot_entry(end.events);
  pickle_.end_list();
  pickle_.end_list();
  for (std::size_t slot = 0; slot < end.extents.size(); ++slot) {
    if (end.extents[slot].address != nullptr) live_[number_of(end.extents[slot].address)] = slot;
  }
  write_segments(end);
  pickle_.text("allocator_settings");
  pickle_.begin_dict();
  pickle_.end_dict();
  pickle_.end_dict();
  pickle_.finish();
}

std::vector<Segment> SnapshotWriter::segments_of(const ReplayEnd& end) const {
  std::vector<Segment> segments = end.allocator.segments();
  if (!segments.empty()) return segments;
  for (const auto& [address, reserved] : reserved_) {
    segments.push_back(filled_segment(address, reserved.bytes, live_, end.extents));
  }
  return segments;
}

void SnapshotWriter::write_segments(const ReplayEnd& end) {
  pickle_.text("segments");
  pickle_.begin_list();
  for (const Segment& segment : segments_of(end)) write_segment(segment, end);
  pickle_.end_list();
}

void SnapshotWriter::write_segment(const Segment& segment, const ReplayEnd& end) {
  std::uint64_t used_bytes = 0, requested_bytes = 0;
  for (const SegmentBlock& block : segment.blocks) {
    if (block.used) used_bytes += block.bytes;
    requested_bytes += block.requested_bytes;
  }
  const auto reserved = reserved_.find(number_of(segment.address));
  pickle_.begin_dict();
  number("device", 0);
  number("address", number_of(segment.address));
  number("total_size", segment.bytes);
  number("allocated_size", used_bytes);
  number("active_size", used_bytes);
  number("requested_size", requested_bytes);
  number("stream", 0);
  pickle_.text("segment_type");
  pickle_.text(segment_type(segment));
  pickle_.text("is_expandable");
  pickle_.boolean(reserved != reserved_.end() && reserved->second.grows);
  no_frames();
  pickle_.text("blocks");
  pickle_.begin_list();
  for (const SegmentBlock& block : segment.blocks) write_block(block, end);
  pickle_.end_list();
  pickle_.end_dict();
}

void SnapshotWriter::write_block(const SegmentBlock& block, const ReplayEnd& end) {
  pickle_.begin_dict();
  number("address", number_of(block.address));
  number("size", block.bytes);
  number("requested_size", block.requested_bytes);
  pickle_.text("state");
  pickle_.text(block.used ? "active_allocated" : "inactive");
  const auto live = live_.find(number_of(block.address));
  if (block.used && live != live_.end()) {
    frames(end.events.blocks().at(live->second));
  } else {
    no_frames();
  }
  pickle_.end_dict();
}

void SnapshotWriter::number(std::string_view key, std::uint64_t value) {
  pickle_.text(key);
  pickle_.integer(static_cast<std::int64_t>(value));
}

}  // namespace skyline
