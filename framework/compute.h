#pragma once

#include <cstddef>

namespace skyline {

class CudaCompute;

// Memory of the device that an upload passes through, and what may still use it.
struct Staging {
  enum class Users { kNone, kUploads, kOps };  // kUploads: none but those staged here before
  std::byte* address;
  Users users;
};

// Where ops run, and how bytes cross between the host and that place. Ops are enqueued: only read()
// and wait() wait for them.
class Compute {
 public:
  virtual ~Compute() = default;

  // What CUDA kernels are made with; null on the CPU.
  virtual CudaCompute* cuda() noexcept { return nullptr; }

  // Copies `bytes` from the host. `host` may be reused at once.
  virtual void write(std::byte* to, const void* host, std::size_t bytes) = 0;
  // As write(), for the inputs of a step: may go on while the host does, after all that was
  // enqueued before and before all that is enqueued later. With `staging` (null: none) the way from
  // the host does not wait for what was enqueued before, only the way from there to `to` does.
  virtual void upload(std::byte* to, const void* host, std::size_t bytes, const Staging*) {
    write(to, host, bytes);
  }
  // Copies `bytes` to the host, after all that was enqueued before.
  virtual void read(void* host, const std::byte* from, std::size_t bytes) = 0;
  virtual void zero(std::byte* to, std::size_t bytes) = 0;
  // Until all that was enqueued is done.
  virtual void wait() = 0;
};

class CpuCompute final : public Compute {
 public:
  void write(std::byte* to, const void* host, std::size_t bytes) override;
  void read(void* host, const std::byte* from, std::size_t bytes) override;
  void zero(std::byte* to, std::size_t bytes) override;
  void wait() override {}
};

}  // namespace skyline
