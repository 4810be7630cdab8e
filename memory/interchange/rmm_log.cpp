#include "memory/interchange/rmm_log.h"
#include "memory/trace_csv_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

namespace skyline {
namespace {

constexpr std::uint64_t kMostBytes = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kAbsent = std::numeric_limits<std::size_t>::max();
constexpr std::string_view kColumnNames[] = {"Action", "Pointer", "Size", "Stream"};
constexpr std::string_view kAllocate = "allocate", kFree = "free", kFailure = "allocate failure";
constexpr const char* kExpectedHeader =
    "expected RMM's header line Thread,Time,Action,Pointer,Size,Stream";

}  // namespace

RmmLogReader::RmmLogReader(std::istream& in, std::string_view source, std::string head)
    : records_(in, source, std::move(head)) {
  read_header();
}

void RmmLogReader::read_header() {
  position_.fill(kAbsent);
  if (!records_.next()) records_.fail("", fmt::format("got no text, {}", kExpectedHeader));
  width_ = records_.fields().size();
  for (std::size_t i = 0; i < width_; ++i) {
    const std::string_view name = trimmed_cell(records_.fields()[i]);
    const auto known = std::ranges::find(kColumnNames, name);
    if (known == std::end(kColumnNames)) continue;
    std::size_t& position = position_[static_cast<std::size_t>(known - kColumnNames)];
    if (position != kAbsent) records_.fail(name, "the header names this column twice");
    position = i;
  }
  for (const Column column : {kAction, kPointer, kSize}) {
    if (position_[column] != kAbsent) continue;
    const std::string header = fmt::format("{}", fmt::join(records_.fields(), ","));
    records_.fail("", fmt::format("{}, {}", shown_cell(header), kExpectedHeader));
  }
}

bool RmmLogReader::next(AllocationEvent& event) {
  while (records_.next()) {
    if (records_.fields().size() != width_) {
      records_.fail("", fmt::format("got {} fields, expected {} as in the header",
                                    records_.fields().size(), width_));
    }
    if (read_event(event)) return true;
  }
  return false;
}

// False for a line that is no event of a block.
bool RmmLogReader::read_event(AllocationEvent& event) {
  const std::string_view action = trimmed_cell(field(kAction));
  const std::uint64_t address = pointer();
  event = {.bytes = bytes(), .stream = field(kStream)};
  if (action == kFailure) return false;
  if (action == kFree) {
    event.kind = AllocationEvent::Kind::kFree;
  } else if (action != kAllocate) {
    records_.fail("Action", shown_cell(action) + ", expected allocate, free or allocate failure");
  }
  if (address == 0) {
    if (event.bytes == 0) return false;
    records_.fail("Pointer", fmt::format("got the null pointer for {} bytes, expected an address",
                                         event.bytes));
  }
  // One way to write each address, whatever the log's.
  const auto end = fmt::format_to(id_.data(), "{:#x}", address);
  event.id = {id_.data(), static_cast<std::size_t>(end - id_.data())};
  return true;
}

TraceErrorFacts RmmLogReader::place() const {
  return {.source = records_.source(), .line = records_.line()};
}

std::string_view RmmLogReader::field(Column column) const {
  return position_[column] == kAbsent ? std::string_view{} : records_.fields()[position_[column]];
}

std::uint64_t RmmLogReader::pointer() const {
  std::string_view text = trimmed_cell(field(kPointer));
  if (text == "(nil)") return 0;
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size()) {
    records_.fail("Pointer", shown_cell(field(kPointer)) +
                                 ", expected an address in hexadecimal digits, as 0x7f8a40000000");
  }
  return value;
}

std::uint64_t RmmLogReader::bytes() const {
  const std::string_view text = trimmed_cell(field(kSize));
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > kMostBytes) {
    records_.fail("Size", fmt::format("{}, expected a whole number from 0 to {}",
                                      shown_cell(field(kSize)), kMostBytes));
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
  const std::string& stream = events.block().stream;
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
