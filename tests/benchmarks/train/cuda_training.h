#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "framework/cuda/make_cuda_compute.h"
#include "train/run/model_run.h"

namespace skyline {

// A network in training on the CUDA device, with memory from one allocator.
class CudaTraining {
 public:
  virtual ~CudaTraining() = default;
  virtual Workplace& workplace() = 0;
  virtual void step() = 0;
  // Images, or words of both languages, that a step takes.
  virtual double items() const = 0;
  // " 7,3 8,4": the lengths of the sentences of both sides; empty for images.
  virtual std::string lengths() const { return {}; }

  // Now: the pool of a planned run's first step is gone.
  std::uint64_t reserved_bytes() { return workplace().memory.statistics().reserved_bytes; }
  // Host seconds of the last step's requests and releases.
  double allocation_seconds();
};

// A model by its name, seq2seq of the paper's full size among them, with a batch of noise or of
// words whose lengths are spread as WMT's are. `allocator`: a name of the table or "planned".
std::unique_ptr<CudaTraining> make_cuda_training(const std::string& model, std::int64_t batch_size,
                                                 const std::string& allocator,
                                                 const Context::Options& options);

// "images" or "words".
std::string items_of(const std::string& model);

// FLOP/s of products 8192 x 8192 x 8192 of noise on the device, in fp32 or TF32.
double measure_cuda_peak(const CudaOptions& options);

}  // namespace skyline
