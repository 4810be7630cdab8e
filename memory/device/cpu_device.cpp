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
  const bool anywhere = alignment <= page_bytes();
  const std::size_t mapped_bytes = anywhere ? bytes : bytes + alignment;
  if (mapped_bytes < bytes) return nullptr;
  void* mapped = mmap(nullptr, mapped_bytes, protection, flags, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* first = static_cast<std::byte*>(mapped);
  if (anywhere) return first;
  const auto before = (alignment - reinterpret_cast<std::uintptr_t>(first) % alignment) % alignment;
  if (before > 0) munmap(first, before);
  if (before < alignment) munmap(first + before + bytes, alignment - before);
  return first + before;
}

constexpr int kReserved = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

// Maps `bytes`, whole pages, from the span or, where that is null, from the system.
std::byte* map_pages(AddressSpan* span, std::size_t bytes, std::size_t alignment, int protection) {
  if (span == nullptr) {
    const int flags = protection == PROT_NONE ? kReserved : MAP_PRIVATE | MAP_ANONYMOUS;
    return map_aligned(bytes, alignment, protection, flags);
  }
  std::byte* const first = span->take(bytes, alignment);
  if (first == nullptr || mprotect(first, bytes, protection) == 0) return first;
  span->give_back(first);
  return nullptr;
}

void unmap_pages(AddressSpan* span, std::byte* first, std::size_t bytes) noexcept {
  span == nullptr ? static_cast<void>(munmap(first, bytes)) : span->give_back(first);
}

class CpuRange final : public Range {
 public:
  // The caller adds base() to `pages`.
  CpuRange(DeviceAccount& account, OpenPages& pages, AddressSpan* span, std::size_t bytes)
      : account_(account),
        pages_(pages),
        span_(span),
        reserved_bytes_(align_up(bytes, kHugePageBytes)),
        base_(map_pages(span, reserved_bytes_, kHugePageBytes, PROT_NONE)) {
    if (base_ == nullptr) account_.refuse(bytes, refusing_limit(reserved_bytes_));
  }
  ~CpuRange() override {
    unmap_pages(span_, base_, reserved_bytes_);
    pages_.erase(base_);
    if (committed_bytes_ > 0) account_.give_back(committed_bytes_);
  }

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
  AddressSpan* span_;
  std::size_t reserved_bytes_;
  std::size_t committed_bytes_ = 0;
  std::byte* base_;
};

}  // namespace

AddressSpan::AddressSpan(std::size_t bytes)
    : base_(map_aligned(align_up(bytes, kHugePageBytes), kHugePageBytes, PROT_NONE, kReserved)),
      bytes_(base_ == nullptr ? 0 : align_up(bytes, kHugePageBytes)) {}

AddressSpan::~AddressSpan() { munmap(base_, bytes_); }

std::byte* AddressSpan::take(std::size_t bytes, std::size_t alignment) {
  const auto aligned = [&](std::byte* place) {
    return place + (align_up(reinterpret_cast<std::uintptr_t>(place), alignment) -
                    reinterpret_cast<std::uintptr_t>(place));
  };
  for (std::byte* const from : {behind_last_, base_}) {
    std::byte* first = aligned(from);
    auto next = taken_.upper_bound(from);
    if (next != taken_.begin()) --next;
    for (; next != taken_.end() && next->first < first + bytes; ++next) {
      first = std::max(first, aligned(next->first + next->second));
    }
    if (bytes > bytes_ || first > base_ + (bytes_ - bytes)) continue;
    taken_.emplace_hint(next, first, bytes);
    behind_last_ = first + bytes;
    return first;
  }
  return nullptr;
}

void AddressSpan::give_back(std::byte* first) noexcept {
  const auto piece = taken_.find(first);
  mmap(first, piece->second, PROT_NONE, kReserved | MAP_FIXED, -1, 0);
  taken_.erase(piece);
}

CpuDevice::CpuDevice(std::optional<std::size_t> capacity_bytes, const std::filesystem::path& root)
    : CpuDevice(capacity_bytes ? MachineMemory{*capacity_bytes, {}} : machine_memory(root),
                CgroupLimits(root)) {}

CpuDevice::CpuDevice(MachineMemory memory, CgroupLimits cgroups)
    : account_("cpu", memory.bytes,
               {.capacity = std::move(memory.limit), .cgroups = std::move(cgroups)}) {}

// A quarter is left for stacks of threads, batches, kernels and the pools; of a span, half for the
// pools.
std::size_t CpuDevice::address_bytes() const noexcept {
  if (span_ != nullptr) return span_->bytes() / 2;
  const std::optional<MemoryLimit> limit = address_limit();
  return limit ? limit->free_bytes() / 4 * 3 : Device::address_bytes();
}

std::byte* CpuDevice::allocate(std::size_t bytes) {
  account_.require(bytes);
  OpenPages row = {{nullptr, bytes}};  // made first: entering it must not fail
  const bool huge = bytes >= kHugePageBytes;
  const std::size_t mapped_bytes = align_up(bytes, page_bytes());
  std::byte* const address =
      map_pages(span_, mapped_bytes, huge ? kHugePageBytes : page_bytes(), PROT_READ | PROT_WRITE);
  if (huge && address != nullptr) madvise(address, mapped_bytes, MADV_HUGEPAGE);
  if (address == nullptr) account_.refuse(bytes, refusing_limit(bytes));
  auto node = row.extract(row.begin());
  node.key() = address;
  pages_.insert(std::move(node));
  account_.take(bytes);
  return address;
}

void CpuDevice::deallocate(std::byte* address, std::size_t bytes) noexcept {
  unmap_pages(span_, address, align_up(bytes, page_bytes()));
  pages_.erase(address);
  account_.give_back(bytes);
}

std::unique_ptr<Range> CpuDevice::reserve(std::size_t bytes) {
  auto range = std::make_unique<CpuRange>(account_, pages_, span_, bytes);
  pages_.emplace(range->base(), 0);
  return range;
}

std::size_t CpuDevice::resident_bytes() const {
  std::size_t sum = 0;
  for (const auto& [address, bytes] : pages_) sum += resident_bytes_of(address, bytes);
  return sum;
}

}  // namespace skyline
