#include "memory/device/cpu_device.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "memory/device/out_of_memory.h"
#include "memory/machine/process_memory.h"

namespace skyline {
namespace {

std::size_t page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

// Maps `bytes` at a multiple of `alignment`; null on failure. The kernel only aligns to pages, so
// it maps more and cuts off the rest.
std::byte* map_aligned(std::size_t bytes, std::size_t alignment, int protection, int flags) {
  const std::size_t mapped_bytes = bytes + alignment;
  if (mapped_bytes < bytes) return nullptr;
  void* mapped = mmap(nullptr, mapped_bytes, protection, flags, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* first = static_cast<std::byte*>(mapped);
  const auto before = (alignment - reinterpret_cast<std::uintptr_t>(first) % alignment) % alignment;
  if (before > 0) munmap(first, before);
  if (before < alignment) munmap(first + before + bytes, alignment - before);
  return first + before;
}

class CpuRange final : public Range {
 public:
  // The caller adds base() to `pages`.
  CpuRange(DeviceAccount& account, OpenPages& pages, std::size_t bytes)
      : account_(account),
        pages_(pages),
        reserved_bytes_(align_up(bytes, kHugePageBytes)),
        base_(map_aligned(reserved_bytes_, kHugePageBytes, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)) {
    if (base_ == nullptr) account_.refuse(bytes, refusing_limit(reserved_bytes_));
  }
  ~CpuRange() override {
    munmap(base_, reserved_bytes_);
    pages_.erase(base_);
    if (committed_bytes_ > 0) account_.give_back(committed_bytes_);
  }
  CpuRange(const CpuRange&) = delete;
  CpuRange& operator=(const CpuRange&) = delete;

  std::byte* base() const noexcept override { return base_; }
  std::size_t reserved_bytes() const noexcept override { return reserved_bytes_; }
  std::size_t committed_bytes() const noexcept override { return committed_bytes_; }

  void commit(std::size_t bytes) override {
    if (bytes > reserved_bytes_) account_.refuse_range(bytes, reserved_bytes_, address_limit());
    const std::size_t wanted_bytes = align_up(bytes, std::max(kCommitBytes, page_bytes()));
    if (wanted_bytes > committed_bytes_) grow(wanted_bytes - committed_bytes_);
    if (wanted_bytes < committed_bytes_) shrink(committed_bytes_ - wanted_bytes);
    pages_.at(base_) = committed_bytes_;
  }

 private:
  void grow(std::size_t bytes) {
    account_.require(bytes);
    std::byte* first = base_ + committed_bytes_;
    if (mprotect(first, bytes, PROT_READ | PROT_WRITE) != 0) {
      account_.refuse(bytes, refusing_limit(bytes));
    }
    madvise(first, bytes, MADV_HUGEPAGE);  // advice only
    account_.take(bytes);
    committed_bytes_ += bytes;
  }

  void shrink(std::size_t bytes) {
    std::byte* first = base_ + committed_bytes_ - bytes;
    madvise(first, bytes, MADV_DONTNEED);  // returns the pages now
    mprotect(first, bytes, PROT_NONE);
    account_.give_back(bytes);
    committed_bytes_ -= bytes;
  }

  DeviceAccount& account_;
  OpenPages& pages_;
  std::size_t reserved_bytes_;
  std::size_t committed_bytes_ = 0;
  std::byte* base_;
};

}  // namespace

CpuDevice::CpuDevice(std::optional<std::size_t> capacity_bytes, const std::filesystem::path& root)
    : CpuDevice(capacity_bytes ? MachineMemory{*capacity_bytes, {}} : machine_memory(root),
                CgroupLimits(root)) {}

CpuDevice::CpuDevice(MachineMemory memory, CgroupLimits cgroups)
    : account_("cpu", memory.bytes,
               {.capacity = std::move(memory.limit), .cgroups = std::move(cgroups)}) {}

// A quarter is left for stacks of threads, batches, kernels and the pools.
std::size_t CpuDevice::address_bytes() const noexcept {
  const std::optional<MemoryLimit> limit = address_limit();
  return limit ? limit->free_bytes() / 4 * 3 : Device::address_bytes();
}

std::byte* CpuDevice::allocate(std::size_t bytes) {
  account_.require(bytes);
  OpenPages row = {{nullptr, bytes}};  // made first: entering it must not fail
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS;
  std::byte* address = nullptr;
  if (bytes >= kHugePageBytes) {
    const std::size_t mapped_bytes = align_up(bytes, page_bytes());
    address = map_aligned(mapped_bytes, kHugePageBytes, PROT_READ | PROT_WRITE, kFlags);
    if (address != nullptr) madvise(address, mapped_bytes, MADV_HUGEPAGE);
  } else {
    void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kFlags, -1, 0);
    if (mapped != MAP_FAILED) address = static_cast<std::byte*>(mapped);
  }
  if (address == nullptr) account_.refuse(bytes, refusing_limit(bytes));
  auto node = row.extract(row.begin());
  node.key() = address;
  pages_.insert(std::move(node));
  account_.take(bytes);
  return address;
}

void CpuDevice::deallocate(std::byte* address, std::size_t bytes) noexcept {
  munmap(address, bytes);
  pages_.erase(address);
  account_.give_back(bytes);
}

std::unique_ptr<Range> CpuDevice::reserve(std::size_t bytes) {
  auto range = std::make_unique<CpuRange>(account_, pages_, bytes);
  pages_.emplace(range->base(), 0);
  return range;
}

std::size_t CpuDevice::resident_bytes() const {
  std::size_t sum = 0;
  for (const auto& [address, bytes] : pages_) sum += resident_bytes_of(address, bytes);
  return sum;
}

}  // namespace skyline
