#include "framework/cuda/uploads.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "framework/cuda/cuda_error.h"

namespace skyline {
namespace {

// Uses all threads, because one thread is slower than the link to a card.
void copy(std::byte* to, const void* host, std::size_t bytes) {
  constexpr std::size_t kPartBytes = std::size_t{1} << 20;
  const auto parts = static_cast<std::int64_t>((bytes + kPartBytes - 1) / kPartBytes);
  const auto* from = static_cast<const std::byte*>(host);
#pragma omp parallel for if (parts > 1)
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::size_t first = static_cast<std::size_t>(part) * kPartBytes;
    std::memcpy(to + first, from + first, std::min(kPartBytes, bytes - first));
  }
}

}  // namespace

Uploads::Uploads(cudaStream_t ops) : ops_(ops) {
  check_cuda(cudaStreamCreateWithFlags(&copies_, cudaStreamNonBlocking), "cudaStreamCreate");
  for (cudaEvent_t* event : {&used_, &taken_}) {
    check_cuda(cudaEventCreateWithFlags(event, cudaEventDisableTiming), "cudaEventCreate");
  }
  for (Buffer& buffer : buffers_) {
    check_cuda(cudaEventCreateWithFlags(&buffer.copied, cudaEventDisableTiming), "cudaEventCreate");
  }
}

Uploads::~Uploads() {
  cudaStreamSynchronize(copies_);
  for (const Buffer& buffer : buffers_) {
    cudaEventDestroy(buffer.copied);
    if (buffer.bytes != nullptr) cudaFreeHost(buffer.bytes);
  }
  cudaEventDestroy(taken_);
  cudaEventDestroy(used_);
  cudaStreamDestroy(copies_);
}

void Uploads::upload(std::byte* to, const void* host, std::size_t bytes, const Staging* staging) {
  Buffer& buffer = next_buffer(bytes);
  copy(buffer.bytes, host, bytes);
  wait_for(staging != nullptr ? staging->users : Staging::Users::kOps);
  check_cuda(cudaMemcpyAsync(staging != nullptr ? staging->address : to, buffer.bytes, bytes,
                             cudaMemcpyHostToDevice, copies_),
             "cudaMemcpyAsync");
  check_cuda(cudaEventRecord(buffer.copied, copies_), "cudaEventRecord");
  check_cuda(cudaStreamWaitEvent(ops_, buffer.copied), "cudaStreamWaitEvent");
  if (staging == nullptr) return;
  check_cuda(cudaMemcpyAsync(to, staging->address, bytes, cudaMemcpyDeviceToDevice, ops_),
             "cudaMemcpyAsync");
  check_cuda(cudaEventRecord(taken_, ops_), "cudaEventRecord");
}

void Uploads::wait_for(Staging::Users users) {
  if (users == Staging::Users::kNone) return;
  if (users == Staging::Users::kOps) check_cuda(cudaEventRecord(used_, ops_), "cudaEventRecord");
  check_cuda(cudaStreamWaitEvent(copies_, users == Staging::Users::kOps ? used_ : taken_),
             "cudaStreamWaitEvent");
}

Uploads::Buffer& Uploads::next_buffer(std::size_t bytes) {
  Buffer& buffer = buffers_[next_];
  next_ = (next_ + 1) % buffers_.size();
  check_cuda(cudaEventSynchronize(buffer.copied), "cudaEventSynchronize");
  if (buffer.capacity_bytes >= bytes) return buffer;
  if (buffer.bytes != nullptr) cudaFreeHost(buffer.bytes);
  buffer.bytes = nullptr;
  buffer.capacity_bytes = 0;
  void* pinned = nullptr;
  check_cuda(cudaMallocHost(&pinned, bytes), "cudaMallocHost");
  buffer.bytes = static_cast<std::byte*>(pinned);
  buffer.capacity_bytes = bytes;
  return buffer;
}

}  // namespace skyline
