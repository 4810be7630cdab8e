#include "memory/formats/csv/rmm_log.h"

#include <fmt/format.h>

#include <charconv>

namespace skyline {
namespace {

constexpr std::string_view kRmmColumns[] = {"Action", "Pointer", "Size", "Stream"};
constexpr std::string_view kAllocate = "allocate", kFree = "free", kFailure = "allocate failure";

}  // namespace

RmmLogReader::RmmLogReader(std::istream& in, std::string_view source, std::string head)
    : columns_(CsvReader(in, source, std::move(head)),
               {.names = kRmmColumns,
                .required = kStream,
                .expected = "expected RMM's header line Thread,Time,Action,Pointer,Size,Stream"}) {}

bool RmmLogReader::next(AllocationEvent& event) {
  while (columns_.next()) {
    if (read_event(event)) return true;
  }
  return false;
}

// Returns false for a line that is not an event of a block.
bool RmmLogReader::read_event(AllocationEvent& event) {
  const std::string_view action = trimmed_cell(columns_.field(kAction));
  const std::uint64_t address = pointer();
  event = {.bytes = columns_.number(kSize), .stream = trimmed_cell(columns_.field(kStream))};
  if (action == kFailure) return false;
  if (action == kFree) {
    event.kind = AllocationEvent::Kind::kFree;
  } else if (action != kAllocate) {
    columns_.fail(kAction, shown_cell(action) + ", expected allocate, free or allocate failure");
  }
  if (address == 0) {
    if (event.bytes == 0) return false;
    columns_.fail(kPointer, fmt::format("got the null pointer for {} bytes, expected an address",
                                        event.bytes));
  }
  // Normalises the address: logs write it with or without 0x and leading zeros.
  const auto end = fmt::format_to(id_.data(), "{:#x}", address);
  event.id = {id_.data(), static_cast<std::size_t>(end - id_.data())};
  return true;
}

std::uint64_t RmmLogReader::pointer() const {
  std::string_view text = trimmed_cell(columns_.field(kPointer));
  if (text == "(nil)") return 0;
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size()) {
    columns_.fail(kPointer, shown_cell(columns_.field(kPointer)) +
                                ", expected an address in hexadecimal digits, as 0x7f8a40000000");
  }
  return value;
}

RmmLogWriter::RmmLogWriter(Sink sink) : out_(std::move(sink)) {
  out_.append("Thread,Time,Action,Pointer,Size,Stream\n");
}

void RmmLogWriter::line(const LiveEvents& events, std::string_view action, std::uint64_t pointer,
                        std::uint64_t bytes) {
  constexpr Tick kSecond = 1'000'000, kMinute = 60 * kSecond, kHour = 60 * kMinute;
  const Tick now = events.tick();
  const std::string& stream = events.streams().name(events.block().source.stream);
  out_.print("1,{:02}:{:02}:{:02}.{:06},{},{:#x},{},{}\n", now / kHour % 24, now / kMinute % 60,
             now / kSecond % 60, now % kSecond, action, pointer, bytes,
             stream.empty() ? "0" : csv_field(stream));
}

void RmmLogWriter::allocated(const LiveEvents& events, const Extent& extent) {
  line(events, kAllocate, reinterpret_cast<std::uint64_t>(extent.address), extent.bytes);
}

void RmmLogWriter::refused(const LiveEvents& events, const OutOfMemory&) {
  line(events, kFailure, 0, events.block().bytes);
}

void RmmLogWriter::freed(const LiveEvents& events, const Extent& extent) {
  line(events, kFree, reinterpret_cast<std::uint64_t>(extent.address), extent.bytes);
}

void RmmLogWriter::finished(const ReplayEnd&) { out_.finish(); }

}  // namespace skyline
