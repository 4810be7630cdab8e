#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace skyline {

class CudaCompute;
class Runner;
struct EngineChoices;

// How CPU kernels choose the engines of convolutions.
struct CpuOptions {
  enum class Engines { kByShape, kDirect, kMeasured };
  Engines engines = Engines::kByShape;  // for those that `choices` does not name
  // Engines are read from here, and measured ones are added. Must outlive the compute object; null:
  // it has its own.
  EngineChoices* choices = nullptr;
  std::size_t lanes = 1;        // on which ops run at the same time
  std::int64_t batch_size = 0;  // of which a kernel computes a round; 0: the batch is the kernel's
  // A lane that has waited for about as long sleeps, and takes as long to wake up.
  double wake_seconds = 100e-6;
  bool lanes_must_pay = true;  // where they do not, steps go back to one lane; see LaneTrial
};

// Device memory that an upload passes through, and what may still use it.
struct Staging {
  enum class Users { kNone, kUploads, kOps };  // kUploads: only uploads staged here before
  std::byte* address;
  Users users;
};

// A device that runs ops and exchanges bytes with the host. Ops are enqueued: only read() and
// wait() wait for them.
class Compute {
 public:
  virtual ~Compute() = default;

  // Returns what CUDA kernels are made with; null on the CPU.
  virtual CudaCompute* cuda() noexcept { return nullptr; }
  // Returns what CPU kernels are made with.
  virtual CpuOptions cpu() const noexcept { return {}; }
  // Returns who runs the ops. The functions below go after all ops that it holds back.
  virtual Runner& runner() noexcept = 0;

  // Copies `bytes` from the host. `host` may be reused at once.
  virtual void write(std::byte* to, const void* host, std::size_t bytes) = 0;
  // Like write(), for the inputs of a step. May run while the host goes on, after everything
  // enqueued before and before everything enqueued later. With `staging` (null: none) the copy from
  // the host to staging does not wait for earlier ops; only the copy from there to `to` does.
  virtual void upload(std::byte* to, const void* host, std::size_t bytes, const Staging*) {
    write(to, host, bytes);
  }
  // Copies `bytes` to the host, after everything enqueued before.
  virtual void read(void* host, const std::byte* from, std::size_t bytes) = 0;
  virtual void zero(std::byte* to, std::size_t bytes) = 0;
  // Waits until everything enqueued is done.
  virtual void wait() = 0;
};

class CpuCompute final : public Compute {
 public:
  explicit CpuCompute(CpuOptions options = {});
  ~CpuCompute() override;
  CpuOptions cpu() const noexcept override { return options_; }
  Runner& runner() noexcept override { return *runner_; }
  // These wait for all ops. read() and wait() throw the first error of an op.
  void write(std::byte* to, const void* host, std::size_t bytes) override;
  void read(void* host, const std::byte* from, std::size_t bytes) override;
  void zero(std::byte* to, std::size_t bytes) override;
  void wait() override;

 private:
  std::unique_ptr<EngineChoices> own_choices_;  // null if others were given
  CpuOptions options_;
  std::unique_ptr<Runner> runner_;
};

}  // namespace skyline
