#include "memory/formats/csv/event_csv.h"

#include <fmt/format.h>
#include <utf8.h>

#include <algorithm>

#include "memory/tag.h"

namespace skyline {
namespace {

constexpr std::string_view kEventColumns[] = {"event", "id",       "bytes",  "tag", "layer",
                                              "phase", "category", "stream", "pool"};

constexpr std::string_view kLetters = "afsirc";  // of AllocationEvent::Kind

}  // namespace

EventCsvReader::EventCsvReader(std::istream& in, std::string_view source, std::string head)
    : columns_(CsvReader(in, source, std::move(head)),
               {.names = kEventColumns,
                .required = kTag,
                .expected = "expected a header line with the columns event,id,bytes"}) {
  for (std::size_t column = kTag; column < std::size(kEventColumns); ++column) {
    tagged_ |= columns_.has(column);
  }
}

bool EventCsvReader::next(AllocationEvent& event) {
  if (!columns_.next()) return false;
  event = {.kind = kind()};
  const bool of_block = event.kind == AllocationEvent::Kind::kAllocation ||
                        event.kind == AllocationEvent::Kind::kFree;
  if (!of_block) return true;
  event.id = columns_.field(kId);
  if (event.id.empty()) columns_.fail(kId, "got \"\", expected the name of a block");
  if (event.kind == AllocationEvent::Kind::kFree) return true;
  event.bytes = columns_.number(kBytes);
  if (tagged_) read_tag(event);
  check_encoding({event.id, event.tag.op, event.tag.layer, event.stream, event.pool});
  return true;
}

void EventCsvReader::check_encoding(std::initializer_list<std::string_view> names) {
  const bool valid = std::ranges::all_of(
      names, [](std::string_view name) { return utf8::is_valid(name.begin(), name.end()); });
  if (!valid && first_wrong_line_ == 0) first_wrong_line_ = columns_.place().line;
}

std::string EventCsvReader::note() const {
  if (first_wrong_line_ == 0) return {};
  return fmt::format("line {} is not UTF-8; is the file Latin-1? Its names are kept as they are",
                     first_wrong_line_);
}

AllocationEvent::Kind EventCsvReader::kind() const {
  const std::string_view name = trimmed_cell(columns_.field(kEvent));
  const auto letter = name.size() == 1 ? kLetters.find(name[0]) : kLetters.npos;
  if (letter != kLetters.npos) return static_cast<AllocationEvent::Kind>(letter);
  columns_.fail(kEvent, shown_cell(name) +
                            ", expected a (allocation), f (free), s (step), i (interruption), r "
                            "(resume) or c (return of cached memory)");
}

void EventCsvReader::read_tag(AllocationEvent& event) const {
  event.tag = {.op = columns_.field(kTag),
               .layer = columns_.field(kLayer),
               .phase = phase_called(trimmed_cell(columns_.field(kPhase))),
               .category = category_called(trimmed_cell(columns_.field(kCategory)))};
  event.stream = trimmed_cell(columns_.field(kStream));
  event.pool = trimmed_cell(columns_.field(kPool));
}

EventCsvWriter::EventCsvWriter(Sink sink, bool tagged) : out_(std::move(sink)), tagged_(tagged) {
  out_.append("event,id,bytes");
  out_.append(tagged_ ? ",tag,layer,phase,category,stream,pool\n" : "\n");
}

void EventCsvWriter::write(const AllocationEvent& event) {
  constexpr std::string_view kNoTag = ",,,,,,";
  switch (event.kind) {
    case AllocationEvent::Kind::kFree:
      out_.print("f,{},", csv_field(event.id));
      break;
    case AllocationEvent::Kind::kAllocation:
      out_.print("a,{},{}", csv_field(event.id), event.bytes);
      if (tagged_) {
        out_.print(",{},{},{},{},{},{}", csv_field(event.tag.op), csv_field(event.tag.layer),
                   phase_name(event.tag.phase), category_name(event.tag.category),
                   csv_field(event.stream), csv_field(event.pool));
      }
      break;
    default:
      out_.print("{},,", kLetters[static_cast<std::size_t>(event.kind)]);
  }
  if (tagged_ && event.kind != AllocationEvent::Kind::kAllocation) out_.append(kNoTag);
  out_.append("\n");
}

void EventCsvWriter::finish() { out_.finish(); }

}  // namespace skyline
