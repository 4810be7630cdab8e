#include "memory/device/cuda_device.h"

#include <cuda_runtime.h>
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "memory/alignment.h"
#include "memory/device/cuda_memory.h"

namespace skyline {
namespace {

// Throws std::runtime_error for a failure.
void check(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // or the next call reports it again
  throw std::runtime_error(fmt::format("[{}] {}", call, cudaGetErrorString(error)));
}

// False when memory is short. Throws std::runtime_error for any other failure.
bool has_succeeded(cudaError_t error, const char* call) {
  if (error != cudaErrorMemoryAllocation) check(error, call);
  if (error != cudaSuccess) cudaGetLastError();
  return error == cudaSuccess;
}

constexpr std::size_t kPieces = 128;  // of a range that grew at once, plus a few small ones

// Address space of the current CUDA device, mapped in pieces as it grows. Each piece costs driver
// time and can only be unmapped whole, so a piece is the card's smallest or 1/128 of the range: at
// most that much stays when the range shrinks. Unmapping waits for the device, because it is not
// ordered with enqueued work.
class CudaRange final : public Range {
 public:
  // `memory` outlives the range.
  CudaRange(CudaMemory& memory, std::size_t bytes);
  ~CudaRange() override;

  std::byte* base() const noexcept override { return reinterpret_cast<std::byte*>(base_); }
  std::size_t reserved_bytes() const noexcept override { return reserved_bytes_; }
  std::size_t committed_bytes() const noexcept override { return committed_bytes_; }
  void commit(std::size_t bytes) override;

 private:
  void grow(std::size_t bytes);
  void shrink(std::size_t bytes) noexcept;
  CUresult map_piece(CUdeviceptr address, std::size_t bytes);
  void unmap_last(std::size_t& end_bytes) noexcept;
  CUresult open(CUdeviceptr first, std::size_t bytes);

  CudaMemory& memory_;
  std::size_t unit_bytes_;  // the card's granularity
  std::size_t reserved_bytes_;
  std::size_t committed_bytes_ = 0;
  std::vector<std::size_t> pieces_;  // bytes of each
  CUdeviceptr base_ = 0;
};

CudaRange::CudaRange(CudaMemory& memory, std::size_t bytes)
    : memory_(memory),
      unit_bytes_(memory.granularity_bytes()),
      reserved_bytes_(align_up(bytes, unit_bytes_)) {
  const CudaDriver& driver = memory_.driver();
  const CUresult result = driver.mem_address_reserve(&base_, reserved_bytes_,
                                                     std::max(unit_bytes_, kHugePageBytes), 0, 0);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) memory_.refuse(bytes);
  driver.check(result, "cuMemAddressReserve");
}

CudaRange::~CudaRange() {
  if (committed_bytes_ > 0) shrink(committed_bytes_);
  memory_.driver().mem_address_free(base_, reserved_bytes_);
}

void CudaRange::commit(std::size_t bytes) {
  if (bytes > reserved_bytes_) memory_.account().refuse_range(bytes, reserved_bytes_);
  const std::size_t wanted_bytes = align_up(bytes, unit_bytes_);
  if (wanted_bytes > committed_bytes_) grow(wanted_bytes - committed_bytes_);
  if (wanted_bytes < committed_bytes_) shrink(committed_bytes_ - wanted_bytes);
}

void CudaRange::grow(std::size_t bytes) {
  memory_.require(bytes);
  const std::size_t wanted_bytes = committed_bytes_ + bytes;
  const std::size_t most_bytes = std::max(unit_bytes_, wanted_bytes / kPieces);
  pieces_.reserve(pieces_.size() + std::min(bytes / unit_bytes_, 3 * kPieces));
  CUresult result = CUDA_SUCCESS;
  std::size_t end_bytes = committed_bytes_;
  while (end_bytes < wanted_bytes) {
    const std::size_t piece_bytes = std::bit_floor(std::min(most_bytes, wanted_bytes - end_bytes));
    result = map_piece(base_ + end_bytes, piece_bytes);
    if (result != CUDA_SUCCESS) break;
    pieces_.push_back(piece_bytes);
    end_bytes += piece_bytes;
  }
  if (result == CUDA_SUCCESS) result = open(base_ + committed_bytes_, bytes);
  if (result != CUDA_SUCCESS) {
    while (end_bytes > committed_bytes_) unmap_last(end_bytes);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) memory_.refuse(bytes);
    memory_.driver().check(result, "cuMemCreate, cuMemMap or cuMemSetAccess");
  }
  memory_.account().take(bytes);
  committed_bytes_ = wanted_bytes;
}

