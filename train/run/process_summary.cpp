#include "train/run/process_summary.h"

#include <algorithm>

#include "train/cli/byte_sizes.h"
#include "train/cli/table.h"

namespace skyline {

ProcessSummary process_summary(std::span<const ModelRun* const> runs, std::uint64_t history_bytes) {
  ProcessSummary summary{.process = process_memory(), .history_bytes = history_bytes};
  for (const ModelRun* run : runs) {
    const Device& device = run->memory.device();
    summary.reserved_bytes += device.statistics().reserved_bytes;
    summary.peak_reserved_bytes += device.statistics().peak_reserved_bytes;
    summary.device_resident_bytes += device.resident_bytes();
    summary.host_batch_bytes += run->host_bytes();
  }
  return summary;
}

// Each part takes its bytes from what the parts before have left.
std::vector<ProcessSummary::Part> ProcessSummary::parts() const {
  std::uint64_t left = process.anonymous_bytes;
  const auto taken = [](std::uint64_t bytes, std::uint64_t& from) {
    const std::uint64_t part = std::min(bytes, from);
    from -= part;
    return part;
  };
  const std::uint64_t device = taken(device_resident_bytes, left);
  std::uint64_t heap = taken(process.heap_used_bytes, left);
  const std::uint64_t batches = taken(host_batch_bytes, heap);
  const std::uint64_t histories = taken(history_bytes, heap);
  const std::uint64_t slack = taken(process.heap_free_bytes, left);
  return {{"device memory", device},
          {"program and libraries", process.program_bytes},
          {"generated kernels", process.generated_bytes},
          {"host batches", batches},
          {"histories", histories},
          {"other heap", heap},
          {"heap slack", slack},
          {"other", left}};
}

Rows<ProcessSummary> rows(const ProcessSummary*) {
  return {
      {"reserved", kBytes, "by the devices", &ProcessSummary::reserved_bytes},
      {"peak_reserved", kBytes, "by the devices, at most", &ProcessSummary::peak_reserved_bytes},
      {"resident_set", kBytes, "of the process",
       [](auto& summary) { return summary.process.resident_bytes; }},
      {"peak_resident_set", kBytes, "of the process, at most",
       [](auto& summary) { return summary.process.peak_resident_bytes; }},
      {"resident_set_of", "bytes of each part of the resident set", [](auto& summary) {
         std::vector<std::pair<std::string, std::uint64_t>> parts;
         for (auto& [name, bytes] : summary.parts()) {
           std::string key = name;
           std::ranges::replace(key, ' ', '_');
           parts.emplace_back(std::move(key), bytes);
         }
         return parts;
       }}};
}

std::string process_text(const ProcessSummary& summary) {
  Table table({{"process", Align::kLeft}, {"now"}, {"at its peak"}});
  table.add_row({"reserved by the device", format_bytes(summary.reserved_bytes),
                 format_bytes(summary.peak_reserved_bytes)});
  table.add_row({"resident set", format_bytes(summary.process.resident_bytes),
                 format_bytes(summary.process.peak_resident_bytes)});
  for (const auto& [name, bytes] : summary.parts()) {
    table.add_row({"  " + name, format_bytes(bytes), ""});
  }
  return table.str();
}

}  // namespace skyline
