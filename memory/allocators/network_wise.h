#pragma once

#include <deque>
#include <vector>

#include "memory/allocators/account.h"
#include "memory/device/device.h"

namespace skyline {

// No reuse inside a step (PGMO's naive baseline, "one array a node").
// Request k of a step owns slot k, which grows when a later step requests more. Requests before the
// first step, between steps, while interrupted, or while slot k still holds a block of an earlier
// step get a separate slot. Separate slots from before the first step stay reserved; the others
// return to the device when freed, or evaluations between steps would grow without end.
//
// Slots hold one kind of step: when another kind begins, training after an evaluation or the
// reverse, slots without a block return to the device.
//
// Reserved = the sum of the slots' maxima. Allocated counts whole slots. There is no flush. Throws
// OutOfMemory with the device's reason; a slot that had to grow is then empty. O(1) a request or
// release; statistics() is O(slots).
class NetworkWise final : public Allocator {
 public:
  explicit NetworkWise(Device& device) : device_(device) {}
  ~NetworkWise() override { release_cached(); }

  Extent acquire(std::size_t bytes, const Tag& tag) override;
  void release(const Extent& extent) noexcept override;
  Statistics statistics() const override;
  std::vector<Segment> segments() const override;
  void begin_step(ShapeKey key) override;
  void end_step() override { in_step_ = false; }
  void abandon_step() override { in_step_ = false; }
  void interrupt() override { ++interruptions_; }
  void resume() noexcept override { --interruptions_; }
  void release_cached() noexcept override;

 private:
  enum class Use : std::uint8_t { kStep, kKept, kOneBlock };
  struct Slot {
    std::byte* address = nullptr;
    std::size_t bytes = 0;
    std::size_t requested_bytes = 0;  // by its block
    Use use = Use::kOneBlock;
    bool alive = false;
  };

  bool counts() const noexcept { return in_step_ && interruptions_ == 0; }
  Slot& choose_slot();
  Slot& add_slot(std::vector<Slot*>& users, Use use);
  void grow(Slot& slot, std::size_t bytes, std::size_t requested_bytes, const Tag& tag);
  void empty(Slot& slot) noexcept;
  void give_back(Slot& slot) noexcept;

  Device& device_;
  Account account_;
  std::deque<Slot> slots_;         // all; addresses are stable
  std::vector<Slot*> step_slots_;  // slot k of the steps
  std::vector<Slot*> spare_;       // unused and empty; capacity for all slots
  std::size_t next_request_ = 0;   // k
  int interruptions_ = 0;
  StepKind kind_ = StepKind::kTraining;  // of the last step
  bool in_step_ = false;
  bool stepped_ = false;  // a step has begun
};

}  // namespace skyline
