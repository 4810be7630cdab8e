#pragma once

#include <algorithm>
#include <optional>

#include "memory/alignment.h"
#include "memory/allocator.h"

namespace skyline {

// Keeps an allocator's Statistics. Counters change only after success.
class Account {
 public:
  void served(std::size_t requested_bytes, std::size_t allocated_bytes) noexcept {
    ++now_.requests;
    raise(now_.requested_bytes, now_.peak_requested_bytes, requested_bytes);
    raise(now_.rounded_bytes, now_.peak_rounded_bytes, align_request(requested_bytes));
    raise(now_.allocated_bytes, now_.peak_allocated_bytes, allocated_bytes);
  }
  void released(std::size_t requested_bytes, std::size_t allocated_bytes) noexcept {
    ++now_.releases;
    now_.requested_bytes -= requested_bytes;
    now_.rounded_bytes -= align_request(requested_bytes);
    now_.allocated_bytes -= allocated_bytes;
  }
  void taken_from_device(std::size_t bytes) noexcept {
    ++now_.device_allocations;
    raise(now_.reserved_bytes, now_.peak_reserved_bytes, bytes);
  }
  void given_to_device(std::size_t bytes) noexcept {
    ++now_.device_frees;
    now_.reserved_bytes -= bytes;
  }
  void flushed() noexcept { ++now_.flushes; }
  // Peaks count from now on.
  void restart_peaks() noexcept {
    now_.peak_requested_bytes = now_.requested_bytes;
    now_.peak_rounded_bytes = now_.rounded_bytes;
    now_.peak_allocated_bytes = now_.allocated_bytes;
    now_.peak_reserved_bytes = now_.reserved_bytes;
  }
  // Counts a refusal and throws it in the name of `where`, with the device's facts and these.
  [[noreturn]] void refuse(OutOfMemoryFacts device_facts, std::string_view where,
                           std::size_t requested_bytes, const Tag& tag,
                           std::optional<std::size_t> largest_free_block_bytes);

  // The allocator fills in the largest free block.
  const Statistics& now() const noexcept { return now_; }

 private:
  static void raise(std::size_t& bytes, std::size_t& peak_bytes, std::size_t more_bytes) noexcept {
    bytes += more_bytes;
    peak_bytes = std::max(peak_bytes, bytes);
  }

  Statistics now_;
};

}  // namespace skyline
