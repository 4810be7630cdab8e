#include "tests/cuda/cuda_backend.h"
#include "tests/cuda_emulation/emulation.h"

namespace skyline {
namespace {

using cuda_emulation::ThreadOrder;

// Missing barriers show as results that depend on the order of threads.
class EmulatedBackend final : public CudaBackend {
 public:
  // The host may not touch this memory: a test that does crashes, as it would on a card.
  std::unique_ptr<Device> make_device() override {
    cuda_emulation::options().protect = true;
    return CudaBackend::make_device();
  }
  int schedules() const override { return 3; }
  void set_schedule(int schedule) override {
    constexpr ThreadOrder kOrders[] = {ThreadOrder::kBackward, ThreadOrder::kShuffled,
                                       ThreadOrder::kForward};
    cuda_emulation::options().threads = kOrders[schedule];
  }
  void set_usual_schedule() override { cuda_emulation::options().threads = ThreadOrder::kForward; }
};

[[maybe_unused]] const bool chosen = [] {
  chosen_backend() = std::make_unique<EmulatedBackend>();
  return true;
}();

}  // namespace
}  // namespace skyline
