#pragma once

#include <compare>
#include <cstdint>
#include <utility>
#include <vector>

#include "memory/alignment.h"
#include "memory/block.h"
#include "memory/device/out_of_memory.h"
#include "memory/statistics.h"
#include "memory/tag.h"

namespace skyline {

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

// Serves requests for bytes. Allocators compose: an adaptor is an allocator around an upstream.
// A request for 0 bytes is served like one for 1 byte. Every address is aligned to kAlignmentBytes,
// except under `bfc`, whose unit is 256 bytes (guard bytes keep that alignment too).
// Thread rule: one thread at a time, the thread that drives the steps.
// Lifetime rule: an allocator outlives its blocks.
class Allocator {
 public:
  virtual ~Allocator() = default;

  // Throws OutOfMemory; then only the count of refusals has changed.
  Block allocate(std::size_t bytes, const Tag& tag = {}) {
    return Block(this, acquire(bytes, tag));
  }
  // The same as destroying the block.
  void deallocate(Block block) noexcept { block.reset(); }

  // The raw pair behind allocate() and Block, for adaptors. Each extent is released exactly once.
  virtual Extent acquire(std::size_t bytes, const Tag& tag) = 0;
  virtual void release(const Extent& extent) noexcept = 0;

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
