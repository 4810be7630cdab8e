#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

#include "memory/adaptors/adaptor.h"
#include "memory/allocators/account.h"
#include "memory/device/device.h"
#include "memory/live_table.h"
#include "memory/trace.h"

namespace skyline {

// Bytes outside of a block were written.
class MemoryCorruption : public std::runtime_error {
 public:
  MemoryCorruption(BlockTag tag, std::size_t block_bytes, std::ptrdiff_t offset);
  const BlockTag& tag() const noexcept { return tag_; }  // of the damaged block
  std::size_t block_bytes() const noexcept { return block_bytes_; }
  // Of the first damaged byte from the block's start: below 0 before it, else at or behind its end.
  std::ptrdiff_t offset() const noexcept { return offset_; }

 private:
  BlockTag tag_;
  std::size_t block_bytes_;
  std::ptrdiff_t offset_;
};

// Puts 512 guard bytes before and behind every block, so that upstream is asked for bytes + 1024,
// and fills blocks with poison when handed out and when freed. Both poisons are NaN as float and
// as double. The guards of a block are verified when it is freed; damage is remembered and thrown
// as MemoryCorruption, once, by the next acquire, by end_step (after upstream's) and by check();
// the latter two verify the live blocks as well.
// Statistics: requested bytes are the caller's; the rest, guards included, is upstream's.
class GuardAdaptor final : public Adaptor {
 public:
  static constexpr std::size_t kGuardBytes = kAlignmentBytes;
  static constexpr std::byte kGuard{0xA5};
  static constexpr std::uint32_t kFreshPoison = 0x7FFFA110;
  static constexpr std::uint32_t kFreedPoison = 0x7FFFF4EE;

  // `device`, which upstream's bytes come from, writes and reads the bytes; where it has no memory,
  // requests grow only, so that sizes agree. On a GPU each request waits for all that was enqueued.
  GuardAdaptor(Allocator& upstream, Device& device)
      : Adaptor(upstream), device_(device.has_memory() ? &device : nullptr) {}
  // For dry runs: requests grow only.
  explicit GuardAdaptor(Allocator& upstream) : Adaptor(upstream) {}

  Extent acquire(std::size_t bytes, const Tag& tag) override;
  void release(const Extent& extent) noexcept override;
  Statistics statistics() const override;
  void end_step() override;

  // Throws MemoryCorruption when a block freed before, or one alive, was written outside of.
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
  Device* device_ = nullptr;  // null: nothing may be touched
};

}  // namespace skyline
