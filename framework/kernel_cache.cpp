#include "framework/kernel_cache.h"

#include "framework/runner.h"

namespace skyline {

// Without a bound, batches that all differ in shape would add some tens of kernels a step forever.
constexpr std::size_t kMostKernels = 1024;  // of a copy

namespace {

// Extents stay bytes: every op of a step asks, and text would take longer than all else.
std::string key_of(const Op& op, Specs inputs, std::size_t copy) {
  std::string key;
  key.reserve(160);
  const auto add = [&key](std::int64_t number) {
    key.append(reinterpret_cast<const char*>(&number), sizeof number);
  };
  key.append(op.name()).append(1, '\0').append(op.parameters()).append(1, '\0');
  add(static_cast<std::int64_t>(copy));
  for (const TensorSpec& spec : inputs) {
    add(spec.shape.rank() << 8 | static_cast<int>(spec.dtype));
    for (int axis = 0; axis < spec.shape.rank(); ++axis) add(spec.shape[axis]);
  }
  return key;
}

}  // namespace

std::shared_ptr<Kernel> KernelCache::get(const Op& op, Specs inputs, std::size_t copy) {
  const RunnerFacts runner = compute_.runner().facts();
  if (!op.cacheable() && !runner.knows_kernels) return op.kernel(compute_, inputs);
  const std::string key = key_of(op, inputs, copy);
  // Dropping all is cheap: from the library's own cache, a kernel in use costs some microseconds.
  if (kernels_.size() >= kMostKernels * runner.copies && !kernels_.contains(key)) forget();
  std::shared_ptr<Kernel>& cached = kernels_[key];
  if (!cached) cached = op.kernel(compute_, inputs);
  return cached;
}

}  // namespace skyline
