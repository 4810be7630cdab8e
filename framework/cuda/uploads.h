#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstddef>

#include "framework/compute.h"

namespace skyline {

// Copies from the host on a stream of its own, through two pinned buffers in turn:
//
//   host    waits until the buffer's last copy is done, fills it and goes on
//   copies  wait for the ops enqueued before, which may still use the destination
//   ops     enqueued later wait for the copy
//
// So the host fills one buffer while the other is copied or waits for the device. A staged upload
// is copied to its staging memory while earlier ops still run:
//
//   copies  wait until the previous content of the staging memory has been taken
//   ops     enqueued later wait for the copy and move the bytes to their destination
//
// Pinned memory grows to the two largest uploads. Throws CudaError.
class Uploads {
 public:
  // `ops` is the stream of everything that reads uploads.
  explicit Uploads(cudaStream_t ops);
  ~Uploads();  // waits for the copies
  Uploads(const Uploads&) = delete;
  Uploads& operator=(const Uploads&) = delete;

  // `host` may be reused at once.
  void upload(std::byte* to, const void* host, std::size_t bytes, const Staging* staging);

 private:
  struct Buffer {
    std::byte* bytes = nullptr;
    std::size_t capacity_bytes = 0;
    cudaEvent_t copied = nullptr;  // its last copy is done
  };
  Buffer& next_buffer(std::size_t bytes);
  void wait_for(Staging::Users users);

  cudaStream_t ops_;
  cudaStream_t copies_ = nullptr;
  cudaEvent_t used_ = nullptr;   // earlier ops no longer use the destination
  cudaEvent_t taken_ = nullptr;  // the last staged bytes were taken
  std::array<Buffer, 2> buffers_;
  std::size_t next_ = 0;
};

}  // namespace skyline
