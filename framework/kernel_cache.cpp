#include "framework/kernel_cache.h"

#include "framework/runner.h"

namespace skyline {

// Without a bound, batches that all differ in shape would add some tens of kernels a step forever.
constexpr std::size_t kMostKernels = 1024;  // of a copy

std::shared_ptr<Kernel> KernelCache::get(const Op& op, std::span<const TensorSpec> inputs,
                                         std::size_t copy) {
  const RunnerFacts runner = compute_.runner().facts();
  if (!op.cacheable() && !runner.knows_kernels) return op.kernel(compute_, inputs);
  std::string key(op.name());
  if (copy > 0) key.append(" copy ").append(std::to_string(copy));
  key.append(" ").append(op.parameters());
  for (const TensorSpec& spec : inputs) key.append(" ").append(spec.str());
  // Dropping all is cheap: from the library's own cache, a kernel in use costs some microseconds.
  if (kernels_.size() >= kMostKernels * runner.copies && !kernels_.contains(key)) forget();
  std::shared_ptr<Kernel>& cached = kernels_[key];
  if (!cached) cached = op.kernel(compute_, inputs);
  return cached;
}

}  // namespace skyline
