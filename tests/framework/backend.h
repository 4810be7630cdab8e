#pragma once

#include <memory>
#include <vector>

#include "framework/compute.h"
#include "framework/tensor.h"
#include "memory/device/device.h"

namespace skyline {

// The device that tests of ops run on: the host, a CUDA device or an emulated one. A program of
// tests/cuda chooses before its tests begin.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::unique_ptr<Device> make_device() = 0;
  virtual std::shared_ptr<Compute> compute() = 0;

  // Number of ways to share work among threads. They must not change a bit of any result, except as
  // divides_sums() says.
  virtual int schedules() const = 0;
  virtual void set_schedule(int schedule) = 0;  // below schedules()
  virtual void set_usual_schedule() = 0;
  // True if the library divides the sums of products and convolutions among threads, so that their
  // last bits depend on the schedule.
  virtual bool divides_sums() const { return false; }

  std::vector<float> read(const Tensor& tensor) {
    std::vector<float> values(static_cast<std::size_t>(tensor.shape().elements()));
    compute()->read(values.data(), tensor.address(), values.size() * sizeof(float));
    return values;
  }
};

// The host, until a program replaces it.
std::unique_ptr<Backend>& chosen_backend();
inline Backend& backend() { return *chosen_backend(); }

}  // namespace skyline
