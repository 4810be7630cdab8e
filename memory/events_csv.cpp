#include "memory/events_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <vector>

#include "memory/csv.h"
#include "memory/interchange/tag_names.h"
#include "memory/trace_csv_columns.h"

namespace skyline {
namespace {

constexpr std::uint64_t kMostBytes = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kAbsent = std::numeric_limits<std::size_t>::max();
constexpr std::string_view kColumnNames[] = {"event", "id",    "bytes",    "tag",
                                             "layer", "phase", "category", "stream"};
constexpr const char* kExpectedHeader = "expected a header line with the columns event,id,bytes";

}  // namespace

EventCsvReader::EventCsvReader(std::istream& in, std::string_view source, std::string head)
    : records_(in, source, std::move(head)) {
  read_header();
}

void EventCsvReader::read_header() {
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
  for (const Column column : {kEvent, kId, kBytes}) {
    if (position_[column] != kAbsent) continue;
    const std::string header = fmt::format("{}", fmt::join(records_.fields(), ","));
    records_.fail("", fmt::format("{}, {}", shown_cell(header), kExpectedHeader));
  }
  tagged_ = std::any_of(position_.begin() + kTag, position_.end(),
                        [](std::size_t position) { return position != kAbsent; });
}

bool EventCsvReader::next(AllocationEvent& event) {
  if (!records_.next()) return false;
  if (records_.fields().size() != width_) {
    records_.fail("", fmt::format("got {} fields, expected {} as in the header",
                                  records_.fields().size(), width_));
  }
  event = {.kind = kind()};
  if (event.kind == AllocationEvent::Kind::kStep) return true;
  event.id = field(kId);
  if (event.id.empty()) records_.fail("id", "got \"\", expected the name of a block");
  if (event.kind == AllocationEvent::Kind::kFree) return true;
  event.bytes = bytes();
  if (tagged_) read_tag(event);
  return true;
}

TraceErrorFacts EventCsvReader::place() const {
  return {.source = records_.source(), .line = records_.line()};
}

std::string_view EventCsvReader::field(Column column) const {
  return position_[column] == kAbsent ? std::string_view{} : records_.fields()[position_[column]];
}

AllocationEvent::Kind EventCsvReader::kind() const {
  const std::string_view name = trimmed_cell(field(kEvent));
  if (name == "a") return AllocationEvent::Kind::kAllocation;
  if (name == "f") return AllocationEvent::Kind::kFree;
  if (name == "s") return AllocationEvent::Kind::kStep;
  records_.fail("event", shown_cell(name) + ", expected a (allocation), f (free) or s (step)");
}

std::uint64_t EventCsvReader::bytes() const {
  const std::string_view text = trimmed_cell(field(kBytes));
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > kMostBytes) {
    records_.fail("bytes", fmt::format("{}, expected a whole number from 0 to {}",
                                       shown_cell(field(kBytes)), kMostBytes));
  }
  return value;
}

void EventCsvReader::read_tag(AllocationEvent& event) const {
  event.tag = {.op = field(kTag),
               .layer = field(kLayer),
               .phase = phase_called(trimmed_cell(field(kPhase))),
               .category = category_called(trimmed_cell(field(kCategory)))};
  event.stream = field(kStream);
}

EventCsvWriter::EventCsvWriter(Sink sink, bool tagged) : out_(std::move(sink)), tagged_(tagged) {
  out_.append("event,id,bytes");
  out_.append(tagged_ ? ",tag,layer,phase,category,stream\n" : "\n");
}

void EventCsvWriter::write(const AllocationEvent& event) {
  constexpr std::string_view kNoTag = ",,,,,";
  switch (event.kind) {
    case AllocationEvent::Kind::kStep:
      out_.append("s,,");
      break;
    case AllocationEvent::Kind::kFree:
      out_.print("f,{},", csv_field(event.id));
      break;
    case AllocationEvent::Kind::kAllocation:
      out_.print("a,{},{}", csv_field(event.id), event.bytes);
      if (tagged_) {
        out_.print(",{},{},{},{},{}", csv_field(event.tag.op), csv_field(event.tag.layer),
                   phase_name(event.tag.phase), category_name(event.tag.category),
                   csv_field(event.stream));
      }
      break;
  }
  if (tagged_ && event.kind != AllocationEvent::Kind::kAllocation) out_.append(kNoTag);
  out_.append("\n");
}

void EventCsvWriter::finish() { out_.finish(); }

}  // namespace skyline
