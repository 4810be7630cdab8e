#pragma once

#include <memory>

#include "framework/cuda/make_cuda_compute.h"
#include "memory/device/cuda_device.h"
#include "tests/framework/backend.h"

namespace skyline {

// Runs ops on the first CUDA device, real or emulated.
class CudaBackend : public Backend {
 public:
  std::unique_ptr<Device> make_device() override { return make_cuda_device(); }
  std::shared_ptr<Compute> compute() override {
    if (!compute_) compute_ = make_cuda_compute({.deterministic = true});
    return compute_;
  }
  int schedules() const override { return 1; }
  void set_schedule(int) override {}
  void set_usual_schedule() override {}

 private:
  std::shared_ptr<Compute> compute_;  // made when a test first needs it
};

}  // namespace skyline
