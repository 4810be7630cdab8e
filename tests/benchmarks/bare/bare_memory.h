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

// Operands of a bare step. The step's own values stay at the recorded addresses, so that both loops
// use memory and caches alike; therefore the recorded training must stay alive and keep its plan.
// Values given to the step are copied once.
class BareMemory {
 public:
  // A weight exists once for each use, in the layout that suits it.
  enum class Use { kPlain, kForward, kBackward, kGradient };

  // Keeps a reference to the recording.
  explicit BareMemory(const StepRecording& recording) : recording_(recording) {}

  // Plain layout: images channels-last, all others row-major.
  dnnl::memory tensor(const Operand& operand);
  // The same bytes under another description.
  dnnl::memory tensor(const Operand& operand, const dnnl::memory::desc& layout);

  // Returns a weight in `layout`, filled from the recording, where it is stored as `plain`.
  dnnl::memory weight(const Operand& operand, const dnnl::memory::desc& plain,
                      const dnnl::memory::desc& layout, Use use);
  // Returns the memory of a weight or its gradient, for the first use that exists.
  float* values(const Operand& operand, Use first_choice);

  // Returns memory that a forward primitive leaves for its backward one, or scratch; the same bytes
  // for the same key and size.
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
