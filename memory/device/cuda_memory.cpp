#include "memory/device/cuda_memory.h"

#include <fmt/core.h>

#include <map>
#include <stdexcept>
#include <string>

#include "memory/device/out_of_memory.h"

namespace skyline {
namespace {

constexpr unsigned kDriverVersion = 12000;  // selects the variants of the functions

template <typename Function>
void find(Function*& function, const char* name) {
  void* address = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion(name, &address, kDriverVersion, cudaEnableDefault, &found);
  if (error != cudaSuccess || found != cudaDriverEntryPointSuccess) {
    throw std::runtime_error(
        fmt::format("[--device cuda] the driver has no {}: it is too old", name));
  }
  function = reinterpret_cast<Function*>(address);
}

// A runtime works with drivers of its major version.
constexpr int kOldestDriver = CUDART_VERSION / 1000 * 1000;

std::string version(int number) { return fmt::format("{}.{}", number / 1000, number % 1000 / 10); }

CudaDriver load_driver() {
  require_cuda_device();
  const cudaError_t made = cudaFree(nullptr);  // creates the context that driver calls need
  if (made != cudaSuccess) {
    throw std::runtime_error(
        fmt::format("[--device cuda] the device cannot be used: {}", cudaGetErrorString(made)));
  }
  return CudaDriver();
}

struct CardBytes {
  std::size_t free = 0;
  std::size_t total = 0;
};

std::optional<CardBytes> card_bytes() {
  CardBytes bytes;
  if (cudaMemGetInfo(&bytes.free, &bytes.total) != cudaSuccess) return {};
  return bytes;
}

std::size_t usable_bytes() {
  const auto bytes = card_bytes();
  if (!bytes) throw std::runtime_error("[--device cuda] the card does not report its memory");
  if (bytes->free > kCudaReservedBytes) return bytes->free - kCudaReservedBytes;
  throw std::runtime_error(fmt::format(
      "[--device cuda] {} bytes of the card are free, expected more than the {} that the "
      "libraries' kernels may take",
      bytes->free, kCudaReservedBytes));
}

}  // namespace

CudaDriver::CudaDriver() {
  find(device_get_attribute, "cuDeviceGetAttribute");
  find(get_error_string, "cuGetErrorString");
  find(mem_address_free, "cuMemAddressFree");
  find(mem_address_reserve, "cuMemAddressReserve");
  find(mem_create, "cuMemCreate");
  find(mem_get_allocation_granularity, "cuMemGetAllocationGranularity");
  find(mem_map, "cuMemMap");
  find(mem_release, "cuMemRelease");
  find(mem_set_access, "cuMemSetAccess");
  find(mem_unmap, "cuMemUnmap");
  find(memset_d32, "cuMemsetD32");
}

void CudaDriver::check(CUresult result, const char* call) const {
  if (result == CUDA_SUCCESS) return;
  const char* reason = nullptr;
  get_error_string(result, &reason);
  throw std::runtime_error(
      fmt::format("[{}] {}", call, reason != nullptr ? reason : "unknown error"));
}

void require_cuda_device() {
  int devices = 0, driver = 0;
  const cudaError_t found = cudaGetDeviceCount(&devices);
  if (found == cudaSuccess && devices > 0) return;
  cudaDriverGetVersion(&driver);
  std::string reason = cudaGetErrorString(found == cudaSuccess ? cudaErrorNoDevice : found);
  if (found == cudaErrorInsufficientDriver) {
    reason = driver == 0 ? "no driver is installed"
                         : fmt::format("the driver is too old, got CUDA {}, expected {} or newer",
                                       version(driver), version(kOldestDriver));
  }
  throw std::runtime_error(fmt::format("[--device cuda] no CUDA device can be used: {}", reason));
}

CudaMemory::CudaMemory(std::optional<std::size_t> capacity_bytes)
    : driver_(load_driver()), account_("cuda", capacity_bytes ? *capacity_bytes : usable_bytes()) {}

int current_cuda_device() noexcept {
  int device = 0;
  cudaGetDevice(&device);
  return device;
}

cudaStream_t cuda_stream() {
  static std::map<int, cudaStream_t>& streams = *new std::map<int, cudaStream_t>;
  const auto [found, is_new] = streams.try_emplace(current_cuda_device(), nullptr);
  if (!is_new) return found->second;
  const cudaError_t made = cudaStreamCreateWithFlags(&found->second, cudaStreamNonBlocking);
  if (made == cudaSuccess) return found->second;
  streams.erase(found);
  throw std::runtime_error(
      fmt::format("[--device cuda] no stream can be made: {}", cudaGetErrorString(made)));
}

CUmemAllocationProp cuda_allocation_properties() noexcept {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = current_cuda_device();
  return properties;
}

bool CudaMemory::has_virtual_memory() const {
  int supported = 0;
  driver_.check(driver_.device_get_attribute(
                    &supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
                    current_cuda_device()),
                "cuDeviceGetAttribute");
  return supported != 0;
}

std::size_t CudaMemory::granularity_bytes() const {
  const CUmemAllocationProp properties = cuda_allocation_properties();
  std::size_t bytes = 0;
  driver_.check(
      driver_.mem_get_allocation_granularity(&bytes, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
      "cuMemGetAllocationGranularity");
  return bytes;
}

void CudaMemory::require(std::size_t bytes) const {
  const std::size_t capacity = account_.capacity_bytes();
  const std::size_t reserved = account_.statistics().reserved_bytes;  // a pool may exceed it
  if (reserved > capacity || bytes > capacity - reserved) refuse(bytes);
}

void CudaMemory::refuse(std::size_t bytes) const {
  OutOfMemoryFacts facts{.where = "cuda",
                         .shortage = Shortage::kDevice,
                         .requested_bytes = bytes,
                         .reserved_bytes = account_.statistics().reserved_bytes,
                         .capacity_bytes = account_.capacity_bytes()};
  if (const auto card = card_bytes()) {
    facts.card_free_bytes = card->free;
    const std::size_t used = card->total - card->free;
    const std::size_t ours = account_.statistics().reserved_bytes;
    facts.held_by_others_bytes = used > ours ? used - ours : 0;
  }
  throw OutOfMemory(std::move(facts));
}

}  // namespace skyline
