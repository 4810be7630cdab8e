#include "memory/device/cuda_device.h"

#include <cuda_runtime.h>
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "memory/device/cuda_memory.h"
#include "memory/device/cuda_range.h"
#include "memory/device/cuda_stream_pool.h"

namespace skyline {
namespace {

// Success, or false for want of memory. Throws std::runtime_error for anything else.
bool has_succeeded(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return true;
  cudaGetLastError();  // else the next call would report it again
  if (error == cudaErrorMemoryAllocation) return false;
  throw std::runtime_error(fmt::format("[{}] {}", call, cudaGetErrorString(error)));
}

class CudaDevice : public Device {
 public:
  CudaDevice(const char* name, std::optional<std::size_t> capacity_bytes)
      : name_(name), memory_(name, capacity_bytes) {}

  std::string_view name() const noexcept override { return name_; }
  bool has_memory() const noexcept override { return true; }
  std::size_t capacity_bytes() const noexcept override {
    return memory_.account().capacity_bytes();
  }
  DeviceStatistics statistics() const noexcept override { return memory_.account().statistics(); }

  std::byte* allocate(std::size_t bytes) override {
    memory_.require(bytes);
    void* address = nullptr;
    if (!has_succeeded(cudaMalloc(&address, bytes), "cudaMalloc")) memory_.refuse(bytes);
    memory_.account().take(bytes);
    return static_cast<std::byte*>(address);
  }
  void deallocate(std::byte* address, std::size_t bytes) noexcept override {
    cudaFree(address);
    memory_.account().give_back(bytes);
  }
  std::unique_ptr<Range> reserve(std::size_t bytes) override {
    return std::make_unique<CudaRange>(memory_, bytes);
  }
  std::unique_ptr<StreamPool> stream_pool() override {
    return std::make_unique<CudaStreamPool>(memory_);
  }

  // The driver fills whole words at addresses of words only; guards start where a block ends.
  void fill(std::byte* to, std::size_t bytes, std::uint32_t pattern) noexcept override {
    constexpr std::size_t kWordBytes = sizeof(pattern);
    const auto address = reinterpret_cast<CUdeviceptr>(to);
    const std::size_t head_bytes = std::min<std::size_t>(-address % kWordBytes, bytes);
    const std::size_t words = (bytes - head_bytes) / kWordBytes;
    const std::size_t tail_bytes = (bytes - head_bytes) % kWordBytes;
    const std::uint32_t word = std::rotr(pattern, 8 * static_cast<int>(head_bytes));
    cudaDeviceSynchronize();
    if (head_bytes > 0) cudaMemcpy(to, &pattern, head_bytes, cudaMemcpyHostToDevice);
    if (words > 0) memory_.driver().memset_d32(address + head_bytes, word, words);
    if (tail_bytes > 0) {
      cudaMemcpy(to + bytes - tail_bytes, &word, tail_bytes, cudaMemcpyHostToDevice);
    }
    cudaDeviceSynchronize();
  }
  void read(void* host, const std::byte* from, std::size_t bytes) const noexcept override {
    cudaDeviceSynchronize();
    cudaMemcpy(host, from, bytes, cudaMemcpyDeviceToHost);
  }

 protected:
  CudaMemory& memory() noexcept { return memory_; }

 private:
  const char* name_;
  CudaMemory memory_;
};

constexpr const char* kManaged = "cuda-managed";

// Managed memory that is asked for, touched or not: with the capacity's worth of it nothing is ever
// moved out.
class ManagedMemory {
 public:
  ManagedMemory(CudaMemory& memory, std::size_t bytes) : memory_(memory), asked_(kManaged, bytes) {}

