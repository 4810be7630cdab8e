// An allocator of one's own: it asks the device for every request and keeps nothing.
#include <fmt/format.h>

#include <memory>

#include "memory/allocators/account.h"
#include "memory/device/devices.h"
#include "memory/replay/trace_replay.h"

using namespace skyline;

class Direct final : public Allocator {
 public:
  explicit Direct(Device& device) : device_(device) {}
  Extent acquire(std::size_t bytes, const Tag&) override {
    std::byte* address = device_.allocate(bytes);  // throws OutOfMemory
    account_.taken_from_device(bytes);
    account_.served(bytes, bytes);
    return {address, bytes};
  }
  void release(const Extent& extent) noexcept override {
    device_.deallocate(extent.address, extent.bytes);
    account_.released(extent.bytes, extent.bytes);
    account_.given_to_device(extent.bytes);
  }
  Statistics statistics() const override { return account_.now(); }

 private:
  Device& device_;
  Account account_;
};

int main() {
  const Trace trace{.blocks = {{0, 2, 1000}, {1, 3, 500}, {2, 4, 1000}}};
  const std::unique_ptr<Device> device = make_device("simulated");
  Direct direct(*device);
  fmt::print("direct {}\n", replay_trace(trace, direct).statistics.peak_reserved_bytes);
}
