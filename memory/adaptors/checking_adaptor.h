#pragma once

#include <map>
#include <stdexcept>

#include "memory/adaptors/adaptor.h"
#include "memory/trace.h"

namespace skyline {

// Thrown when an allocator hands out live bytes: a defect of the allocator.
class SharedBytes : public std::logic_error {
 public:
  SharedBytes(const Extent& granted, BlockTag granted_tag, const Extent& live, BlockTag live_tag);
  const BlockTag& granted_tag() const noexcept { return granted_tag_; }
  const BlockTag& live_tag() const noexcept { return live_tag_; }

 private:
  BlockTag granted_tag_, live_tag_;
};

// Checks every hand-out against all live blocks. Throws SharedBytes after returning the hand-out.
// O(log live blocks).
class CheckingAdaptor final : public Adaptor {
 public:
  explicit CheckingAdaptor(Allocator& upstream) : Adaptor(upstream) {}

  Extent acquire(std::size_t bytes, const Tag& tag) override;
  void release(const Extent& extent) noexcept override;

  std::size_t live_blocks() const noexcept { return live_.size(); }

 private:
  struct Live {
    Extent extent;
    BlockTag tag;
  };
  const Live* overlapping(const Extent& extent) const noexcept;

  std::map<const std::byte*, Live> live_;  // by first byte
};

}  // namespace skyline
