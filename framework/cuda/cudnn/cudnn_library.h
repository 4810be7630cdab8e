#pragma once

#include <cuda_runtime.h>
#include <cudnn.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "framework/cuda/make_cuda_compute.h"

namespace skyline {

// A failed call of cuDNN: "[cudnnBackendFinalize of operation graph] CUDNN_STATUS_…: why".
class CudnnError : public std::runtime_error {
 public:
  CudnnError(const std::string& call, cudnnStatus_t status);
  cudnnStatus_t status() const noexcept { return status_; }

 private:
  cudnnStatus_t status_;
};

// Throws CudnnError unless `status` is success.
void check_cudnn(cudnnStatus_t status, const char* call);

// One descriptor of cuDNN's backend ("graph") API: set attributes, finalize, then read attributes.
// Failures throw CudnnError, which names the attribute by its number in cudnn_graph.h.
class CudnnDescriptor {
 public:
  using Name = cudnnBackendAttributeName_t;

  explicit CudnnDescriptor(cudnnBackendDescriptorType_t type);
  ~CudnnDescriptor();
  CudnnDescriptor(CudnnDescriptor&& other) noexcept;
  CudnnDescriptor& operator=(CudnnDescriptor&& other) noexcept;

  void set(Name name, std::int64_t value) { set(name, CUDNN_TYPE_INT64, 1, &value); }
  void set(Name name, float value) { set(name, CUDNN_TYPE_FLOAT, 1, &value); }
  void set(Name name, double value) { set(name, CUDNN_TYPE_DOUBLE, 1, &value); }
  void set(Name name, bool value) { set(name, CUDNN_TYPE_BOOLEAN, 1, &value); }
  void set(Name name, cudnnHandle_t value) { set(name, CUDNN_TYPE_HANDLE, 1, &value); }
  void set(Name name, cudnnDataType_t value) { set(name, CUDNN_TYPE_DATA_TYPE, 1, &value); }
  void set(Name name, cudnnBackendHeurMode_t value) { set(name, CUDNN_TYPE_HEUR_MODE, 1, &value); }
  void set(Name name, cudnnBackendKnobType_t value) { set(name, CUDNN_TYPE_KNOB_TYPE, 1, &value); }
  void set(Name name, cudnnPointwiseMode_t value) {
    set(name, CUDNN_TYPE_POINTWISE_MODE, 1, &value);
  }
  void set(Name name, cudnnNanPropagation_t value) {
    set(name, CUDNN_TYPE_NAN_PROPOGATION, 1, &value);
  }
  void set(Name name, cudnnConvolutionMode_t value) {
    set(name, CUDNN_TYPE_CONVOLUTION_MODE, 1, &value);
  }
  void set(Name name, const std::string& value);  // with its final 0
  void set(Name name, const std::vector<std::int64_t>& values);
  void set(Name name, const CudnnDescriptor& value);
  void set(Name name, const std::vector<CudnnDescriptor>& values);
  void set_pointer(Name name, void* value) { set(name, CUDNN_TYPE_VOID_PTR, 1, &value); }
  void set_pointers(Name name, const std::vector<void*>& values);

  void finalize();

  std::int64_t integer(Name name) const;
  std::string text(Name name) const;
  std::vector<cudnnBackendNumericalNote_t> numerical_notes(Name name) const;
  cudnnBackendKnobType_t knob_type(Name name) const;
  CudnnDescriptor descriptor(Name name, cudnnBackendDescriptorType_t type) const;
  // Returns as many as there are, at most `most`.
  std::vector<CudnnDescriptor> descriptors(Name name, cudnnBackendDescriptorType_t type,
                                           std::int64_t most) const;
  // Returns how many there are. Some attributes report 0 until they are read.
  std::int64_t count(Name name, cudnnBackendAttributeType_t type) const;

  cudnnBackendDescriptor_t get() const noexcept { return descriptor_; }

 private:
  void set(Name name, cudnnBackendAttributeType_t type, std::size_t count, const void* values);
  std::int64_t get(Name name, cudnnBackendAttributeType_t type, std::int64_t most,
                   void* values) const;

  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

// cuDNN for one card and its choices of engines.
class CudnnLibrary {
 public:
  // Uses the device and `stream`; with options.plan_only no device, but the card that
  // options.engines describes. Throws std::runtime_error if the library cannot start, does not know
  // the card, or if options.engines belong to another card or another version of the library.
  CudnnLibrary(cudaStream_t stream, const CudaOptions& options);
  CudnnLibrary(const CudnnLibrary&) = delete;
  CudnnLibrary& operator=(const CudnnLibrary&) = delete;

  cudnnHandle_t handle() const noexcept { return handle_.get(); }  // null without a device
  const CudnnDescriptor& card() const noexcept { return card_; }
  EngineChoices& engines() noexcept { return *engines_; }

 private:
  struct Destroy {
    void operator()(cudnnHandle_t handle) const { cudnnDestroy(handle); }
  };

  EngineChoices own_engines_;
  EngineChoices* engines_;
  std::unique_ptr<cudnnContext, Destroy> handle_;
  CudnnDescriptor card_;
};

}  // namespace skyline
