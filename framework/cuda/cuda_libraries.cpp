#include "framework/cuda/cuda_libraries.h"

#include "framework/cuda/cuda_compute.h"

namespace skyline {

CublasProducts& CudaLibraries::products() {
  if (!products_) products_ = std::make_unique<CublasProducts>(options_);
  return *products_;
}

CudnnLibrary& CudaLibraries::cudnn() {
  if (!cudnn_) cudnn_ = std::make_unique<CudnnLibrary>(stream_, options_);
  return *cudnn_;
}

CudaLibraries& CudaCompute::libraries() {
  if (!libraries_) libraries_ = std::make_shared<CudaLibraries>(stream(), options_);
  return *libraries_;
}

std::unique_ptr<Compute> make_cuda_compute(const CudaOptions& options) {
  auto compute = std::make_unique<CudaCompute>(options);
  // Refuses a plan for another card before anything is trained.
  if (options.engines != nullptr) compute->libraries().cudnn();
  // The device's capacity is what is free after this.
  if (!options.plan_only) compute->libraries().products();
  return compute;
}

}  // namespace skyline
