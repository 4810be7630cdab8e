#include "tests/framework/backend.h"

#include <omp.h>

#include "memory/device/cpu_device.h"

namespace skyline {
namespace {

class CpuBackend final : public Backend {
 public:
  std::unique_ptr<Device> make_device() override { return std::make_unique<CpuDevice>(); }
  std::shared_ptr<Compute> compute() override { return compute_; }
  int schedules() const override { return 3; }
  void set_schedule(int schedule) override { omp_set_num_threads(schedule + 1); }
  void set_usual_schedule() override { omp_set_num_threads(usual_threads_); }
  bool divides_sums() const override { return true; }

 private:
  std::shared_ptr<Compute> compute_ = std::make_shared<CpuCompute>();
  int usual_threads_ = omp_get_max_threads();
};

}  // namespace

std::unique_ptr<Backend>& chosen_backend() {
  static std::unique_ptr<Backend> chosen = std::make_unique<CpuBackend>();
  return chosen;
}

}  // namespace skyline
