#pragma once

#include <cstddef>
#include <map>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <utility>

#include "memory/allocators/best_fit_pool.h"
#include "memory/device/cpu_device.h"
#include "tests/benchmarks/train/step_recording.h"

namespace skyline {

// Where the operands of a bare step lie. The step's own values stay at the addresses of the
// recording, so that both loops use memory and caches alike: the arm that was recorded must live
// on, and keep its plan. What is given to the step is copied once.
class BareMemory {
 public:
  // Weights exist once for each use, in the layout that suits it.
  enum class Use { kPlain, kForward, kBackward, kGradient };

  // Refers to the recording.
  explicit BareMemory(const StepRecording& recording) : recording_(recording) {}

  // Plain: images channels-last, all others row-major.
  dnnl::memory tensor(const Operand& operand);
  // The same bytes under another description.
  dnnl::memory tensor(const Operand& operand, const dnnl::memory::desc& layout);

  // A weight in `layout`, filled from the recording, whose bytes lie as `plain`.
  dnnl::memory weight(const Operand& operand, const dnnl::memory::desc& plain,
                      const dnnl::memory::desc& layout, Use use);
  // Where a weight, or its gradient, is kept: the first use that exists.
  float* values(const Operand& operand, Use first_choice);

  // What a forward primitive leaves for its backward one, and scratch; the same bytes for the same
  // key and size.
  dnnl::memory kept(const std::string& key, const dnnl::memory::desc& layout);

 private:
  using Key = std::pair<const std::byte*, Use>;

  std::byte* own(const Key& key, std::size_t bytes);
  std::byte* plain_address(const Operand& operand);

  const StepRecording& recording_;
  CpuDevice device_;
  BestFitPool pool_{device_};
  std::map<Key, Block> weights_;
  std::map<std::pair<std::string, std::size_t>, Block> kept_;
};

}  // namespace skyline
