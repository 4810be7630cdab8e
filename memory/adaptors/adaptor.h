#pragma once

#include "memory/allocator.h"

namespace skyline {

// An allocator around an upstream, which outlives it. Forwards every call; adaptors override what
// they change.
class Adaptor : public Allocator {
 public:
  explicit Adaptor(Allocator& upstream) noexcept : upstream_(upstream) {}
  Adaptor(const Adaptor&) = delete;
  Adaptor& operator=(const Adaptor&) = delete;

  Allocator& upstream() const noexcept { return upstream_; }

  Extent acquire(std::size_t bytes, const Tag& tag) override {
    return upstream_.acquire(bytes, tag);
  }
  void release(const Extent& extent) noexcept override { upstream_.release(extent); }
  Statistics statistics() const override { return upstream_.statistics(); }
  std::vector<Segment> segments() const override { return upstream_.segments(); }
  void begin_step(ShapeKey key) override { upstream_.begin_step(key); }
  void end_step() override { upstream_.end_step(); }
  void abandon_step() override { upstream_.abandon_step(); }
  void interrupt() override { upstream_.interrupt(); }
  void resume() noexcept override { upstream_.resume(); }
  void release_cached() noexcept override { upstream_.release_cached(); }

 private:
  Allocator& upstream_;
};

}  // namespace skyline
