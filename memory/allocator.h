// The allocator: its interface, the blocks that it hands out, its counters.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "memory/alignment.h"
#include "memory/device/out_of_memory.h"
#include "memory/tag.h"

namespace skyline {

// Bytes that an allocator handed out. `cookie` belongs to the allocator, which gets it back on
// release.
struct Extent {
  std::byte* address = nullptr;
  std::size_t bytes = 0;  // as requested
  std::uint64_t cookie = 0;
};

class Allocator;

// Move-only owner of an extent. Its destructor returns the extent to the allocator.
class Block {
 public:
  Block() = default;
  Block(Allocator* owner, Extent extent) noexcept : owner_(owner), extent_(extent) {}
  Block(Block&& other) noexcept
      : owner_(std::exchange(other.owner_, nullptr)), extent_(std::exchange(other.extent_, {})) {}
  Block& operator=(Block&& other) noexcept {
    if (this != &other) {
      reset();
      owner_ = std::exchange(other.owner_, nullptr);
      extent_ = std::exchange(other.extent_, {});
    }
    return *this;
  }
  ~Block() { reset(); }

  std::byte* address() const noexcept { return extent_.address; }
  std::size_t bytes() const noexcept { return extent_.bytes; }
  explicit operator bool() const noexcept { return owner_ != nullptr; }
  inline void reset() noexcept;  // below

 private:
  friend class Allocator;
  Allocator* owner_ = nullptr;
  Extent extent_;
};

// Counters of one allocator. Every peak is the maximum since construction.
struct Statistics {
  std::size_t requested_bytes = 0, peak_requested_bytes = 0;  // as requested, by live blocks
  std::size_t rounded_bytes = 0, peak_rounded_bytes = 0;      // each rounded by align_request()
  std::size_t allocated_bytes = 0, peak_allocated_bytes = 0;  // after rounding and slack
  std::size_t reserved_bytes = 0, peak_reserved_bytes = 0;    // taken from the device
  std::uint64_t requests = 0, releases = 0;                   // served calls
  std::uint64_t device_allocations = 0, device_frees = 0;
  std::uint64_t flushes = 0;                 // times cached memory was returned under pressure
  std::uint64_t out_of_memory = 0;           // refused requests
  std::size_t largest_free_block_bytes = 0;  // inside reserved memory

  std::size_t cached_bytes() const noexcept { return reserved_bytes - allocated_bytes; }
  // Returns (free − largest free block) / free; 0 when nothing is free.
  double external_fragmentation() const noexcept {
    if (cached_bytes() == 0) return 0;
    const std::size_t other_bytes =
        cached_bytes() - std::min(cached_bytes(), largest_free_block_bytes);
    return static_cast<double>(other_bytes) / static_cast<double>(cached_bytes());
  }
  std::size_t internal_fragmentation_bytes() const noexcept {
    return allocated_bytes - requested_bytes;
  }
  bool operator==(const Statistics&) const = default;
};

// A piece of a segment, used or free.
struct SegmentBlock {
  const std::byte* address = nullptr;
  std::size_t bytes = 0;            // with rounding and slack
  std::size_t requested_bytes = 0;  // 0 while free
  bool used = false;

  bool operator==(const SegmentBlock&) const = default;
};

// One piece of device memory that an allocator holds. Its blocks are contiguous and fill it.
struct Segment {
  const std::byte* address = nullptr;
  std::size_t bytes = 0;
  std::string_view pool;  // which part of the allocator owns it, e.g. "small"; may be empty
  std::vector<SegmentBlock> blocks;

  bool operator==(const Segment&) const = default;
};

// The purpose of a step. Steps of different kinds never share a plan.
enum class StepKind : std::uint8_t { kTraining, kInference };

// Names what a step computes and on which shapes (its batch size, say): steps with equal keys make
// the same requests. A number alone is the key of a training step.
struct ShapeKey {
  std::uint64_t shape = 0;
  StepKind kind = StepKind::kTraining;

  constexpr ShapeKey(std::uint64_t shape_ = 0, StepKind kind_ = StepKind::kTraining) noexcept
      : shape(shape_), kind(kind_) {}
  auto operator<=>(const ShapeKey&) const = default;
};

// The stream of the device on which requests are made and the private pool that they use, numbered
// by the caller. Pool 0 is the allocator's own; the others are private, a CUDA graph's for example.
struct RequestSource {
  std::uint32_t stream = 0;
  std::uint32_t pool = 0;
  auto operator<=>(const RequestSource&) const = default;
};

// Serves requests for bytes. Allocators compose: an adaptor is an allocator around an upstream.
// A request for 0 bytes is served like one for 1 byte, but `caching` and `bfc` hold nothing for it
// and return the null address, as PyTorch and TensorFlow do. Every address is aligned to
// kAlignmentBytes, except under `bfc`, whose unit is 256 bytes (guard bytes keep that alignment
// too). Thread rule: one thread at a time, the thread that drives the steps. Lifetime rule: an
// allocator outlives its blocks.
class Allocator {
 public:
  Allocator() = default;
  virtual ~Allocator() = default;
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  // Throws OutOfMemory; then only the count of refusals has changed.
  Block allocate(std::size_t bytes, const Tag& tag = {}) {
    return Block(this, acquire(bytes, tag));
  }
  // The same as destroying the block.
  void deallocate(Block block) noexcept { block.reset(); }

  // The raw pair behind allocate() and Block, for adaptors. Each extent is released exactly once.
  virtual Extent acquire(std::size_t bytes, const Tag& tag) = 0;
  virtual void release(const Extent& extent) noexcept = 0;

  // Says where the following requests come from. Allocators that keep freed blocks apart by stream
  // or private pool override it and return true; others merge all sources. Adaptors forward it.
  // Throws std::bad_alloc.
  virtual bool request_from(RequestSource) { return false; }

  virtual Statistics statistics() const = 0;
  // Returns the reserved segments by address; empty from an allocator that does not report them.
  // Adaptors forward it. O(blocks log blocks), for reports.
  virtual std::vector<Segment> segments() const { return {}; }

  // The bounds of one step; requests outside are resident. Adaptors forward them.
  virtual void begin_step(ShapeKey) {}
  virtual void end_step() {}
  // Ends a step that was cut short, by an exception for example: its length and its live blocks
  // say nothing about other steps. begin_step() inside a step implies it. Adaptors forward it.
  virtual void abandon_step() {}

  // PGMO's interrupt and resume around a part of a step that is not hot. They nest. Prefer the
  // scope object Interruption.
  virtual void interrupt() {}
  virtual void resume() noexcept {}

  // Returns as much cached memory to the device as possible.
  virtual void release_cached() noexcept {}
};

inline void Block::reset() noexcept {
  if (owner_ == nullptr) return;
  std::exchange(owner_, nullptr)->release(extent_);
  extent_ = {};
}

// Requests made while an Interruption lives are not part of the step's plan.
class Interruption {
 public:
  explicit Interruption(Allocator& allocator) : allocator_(allocator) { allocator_.interrupt(); }
  ~Interruption() { allocator_.resume(); }
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

 private:
  Allocator& allocator_;
};

}  // namespace skyline
