#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace skyline {

class CudaCompute;
class Kernel;
struct CpuLanes;
struct EngineChoices;
struct KernelArguments;

// How CPU kernels choose the engines of convolutions.
struct CpuOptions {
  enum class Engines { kByShape, kDirect, kMeasured };
  Engines engines = Engines::kByShape;  // for those that `choices` does not name
  // Engines are read from here, and measured ones are added. Must outlive the compute object; null:
  // it has its own.
  EngineChoices* choices = nullptr;
  std::size_t lanes = 1;  // on which ops run at the same time
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

// How a device was told to run ops, so far.
struct Launches {
  std::uint64_t ops = 0;     // one by one
  std::uint64_t graphs = 0;  // that hold many ops
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
  // Returns the lanes that ops are enqueued on; null if ops run at once, one after another.
  virtual CpuLanes* lanes() noexcept { return nullptr; }

  // Runs a kernel. The addresses stay valid until the kernel is done; the spans need not. May hold
  // it back until flush() or another function of this class is called.
  virtual void run(const std::shared_ptr<Kernel>& kernel, const KernelArguments& arguments);
  // True if run() knows an op that returns by its kernel, so that equal ops should bring the same.
  virtual bool knows_kernels() const noexcept { return false; }
  // Enqueues what run() holds back.
  virtual void flush() {}
  // True if run() holds kernels back, or if other threads run them.
  virtual bool defers() const noexcept { return false; }
  // Waits until all kernels are done. Leaves errors to wait() and read().
  virtual void finish() noexcept {}
  virtual Launches launches() const noexcept { return {}; }

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
  CpuLanes* lanes() noexcept override { return lanes_.get(); }
  bool defers() const noexcept override { return lanes_ != nullptr; }
  void finish() noexcept override;
  // These wait for all ops. read() and wait() throw the first error of an op.
  void write(std::byte* to, const void* host, std::size_t bytes) override;
  void read(void* host, const std::byte* from, std::size_t bytes) override;
  void zero(std::byte* to, std::size_t bytes) override;
  void wait() override;

 private:
  std::unique_ptr<EngineChoices> own_choices_;  // null if others were given
  CpuOptions options_;
  std::unique_ptr<CpuLanes> lanes_;  // null with one lane
};

}  // namespace skyline
