#include "memory/allocators/segments.h"

#include <algorithm>
#include <functional>

namespace skyline {
namespace {

Segment segment_from(const Chunk& first, std::span<const std::string_view> pool_names) {
  Segment segment{.address = first.address, .bytes = 0, .pool = {}, .blocks = {}};
  if (first.pool < pool_names.size()) segment.pool = pool_names[first.pool];
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
                      std::size_t free_bytes) {
  if (device_facts.shortage == Shortage::kDevice && free_bytes >= request.rounded_bytes) {
    device_facts.shortage = Shortage::kFragmentation;
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