  CudaMemory& memory() noexcept { return memory_; }
  std::size_t left_bytes() const noexcept {
    return asked_.capacity_bytes() - asked_.statistics().reserved_bytes;
  }
  std::byte* take(std::size_t bytes) {
    void* address = nullptr;
    if (bytes > left_bytes() ||
        !has_succeeded(cudaMallocManaged(&address, bytes), "cudaMallocManaged")) {
      memory_.refuse(bytes);
    }
    asked_.take(bytes);
    return static_cast<std::byte*>(address);
  }
  void give_back(std::byte* address, std::size_t bytes) noexcept {
    cudaFree(address);
    asked_.give_back(bytes);
  }

 private:
  CudaMemory& memory_;
  DeviceAccount asked_;
};

// Pages come when they are touched and stay until the range goes. A range asks for at most half of
// what is left, so that there is something to allocate beside it.
class ManagedRange final : public Range {
 public:
  ManagedRange(ManagedMemory& managed, std::size_t bytes)
      : managed_(managed),
        reserved_bytes_(std::min(align_up(bytes, kHugePageBytes), most_bytes(managed))),
        base_(managed.take(reserved_bytes_)) {}
  ~ManagedRange() override {
    managed_.give_back(base_, reserved_bytes_);
    if (committed_bytes_ > 0) managed_.memory().account().give_back(committed_bytes_);
  }
  ManagedRange(const ManagedRange&) = delete;
  ManagedRange& operator=(const ManagedRange&) = delete;

  std::byte* base() const noexcept override { return base_; }
  std::size_t reserved_bytes() const noexcept override { return reserved_bytes_; }
  std::size_t committed_bytes() const noexcept override { return committed_bytes_; }

  void commit(std::size_t bytes) override {
    DeviceAccount& account = managed_.memory().account();
    if (bytes > reserved_bytes_) account.refuse_range(bytes, reserved_bytes_);
    const std::size_t wanted_bytes = align_up(bytes, kCommitBytes);
    if (wanted_bytes > committed_bytes_) {
      managed_.memory().require(wanted_bytes - committed_bytes_);
      account.take(wanted_bytes - committed_bytes_);
    } else if (wanted_bytes < committed_bytes_) {
      account.give_back(committed_bytes_ - wanted_bytes);
    }
    committed_bytes_ = wanted_bytes;
  }

 private:
  static std::size_t most_bytes(const ManagedMemory& managed) noexcept {
    const std::size_t half_bytes = managed.left_bytes() / 2;
    return std::max(kHugePageBytes, half_bytes - half_bytes % kHugePageBytes);
  }

  ManagedMemory& managed_;
  std::size_t reserved_bytes_;
  std::size_t committed_bytes_ = 0;
  std::byte* base_;
};

class CudaManagedDevice final : public CudaDevice {
 public:
  explicit CudaManagedDevice(std::size_t capacity_bytes)
      : CudaDevice(kManaged, capacity_bytes), managed_(memory(), capacity_bytes) {}

  std::byte* allocate(std::size_t bytes) override {
    memory().require(bytes);
    std::byte* address = managed_.take(bytes);
    memory().account().take(bytes);
    return address;
  }
  void deallocate(std::byte* address, std::size_t bytes) noexcept override {
    managed_.give_back(address, bytes);
    memory().account().give_back(bytes);
  }
  std::unique_ptr<Range> reserve(std::size_t bytes) override {
    return std::make_unique<ManagedRange>(managed_, bytes);
  }
  std::unique_ptr<StreamPool> stream_pool() override { return Device::stream_pool(); }

 private:
  ManagedMemory managed_;
};

}  // namespace

std::unique_ptr<Device> make_cuda_device(std::optional<std::size_t> capacity_bytes) {
  return std::make_unique<CudaDevice>("cuda", capacity_bytes);
}

std::unique_ptr<Device> make_cuda_managed_device(std::optional<std::size_t> capacity_bytes) {
  CudaMemory(kManaged, capacity_bytes);  // the errors of a device that cannot be used
  std::size_t free_bytes = 0, total_bytes = 0;
  has_succeeded(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
  return std::make_unique<CudaManagedDevice>(
      std::min(capacity_bytes.value_or(free_bytes), free_bytes));
}

}  // namespace skyline
