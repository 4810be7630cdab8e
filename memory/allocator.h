#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memory/device/out_of_memory.h"

namespace skyline {

// Requests are rounded up to this by every allocator that does not say otherwise (PGMO
// section 5.1).
inline constexpr std::size_t kAlignmentBytes = 512;

enum class Phase : std::uint8_t { kOutside, kForward, kBackward, kUpdate };
enum class Category : std::uint8_t {
  kInput,
  kActivation,
  kGradient,
  kWorkspace,
  kTemporary,
  kParameter,
  kParameterGradient,
  kOptimizer,
  kState,  // running statistics
  kUnknown,
};
inline constexpr int kCategoryCount = 10;

std::string_view phase_name(Phase phase);           // "forward"
std::string_view category_name(Category category);  // "parameter gradient"

// Who asks. The views must outlive the call only: whoever keeps a tag copies its strings.
struct Tag {
  std::string_view op;
  std::string_view layer;
  Phase phase = Phase::kOutside;
  Category category = Category::kUnknown;
};

// "conv2d of conv1 (forward, activation)"; names that are empty are left out.
std::string tag_name(const Tag& tag);

// Names the shapes of a step (source and target length, say): equal keys ask for the same requests.
using ShapeKey = std::uint64_t;

// Bytes as an allocator hands them out; `cookie` is the allocator's own and comes back on release.
struct Extent {
  std::byte* address = nullptr;
  std::size_t bytes = 0;  // as requested
  std::uint64_t cookie = 0;
};

// Counters of one allocator, see DESIGN's vocabulary. Each "peak" is the most since construction.
struct Statistics {
  std::size_t requested_bytes = 0, peak_requested_bytes = 0;  // as asked for, by live blocks
  std::size_t allocated_bytes = 0, peak_allocated_bytes = 0;  // after rounding and slack
  std::size_t reserved_bytes = 0, peak_reserved_bytes = 0;    // taken from the device
  std::uint64_t requests = 0, releases = 0;                   // calls served
  std::uint64_t device_allocations = 0, device_frees = 0;
  std::uint64_t flushes = 0;                 // cached memory given back under pressure
  std::uint64_t out_of_memory = 0;           // requests refused
  std::size_t largest_free_block_bytes = 0;  // inside reserved memory

  std::size_t cached_bytes() const noexcept { return reserved_bytes - allocated_bytes; }
  // (free − largest free) / free; 0 when nothing is free.
  double external_fragmentation() const noexcept;
  std::size_t internal_fragmentation_bytes() const noexcept {
    return allocated_bytes - requested_bytes;
  }
  bool operator==(const Statistics&) const = default;
};

// A piece of a segment, in use or free.
struct SegmentBlock {
  const std::byte* address = nullptr;
  std::size_t bytes = 0;            // with rounding and slack
  std::size_t requested_bytes = 0;  // 0 while free
  bool used = false;

  bool operator==(const SegmentBlock&) const = default;
};

// Bytes that an allocator took from its device in one piece, and how they are cut: its blocks lie
// one behind the other and fill it.
struct Segment {
  const std::byte* address = nullptr;
  std::size_t bytes = 0;
  std::string_view pool;  // the allocator's name for a part of itself, "small"; empty: it has none
  std::vector<SegmentBlock> blocks;

  bool operator==(const Segment&) const = default;
};

class Allocator;

// Move-only owner of an extent; gives it back to its allocator when destroyed.
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
  inline void reset() noexcept;

 private:
  friend class Allocator;
  Allocator* owner_ = nullptr;
  Extent extent_;
};

// Serves requests for bytes. Allocators compose: an adaptor is an allocator around an upstream.
// A request of 0 bytes is served like one of 1 byte. Every address is aligned to kAlignmentBytes,
// but under `bfc`, whose unit is 256 bytes (guard bytes keep that promise too). Thread rule: one
// thread at a time, the thread that drives the steps. Lifetime rule: an allocator outlives its
// blocks.
class Allocator {
 public:
  virtual ~Allocator() = default;

  // Throws OutOfMemory; then nothing has changed but the count of refusals.
  Block allocate(std::size_t bytes, const Tag& tag = {}) {
    return Block(this, acquire(bytes, tag));
  }
  // The same as destroying the block.
  void deallocate(Block block) noexcept { block.reset(); }

  // The raw pair behind allocate and Block, for adaptors. An extent is released exactly once.
  virtual Extent acquire(std::size_t bytes, const Tag& tag) = 0;
  virtual void release(const Extent& extent) noexcept = 0;

  virtual Statistics statistics() const = 0;
  // What is reserved now, by address; none from an allocator that does not tell. Adaptors forward
  // it. O(blocks log blocks), for reports.
  virtual std::vector<Segment> segments() const { return {}; }

  // Bounds of one training step; requests outside are resident. Adaptors forward them.
  virtual void begin_step(ShapeKey) {}
  virtual void end_step() {}
  // The running step was cut short, by an exception say: ends it without taking its length or its
  // survivors for what steps do. begin_step inside a step implies it. Adaptors forward it.
  virtual void abandon_step() {}

  // PGMO's interrupt and resume around the part of a step that is not hot; they nest.
  // Prefer the scope object Interruption.
  virtual void interrupt() {}
  virtual void resume() noexcept {}

  // Gives cached memory back to the device as far as possible.
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
