#include "memory/allocators/segments.h"

#include <algorithm>
#include <functional>

namespace skyline {
namespace {

Segment segment_from(const Chunk& first, std::span<const std::string_view> pool_names) {
  Segment segment{.address = first.address, .bytes = 0, .pool = {}, .blocks = {}};
  if (!pool_names.empty()) segment.pool = pool_names[first.pool % pool_names.size()];
  for (const Chunk* chunk = &first; chunk != nullptr; chunk = chunk->next) {
    if (chunk->state == Chunk::State::kUncommitted) break;
    segment.bytes += chunk->bytes;
    const bool used = !chunk->free();
    segment.blocks.push_back({.address = chunk->address,
                              .bytes = chunk->bytes,
                              .requested_bytes = used ? chunk->requested_bytes : 0,
                              .used = used});
  }
  return segment;
}

// A limit of the system says nothing about how much the device has left.
std::optional<std::size_t> device_free_bytes(const OutOfMemoryFacts& facts, const Device& device) {
  if (!facts.reason.empty() || !facts.capacity_bytes) return {};
  if (facts.card_free_bytes) return facts.card_free_bytes;
  return *facts.capacity_bytes -
         std::min(*facts.capacity_bytes, device.statistics().reserved_bytes);
}

}  // namespace

Chunk& Segments::take(std::size_t bytes) {
  std::byte* address = device_.allocate(bytes);
  account_.taken_from_device(bytes);
  Chunk& chunk = add(address, nullptr, nullptr);
  chunk.bytes = bytes;
  return chunk;
}

void Segments::give_back(Chunk& chunk) noexcept {
  device_.deallocate(chunk.address, chunk.bytes);
  account_.given_to_device(chunk.bytes);
  drop(chunk);
}

void Segments::refuse(OutOfMemoryFacts device_facts, const Request& request,
                      std::size_t free_before) {
  if (device_facts.shortage == Shortage::kDevice) {
    device_facts.device_free_bytes = device_free_bytes(device_facts, device_);
    const std::size_t free_now =
        account_.now().cached_bytes() + device_facts.device_free_bytes.value_or(0);
    const bool segment_fits = free_now >= device_facts.requested_bytes;
    if (free_now >= request.rounded_bytes) {
      device_facts.shortage = segment_fits ? Shortage::kFragmentation : Shortage::kSegment;
    }
    if (free_before >= request.rounded_bytes) device_facts.shortage = Shortage::kFragmentation;
  }
  std::size_t largest_bytes = 0;
  for (const Chunk& chunk : chunks_) {
    if (chunk.free()) largest_bytes = std::max(largest_bytes, chunk.bytes);
  }
  account_.refuse(std::move(device_facts), allocator_, request.bytes, request.tag, largest_bytes);
}

std::vector<Segment> Segments::snapshot(std::span<const std::string_view> pool_names) const {
  std::vector<Segment> segments;
  for (const Chunk& chunk : chunks_) {
    const bool begins = chunk.state != Chunk::State::kSpare && chunk.previous == nullptr;
    if (!begins || chunk.state == Chunk::State::kUncommitted) continue;
    segments.push_back(segment_from(chunk, pool_names));
  }
  std::ranges::sort(segments, std::less<>(), &Segment::address);
  return segments;
}

void Segments::make_spares() {
  if (spare_.capacity() < chunks_.size() + kChunksARequest) {
    spare_.reserve(2 * chunks_.size() + 16);
  }
  while (spare_.size() < kChunksARequest) spare_.push_back(&chunks_.emplace_back());
}

}  // namespace skyline
