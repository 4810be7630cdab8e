#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstddef>

#include "framework/compute.h"

namespace skyline {

// Copies from the host on a stream of their own, through two pinned buffers in turn:
//
//   host    waits until the buffer's last copy is done, fills it, and goes on
//   copies  wait until the ops enqueued before, which may still use the bytes written to, are done
//   ops     enqueued later wait for the copy
//
// So the host fills one buffer while the other is copied or still waits for the device. A staged
// upload is copied to its staging while those ops still run:
//
//   copies  wait until what was staged there before has been taken
//   ops     enqueued later wait for the copy, and take the bytes from there to where they belong
//
// Pinned memory grows to the largest two uploads. Throws CudaError.
class Uploads {
 public:
  // `ops` is the stream of all that reads what is uploaded.
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
    cudaEvent_t copied = nullptr;  // of the last copy from here
  };
  Buffer& next_buffer(std::size_t bytes);
  void wait_for(Staging::Users users);

  cudaStream_t ops_;
  cudaStream_t copies_ = nullptr;
  cudaEvent_t used_ = nullptr;   // by the ops enqueued before
  cudaEvent_t taken_ = nullptr;  // from staging, what was staged last
  std::array<Buffer, 2> buffers_;
  std::size_t next_ = 0;
};

}  // namespace skyline
