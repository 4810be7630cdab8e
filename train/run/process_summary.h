#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "memory/machine/process_memory.h"
#include "train/cli/figures.h"
#include "train/run/model_run.h"

namespace skyline {

// The resident set of this process beside the bytes that its devices reserve. In bytes.
struct ProcessSummary {
  ProcessMemory process;
  std::uint64_t reserved_bytes = 0, peak_reserved_bytes = 0;  // of all devices
  std::uint64_t device_resident_bytes = 0;  // of the reserved bytes, those in the resident set
  std::uint64_t host_batch_bytes = 0;       // of the heap: batches in hand and made ahead
  std::uint64_t history_bytes = 0;          // of the heap: losses and figures of the steps so far

  // A line of the tables; the peak of a part of the resident set is unknown.
  struct Part {
    std::string name;
    std::uint64_t bytes = 0;
  };
  // The parts of the resident set; their sum is process.resident_bytes. Every byte of a heap's
  // blocks counts as resident, as far as there are so many.
  std::vector<Part> parts() const;
};

// Measures the process, in which these runs take all device memory. Milliseconds.
ProcessSummary process_summary(std::span<const ModelRun* const> runs, std::uint64_t history_bytes);

Rows<ProcessSummary> rows(const ProcessSummary*);
// Returns a table: reserved bytes and resident set, now and at their peaks, and the set's parts.
std::string process_text(const ProcessSummary& summary);

}  // namespace skyline
