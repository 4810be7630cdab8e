#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "framework/compute.h"
#include "framework/kernel.h"

namespace skyline {

// A test's own kernel, from input 0 to output 0. Its body runs on the host on every backend.
class HostKernel final : public Kernel {
 public:
  using Body = std::function<void(const float*, float*)>;
  HostKernel(Compute& compute, std::int64_t inputs, std::int64_t outputs, Body body)
      : compute_(compute),
        input_(static_cast<std::size_t>(inputs)),
        output_(static_cast<std::size_t>(outputs)),
        body_(std::move(body)) {}

  void run(const KernelArguments& arguments) override {
    compute_.read(input_.data(), arguments.inputs[0], input_.size() * sizeof(float));
    body_(input_.data(), output_.data());
    compute_.write(arguments.outputs[0], output_.data(), output_.size() * sizeof(float));
  }

 private:
  Compute& compute_;
  std::vector<float> input_, output_;
  Body body_;
};

}  // namespace skyline
