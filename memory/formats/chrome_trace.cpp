#include "memory/formats/chrome_trace.h"

#include <fmt/format.h>

namespace skyline {

ChromeTraceWriter::ChromeTraceWriter(Sink sink, std::string_view name, const Allocator& allocator)
    : out_(std::move(sink)), allocator_(allocator) {
  out_.append("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
  out_.print("{{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"args\":{{\"name\":{}}}}}",
             json_string(name));
}

void ChromeTraceWriter::counters(Tick tick) {
  const Statistics now = allocator_.statistics();
  const auto counter = [&](std::string_view name, std::size_t bytes) {
    out_.print(",\n{{\"name\":\"{}\",\"ph\":\"C\",\"pid\":1,\"ts\":{},\"args\":{{\"bytes\":{}}}}}",
               name, tick, bytes);
  };
  counter("requested", now.requested_bytes);
  counter("allocated", now.allocated_bytes);
  counter("reserved", now.reserved_bytes);
}

void ChromeTraceWriter::mark(std::string_view name, Tick tick) {
  out_.print(",\n{{\"name\":{},\"ph\":\"i\",\"s\":\"p\",\"pid\":1,\"tid\":0,\"ts\":{}}}",
             json_string(name), tick);
}

void ChromeTraceWriter::allocated(const LiveEvents& events, const Extent&) {
  counters(events.tick());
}

void ChromeTraceWriter::refused(const LiveEvents& events, const OutOfMemory& refusal) {
  mark(refusal.what(), events.tick());
  counters(events.tick());
}

void ChromeTraceWriter::freed(const LiveEvents& events, const Extent& extent) {
  slice(events.block(), events.slot(), events.tick(), extent);
  counters(events.tick());
}

void ChromeTraceWriter::step_began(const LiveEvents& events) {
  mark(fmt::format("step {}", events.steps() - 1), events.ticks());
  counters(events.ticks());
}

void ChromeTraceWriter::slice(const LiveBlock& block, std::size_t slot, Tick end,
                              const Extent& extent) {
  out_.print(",\n{{\"name\":{},\"cat\":{},\"ph\":\"X\",\"pid\":1,\"tid\":{},\"ts\":{},\"dur\":{},",
             json_string(block.id), json_string(category_name(block.tag.category)), slot + 1,
             block.allocated, end - block.allocated);
  out_.print("\"args\":{{\"bytes\":{},\"address\":\"{:#x}\",\"op\":{},\"layer\":{}}}}}",
             extent.bytes, reinterpret_cast<std::uint64_t>(extent.address),
             json_string(block.tag.op), json_string(block.tag.layer));
}

// Blocks that were never freed last to the end.
void ChromeTraceWriter::finished(const ReplayEnd& end) {
  for (std::size_t slot = 0; slot < end.extents.size(); ++slot) {
    if (end.extents[slot].address == nullptr) continue;
    slice(end.events.blocks().at(slot), slot, end.events.ticks(), end.extents[slot]);
  }
  out_.append("\n]}\n");
  out_.finish();
}

}  // namespace skyline
