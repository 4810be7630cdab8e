#include "train/labs/exercises/exercises.h"

namespace skyline {
namespace {

// Begins without a pool: each request is one piece of the device's memory.
class ExerciseAllocator final : public Allocator {
 public:
  explicit ExerciseAllocator(Device& device) : device_(device) {}

  Extent acquire(std::size_t bytes, const Tag&) override {
    return {device_.allocate(align_request(bytes)), bytes};
  }

  void release(const Extent& extent) noexcept override {
    device_.deallocate(extent.address, align_request(extent.bytes));
  }

  Statistics statistics() const override { return {}; }

 private:
  Device& device_;
};

}  // namespace

std::unique_ptr<Allocator> make_exercise_allocator(Device& device) {
  return std::make_unique<ExerciseAllocator>(device);
}

}  // namespace skyline
