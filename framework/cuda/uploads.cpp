#include "framework/cuda/uploads.h"

#include <cstring>

#include "framework/cuda/cuda_error.h"

namespace skyline {

Uploads::Uploads(cudaStream_t ops) : ops_(ops) {
  check_cuda(cudaStreamCreateWithFlags(&copies_, cudaStreamNonBlocking), "cudaStreamCreate");
  check_cuda(cudaEventCreateWithFlags(&used_, cudaEventDisableTiming), "cudaEventCreate");
  for (Buffer& buffer : buffers_) {
    check_cuda(cudaEventCreateWithFlags(&buffer.copied, cudaEventDisableTiming), "cudaEventCreate");
  }
}

Uploads::~Uploads() {
  cudaStreamSynchronize(copies_);
  for (const Buffer& buffer : buffers_) {
    cudaEventDestroy(buffer.copied);
    cudaFreeHost(buffer.bytes);
  }
  cudaEventDestroy(used_);
  cudaStreamDestroy(copies_);
}

void Uploads::upload(std::byte* to, const void* host, std::size_t bytes) {
  Buffer& buffer = next_buffer(bytes);
  std::memcpy(buffer.bytes, host, bytes);
  check_cuda(cudaEventRecord(used_, ops_), "cudaEventRecord");
  check_cuda(cudaStreamWaitEvent(copies_, used_), "cudaStreamWaitEvent");
  check_cuda(cudaMemcpyAsync(to, buffer.bytes, bytes, cudaMemcpyHostToDevice, copies_),
             "cudaMemcpyAsync");
  check_cuda(cudaEventRecord(buffer.copied, copies_), "cudaEventRecord");
  check_cuda(cudaStreamWaitEvent(ops_, buffer.copied), "cudaStreamWaitEvent");
}

Uploads::Buffer& Uploads::next_buffer(std::size_t bytes) {
  Buffer& buffer = buffers_[next_];
  next_ = (next_ + 1) % buffers_.size();
  check_cuda(cudaEventSynchronize(buffer.copied), "cudaEventSynchronize");
  if (buffer.capacity_bytes >= bytes) return buffer;
  cudaFreeHost(buffer.bytes);
  buffer.bytes = nullptr;
  buffer.capacity_bytes = 0;
  void* pinned = nullptr;
  check_cuda(cudaMallocHost(&pinned, bytes), "cudaMallocHost");
  buffer.bytes = static_cast<std::byte*>(pinned);
  buffer.capacity_bytes = bytes;
  return buffer;
}

}  // namespace skyline
