// Allocators around an upstream: what all adaptors share, and a limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "memory/allocator.h"

namespace skyline {

// An allocator around an upstream, which outlives it. Forwards every call; adaptors override what
// they change.
class Adaptor : public Allocator {
 public:
  explicit Adaptor(Allocator& upstream) noexcept : upstream_(upstream) {}

  Allocator& upstream() const noexcept { return upstream_; }

  Extent acquire(std::size_t bytes, const Tag& tag) override {
    return upstream_.acquire(bytes, tag);
  }
  void release(const Extent& extent) noexcept override { upstream_.release(extent); }
  bool request_from(RequestSource source) override { return upstream_.request_from(source); }
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

// Refuses requests that would raise the live bytes above a limit, each request rounded up to 512.
// Throws OutOfMemory (kLimit); its statistics count these refusals.
class LimitAdaptor final : public Adaptor {
 public:
  LimitAdaptor(Allocator& upstream, std::size_t limit_bytes)
      : Adaptor(upstream), limit_bytes_(limit_bytes) {}

  Extent acquire(std::size_t bytes, const Tag& tag) override;
  void release(const Extent& extent) noexcept override;
  Statistics statistics() const override;

  std::size_t limit_bytes() const noexcept { return limit_bytes_; }
  std::size_t live_bytes() const noexcept { return live_bytes_; }

 private:
  std::size_t limit_bytes_;
  std::size_t live_bytes_ = 0;
  std::uint64_t refusals_ = 0;
};

// Stores an entry for each live block; its index is the block's cookie. Only reserve_one()
// allocates: an adaptor that calls it before its upstream cannot lose a block.
template <typename Entry>
class LiveTable {
 public:
  struct Row {
    Entry entry;
    bool live = false;
  };

  // Makes room for one insert. Throws std::bad_alloc.
  void reserve_one() {
    if (!unused_.empty()) return;
    rows_.emplace_back();
    unused_.reserve(rows_.capacity());
    unused_.push_back(rows_.size() - 1);
  }

  // After reserve_one(). O(1).
  std::uint64_t insert(Entry entry) noexcept {
    const std::size_t index = unused_.back();
    unused_.pop_back();
    rows_[index] = {std::move(entry), true};
    return index;
  }

  Entry erase(std::uint64_t index) noexcept {
    unused_.push_back(index);  // within the capacity that reserve_one() made
    rows_[index].live = false;
    return std::move(rows_[index].entry);
  }

  const std::vector<Row>& rows() const noexcept { return rows_; }

 private:
  std::vector<Row> rows_;
  std::vector<std::size_t> unused_;
};

}  // namespace skyline