// A released handle stays valid as long as its mapping.
CUresult CudaRange::map_piece(CUdeviceptr address, std::size_t bytes) {
  const CudaDriver& driver = memory_.driver();
  const CUmemAllocationProp properties = cuda_allocation_properties();
  CUmemGenericAllocationHandle handle = 0;
  const CUresult created = driver.mem_create(&handle, bytes, &properties, 0);
  if (created != CUDA_SUCCESS) return created;
  const CUresult mapped = driver.mem_map(address, bytes, 0, handle, 0);
  driver.mem_release(handle);
  return mapped;
}

CUresult CudaRange::open(CUdeviceptr first, std::size_t bytes) {
  CUmemAccessDesc access = {};
  access.location = cuda_allocation_properties().location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return memory_.driver().mem_set_access(first, bytes, &access, 1);
}

// The driver only unmaps whole mappings.
void CudaRange::unmap_last(std::size_t& end_bytes) noexcept {
  end_bytes -= pieces_.back();
  memory_.driver().mem_unmap(base_ + end_bytes, pieces_.back());
  pieces_.pop_back();
}

void CudaRange::shrink(std::size_t bytes) noexcept {
  const std::size_t before_bytes = committed_bytes_, wanted_bytes = committed_bytes_ - bytes;
  cudaDeviceSynchronize();
  while (!pieces_.empty() && committed_bytes_ - pieces_.back() >= wanted_bytes) {
    unmap_last(committed_bytes_);
  }
  if (committed_bytes_ < before_bytes) {
    memory_.account().give_back(before_bytes - committed_bytes_);
  }
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

// cudaMallocFromPoolAsync and cudaFreeAsync on its own pool, in the order of cuda_stream(). The
// pool keeps its memory, as in PyTorch's backend of that name; its growth counts as reserved.
class CudaStreamPool final : public StreamPool {
 public:
  // `memory` outlives the pool. Throws std::runtime_error when the driver has no pools.
  explicit CudaStreamPool(CudaMemory& memory);
  ~CudaStreamPool() override;

  std::byte* allocate(std::size_t bytes) override;
  void deallocate(std::byte* address) noexcept override;
  std::size_t reserved_bytes() const noexcept override { return reserved_bytes_; }
  void release() noexcept override;

 private:
  void observe_reserved() noexcept;

  CudaMemory& memory_;
  cudaStream_t stream_;
  cudaMemPool_t pool_ = nullptr;
  std::size_t reserved_bytes_ = 0;
};

CudaStreamPool::CudaStreamPool(CudaMemory& memory) : memory_(memory), stream_(cuda_stream()) {
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = current_cuda_device();
  check(cudaMemPoolCreate(&pool_, &properties), "cudaMemPoolCreate");
  std::uint64_t keep_all = UINT64_MAX;
  check(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep_all),
        "cudaMemPoolSetAttribute");
}

CudaStreamPool::~CudaStreamPool() {
  release();
  cudaMemPoolDestroy(pool_);
}

std::byte* CudaStreamPool::allocate(std::size_t bytes) {
  void* address = nullptr;
  const cudaError_t error = cudaMallocFromPoolAsync(&address, bytes, pool_, stream_);
  if (!has_succeeded(error, "cudaMallocFromPoolAsync")) memory_.refuse(bytes);
  observe_reserved();
  if (reserved_bytes_ > memory_.account().capacity_bytes()) {
    deallocate(static_cast<std::byte*>(address));
    release();
    memory_.refuse(bytes);
  }
  return static_cast<std::byte*>(address);
}

// Reserved bytes do not change: the pool keeps its memory.
void CudaStreamPool::deallocate(std::byte* address) noexcept { cudaFreeAsync(address, stream_); }

void CudaStreamPool::release() noexcept {
  cudaStreamSynchronize(stream_);
  cudaMemPoolTrimTo(pool_, 0);
  observe_reserved();
}

void CudaStreamPool::observe_reserved() noexcept {
  std::uint64_t now = reserved_bytes_;
  cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemCurrent, &now);
  if (now > reserved_bytes_) memory_.account().take(now - reserved_bytes_);
  if (now < reserved_bytes_) memory_.account().give_back(reserved_bytes_ - now);
  reserved_bytes_ = now;
}

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
