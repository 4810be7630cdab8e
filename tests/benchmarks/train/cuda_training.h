#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "framework/cuda/cublas/product.h"
#include "framework/cuda/make_cuda_compute.h"
#include "train/run/model_run.h"

namespace skyline {

// A network in training on the CUDA device, with memory from one allocator.
class CudaTraining {
 public:
  virtual ~CudaTraining() = default;
  virtual ModelRun& run() = 0;
  virtual void step() = 0;
  // The images, or words of both languages, in a step.
  virtual double items() const = 0;
  // The sentence lengths of both sides, as " 7,3 8,4"; empty for images.
  virtual std::string lengths() const { return {}; }

  // Reserved bytes now, so without the pool of a planned run's first step.
  std::uint64_t reserved_bytes() { return run().memory.statistics().reserved_bytes; }
  // Host seconds that the last step spent in requests and releases.
  double allocation_seconds();
};

// Makes a training of the named model with a batch of noise. "seq2seq" is the paper's full size,
// with sentences that are as long as WMT's. `allocator` is a name of the table or "planned".
std::unique_ptr<CudaTraining> make_cuda_training(const std::string& model, std::int64_t batch_size,
                                                 const std::string& allocator,
                                                 const Context::Options& options);

// "images" or "words".
std::string items_of(const std::string& model);

// Returns the seconds of a product of noise on the device, in fp32 or TF32.
double product_seconds(const CudaOptions& options, const ProductProblem& problem);

}  // namespace skyline
