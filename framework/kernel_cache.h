#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>

#include "framework/op.h"

namespace skyline {

// The kernels of a context, by op, specs of the inputs, and copy.
class KernelCache {
 public:
  explicit KernelCache(Compute& compute) : compute_(compute) {}

  // Returns the kernel for op and specs, from the cache or newly made. A kernel runs once at a
  // time; ops that run at the same time have copies.
  std::shared_ptr<Kernel> get(const Op& op, Specs inputs, std::size_t copy = 0);
  // Makes all kernels anew, after other engines were chosen.
  void forget() { kernels_.clear(); }

 private:
  Compute& compute_;
  std::unordered_map<std::string, std::shared_ptr<Kernel>> kernels_;
};

}  // namespace skyline
