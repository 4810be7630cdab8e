#include "memory/device/cuda_device.h"

#include <cuda_runtime.h>
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "memory/alignment.h"
#include "memory/device/cuda_memory.h"
#include "memory/device/cuda_range.h"
#include "memory/device/cuda_stream_pool.h"

namespace skyline {
namespace {

// False when memory is short. Throws std::runtime_error for any other failure.
bool has_succeeded(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return true;
  cudaGetLastError();  // or the next call reports it again
  if (error == cudaErrorMemoryAllocation) return false;
  throw std::runtime_error(fmt::format("[{}] {}", call, cudaGetErrorString(error)));
}

// Address space with all its memory, for cards without virtual memory management.
class PlainRange final : public Range {
 public:
  PlainRange(Device& device, CudaMemory& memory, std::size_t bytes)
      : device_(device),
        memory_(memory),
        reserved_bytes_(align_up(bytes, kCudaCommitBytes)),
        base_(device.allocate(reserved_bytes_)) {}
  ~PlainRange() override { device_.deallocate(base_, reserved_bytes_); }
  PlainRange(const PlainRange&) = delete;
  PlainRange& operator=(const PlainRange&) = delete;

  std::byte* base() const noexcept override { return base_; }
  std::size_t reserved_bytes() const noexcept override { return reserved_bytes_; }
  std::size_t committed_bytes() const noexcept override { return committed_bytes_; }
  void commit(std::size_t bytes) override {
    if (bytes > reserved_bytes_) memory_.account().refuse_range(bytes, reserved_bytes_);
    committed_bytes_ = align_up(bytes, kCudaCommitBytes);
  }

 private:
  Device& device_;
  CudaMemory& memory_;
  std::size_t reserved_bytes_, committed_bytes_ = 0;
  std::byte* base_;
};

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(std::optional<std::size_t> capacity_bytes) : memory_(capacity_bytes) {}

  std::string_view name() const noexcept override { return "cuda"; }
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
  std::size_t address_bytes() const noexcept override {
    if (has_virtual_memory_) return Device::address_bytes();
    return (capacity_bytes() - std::min(capacity_bytes(), statistics().reserved_bytes)) / 2;
  }
  std::unique_ptr<Range> reserve(std::size_t bytes) override {
    if (!has_virtual_memory_) return std::make_unique<PlainRange>(*this, memory_, bytes);
    return std::make_unique<CudaRange>(memory_, bytes);
  }
  std::unique_ptr<StreamPool> stream_pool() override {
    return std::make_unique<CudaStreamPool>(memory_);
  }

  // The driver fills aligned words only, and guards start at any address.
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

 private:
  CudaMemory memory_;
  const bool has_virtual_memory_ = memory_.has_virtual_memory();
};

}  // namespace

std::unique_ptr<Device> make_cuda_device(std::optional<std::size_t> capacity_bytes) {
  return std::make_unique<CudaDevice>(capacity_bytes);
}

}  // namespace skyline
