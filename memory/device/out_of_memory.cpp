#include "memory/device/out_of_memory.h"

namespace skyline {
namespace {

std::string sentence(const OutOfMemoryFacts& facts) {
  std::string text = "[" + facts.where + "] out of memory (";
  const bool enough =
      facts.shortage == Shortage::kFragmentation || facts.shortage == Shortage::kSegment;
  const bool by_system = !enough && !facts.reason.empty();
  text += by_system ? facts.reason : std::string(shortage_name(facts.shortage));
  text += "): requested " + std::to_string(facts.requested_bytes) + " bytes";
  if (!facts.request.empty()) text += " for " + facts.request;
  const auto fact = [&text](const char* name, const std::optional<std::size_t>& bytes) {
    if (bytes) text += std::string(", ") + name + " " + std::to_string(*bytes);
  };
  fact("allocated", facts.allocated_bytes);
  fact("reserved", facts.reserved_bytes);
  fact("free of the device", facts.device_free_bytes);
  fact(facts.shortage == Shortage::kLimit ? "limit" : "capacity", facts.capacity_bytes);
  fact("the system's limit", facts.system_limit_bytes);
  fact("free of it", facts.system_free_bytes);
  fact("largest free block", facts.largest_free_block_bytes);
  fact("free on the card", facts.card_free_bytes);
  fact("held there by other programs and the driver", facts.held_by_others_bytes);
  return text;
}

}  // namespace

std::string_view shortage_name(Shortage shortage) {
  constexpr std::string_view kNames[] = {"the device is full", "free memory is fragmented",
                                         "too little is free for a whole segment",
                                         "the limit is reached", "failure injected by a test"};
  return kNames[static_cast<std::size_t>(shortage)];
}

OutOfMemory::OutOfMemory(OutOfMemoryFacts facts)
    : std::runtime_error(sentence(facts)), facts_(std::move(facts)) {}

}  // namespace skyline
