// Adaptors that find faults: bytes handed out twice, and writes outside of blocks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>

#include "memory/adaptors/adaptor.h"
#include "memory/allocators/account.h"
#include "memory/device/device.h"
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

// Thrown when bytes outside of a block were written.
class MemoryCorruption : public std::runtime_error {
 public:
  MemoryCorruption(BlockTag tag, std::size_t block_bytes, std::ptrdiff_t offset);
  const BlockTag& tag() const noexcept { return tag_; }  // of the damaged block
  std::size_t block_bytes() const noexcept { return block_bytes_; }
  // The first damaged byte, from the block's start: below 0, or at least the block's size.
  std::ptrdiff_t offset() const noexcept { return offset_; }

 private:
  BlockTag tag_;
  std::size_t block_bytes_;
  std::ptrdiff_t offset_;
};

// Puts 512 guard bytes before and after every block, so upstream serves bytes + 1024. Poisons
// blocks when they are handed out and when they are freed; both poisons are NaN as float and as
// double. Verifies a block's guards when it is freed. The next acquire(), end_step() (after
// upstream's) or check() throws the damage once, as MemoryCorruption; the latter two also verify
// live blocks. Statistics: requested bytes are the caller's; all else is upstream's and includes
// the guards.
class GuardAdaptor final : public Adaptor {
 public:
  static constexpr std::size_t kGuardBytes = kAlignmentBytes;
  static constexpr std::byte kGuard{0xA5};
  static constexpr std::uint32_t kFreshPoison = 0x7FFFA110;
  static constexpr std::uint32_t kFreedPoison = 0x7FFFF4EE;

  // `device` owns upstream's bytes and accesses them. Without memory, requests still grow, so that
  // sizes agree. On a GPU each request waits for all enqueued work.
  GuardAdaptor(Allocator& upstream, Device& device)
      : Adaptor(upstream), device_(device.has_memory() ? &device : nullptr) {}
  // For dry runs: only adds the guards' size to requests.
  explicit GuardAdaptor(Allocator& upstream) : Adaptor(upstream) {}

  Extent acquire(std::size_t bytes, const Tag& tag) override;
  void release(const Extent& extent) noexcept override;
  Statistics statistics() const override;
  void end_step() override;

  // Throws MemoryCorruption for damage around freed or live blocks.
  void check();

 private:
  struct Live {
    std::byte* address = nullptr;  // the caller's
    std::size_t bytes = 0;
    std::uint64_t upstream_cookie = 0;
    BlockTag tag;
  };
  struct Damage {
    Live block;
    std::ptrdiff_t offset = 0;
  };

  std::optional<std::ptrdiff_t> first_damaged(const std::byte* guard) const noexcept;
  std::optional<std::ptrdiff_t> damaged_offset(const Live& block) const noexcept;
  void throw_remembered();

  LiveTable<Live> live_;
  Account account_;  // the caller's requested bytes
  std::optional<Damage> damage_;
  Device* device_ = nullptr;  // null: no memory to access
};

}  // namespace skyline
