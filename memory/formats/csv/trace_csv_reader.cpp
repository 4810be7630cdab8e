#include "memory/formats/csv/trace_csv_reader.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "memory/errors.h"
#include "memory/formats/csv/trace_csv_gaps.h"

namespace skyline {
namespace {

constexpr std::uint64_t kMaxNumber = std::numeric_limits<std::int64_t>::max();

// Whether all of the text is a number, and which.
template <class Number>
bool parse(std::string_view text, Number& value) {
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stopped == end;
}

}  // namespace

TraceReader::TraceReader(std::string_view text, std::string_view source)
    : records_(text, source),
      columns_(records_),
      inclusive_(columns_.upper_is_inclusive()),
      tagged_(columns_.has(TraceColumn::kOp) || columns_.has(TraceColumn::kLayer) ||
              columns_.has(TraceColumn::kPhase) || columns_.has(TraceColumn::kCategory)) {}

void TraceReader::read_trace() {
  const bool fixes = columns_.has(TraceColumn::kOffset);
  while (next()) {
    if (fixes) read_fixed_offset();
  }
}

void TraceReader::read_plan() {
  columns_.require(records_, TraceColumn::kOffset);
  const bool certified = columns_.has_certificate();
  while (next()) {
    offsets.push_back(number(TraceColumn::kOffset));
    if (certified && carries_certificate()) read_certificate();
  }
}

void TraceReader::fail(std::string_view field, std::string problem) const {
  throw TraceError({.source = std::string(records_.source()),
                    .line = records_.line(),
                    .field = std::string(field),
                    .problem = std::move(problem)});
}

bool TraceReader::next() {
  if (!records_.next()) return false;
  if (records_.fields().size() != columns_.count()) {
    fail("", fmt::format("got {} fields, expected {} as in the header", records_.fields().size(),
                         columns_.count()));
  }
  read_id();
  read_block();
  if (columns_.has(TraceColumn::kGaps)) read_gaps_of_block();
  if (!trimmed_cell(field(TraceColumn::kAlignment)).empty()) {
    alignment = std::max(alignment, number(TraceColumn::kAlignment, 1));
  }
  if (tagged_) read_tag();
  return true;
}

std::uint64_t TraceReader::number(TraceColumn column, std::uint64_t least,
                                  std::uint64_t most) const {
  std::uint64_t value = 0;
  if (!parse(trimmed_cell(field(column)), value) || value < least || value > most) {
    fail(column, fmt::format("{}, expected a whole number from {} to {}", shown_cell(field(column)),
                             least, most));
  }
  return value;
}

std::uint64_t TraceReader::number(TraceColumn column, std::uint64_t least) const {
  return number(column, least, kMaxNumber);
}

// While block k is called "k", no id needs to be kept.
void TraceReader::read_id() {
  const std::string_view id = field(TraceColumn::kId);
  const std::size_t index = trace.size();
  if (id.empty()) fail(TraceColumn::kId, "got \"\", expected a name");
  if (trace.ids.empty()) {
    std::array<char, 24> digits{};
    const auto end = std::to_chars(digits.begin(), digits.end(), index).ptr;
    if (id == std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data())))
      return;
    for (std::size_t i = 0; i < index; ++i) {
      trace.ids.push_back(std::to_string(i));
      seen_.insert_last(trace.ids);
    }
  }
  trace.ids.emplace_back(id);
  if (!seen_.insert_last(trace.ids)) {
    fail(TraceColumn::kId, shown_cell(id) + " a second time, expected ids that differ");
  }
}

void TraceReader::read_block() {
  const std::uint64_t more = inclusive_ ? 1 : 0;
  const auto lower = static_cast<Tick>(number(TraceColumn::kLower));
  const auto upper = static_cast<Tick>(number(TraceColumn::kUpper, 0, kMaxNumber - more) + more);
  if (lower >= upper) {
    fail(TraceColumn::kUpper, fmt::format("got the {} lifetime [{}, {}), expected lower < upper",
                                          lower == upper ? "empty" : "inverted", lower, upper));
  }
  trace.blocks.push_back({lower, upper, number(TraceColumn::kSize)});
}

void TraceReader::read_gaps_of_block() {
  const std::string_view cell = field(TraceColumn::kGaps);
  if (cell.empty()) return;
  std::string fault =
      read_gaps(cell, trace.size() - 1, trace.blocks.back(), inclusive_, trace.gaps);
  if (!fault.empty()) fail(TraceColumn::kGaps, std::move(fault));
}

void TraceReader::read_tag() {
  trace.tags.push_back(
      {std::string(field(TraceColumn::kOp)), std::string(field(TraceColumn::kLayer)),
       named<Phase>(TraceColumn::kPhase, 4, phase_name, Phase::kOutside),
       named<Category>(TraceColumn::kCategory, kCategoryCount, category_name, Category::kUnknown)});
}

template <class Enum>
Enum TraceReader::named(TraceColumn column, int count, std::string_view (*name)(Enum),
                        Enum unset) const {
  const std::string_view text = trimmed_cell(field(column));
  if (text.empty()) return unset;
  std::string all;
  for (int i = 0; i < count; ++i) {
    const std::string_view known = name(static_cast<Enum>(i));
    if (known == text) return static_cast<Enum>(i);
    all += all.empty() ? "" : ", ";
    all += known;
  }
  fail(column, fmt::format("{}, expected one of {}", shown_cell(text), all));
}

// The list begins with the first offset that is fixed: most traces fix none.
void TraceReader::read_fixed_offset() {
  const std::size_t index = trace.size() - 1;
  const std::string_view text = trimmed_cell(field(TraceColumn::kOffset));
  if (text.empty() || text == "-1") {
    if (!trace.fixed_offsets.empty()) trace.fixed_offsets.emplace_back();
    return;
  }
  std::uint64_t offset = 0;
  if (!parse(text, offset) || offset > kMaxNumber) {
    fail(TraceColumn::kOffset,
         fmt::format("{}, expected a whole number from 0 to {}, or nothing or -1 where none is "
                     "fixed",
                     shown_cell(field(TraceColumn::kOffset)), kMaxNumber));
  }
  const std::uint64_t bytes = trace.blocks[index].bytes;
  if (bytes > kMaxNumber - offset) {
    fail(TraceColumn::kOffset, fmt::format("got {}, expected that a block of {} bytes ends by {}",
                                           offset, bytes, kMaxNumber));
  }
  trace.fixed_offsets.resize(index);
  trace.fixed_offsets.emplace_back(offset);
}

bool TraceReader::carries_certificate() const {
  for (std::size_t i = static_cast<std::size_t>(kFirstOfCertificate); i < kTraceColumns; ++i) {
    if (!field(static_cast<TraceColumn>(i)).empty()) return true;
  }
  return false;
}

void TraceReader::read_certificate() {
  if (certificate) {
    fail("", "got a second certificate, expected one line that carries it");
  }
  certificate = PlanCertificate{
      .planner = std::string(field(TraceColumn::kPlanner)),
      .peak = number(TraceColumn::kPeak),
      .lower_bound = number(TraceColumn::kLowerBound),
      .proved_bound = number(TraceColumn::kProvedBound),
      .gap = real(TraceColumn::kGap),
      .proved_optimal = truth(TraceColumn::kProvedOptimal),
      .fixed_blocks = number(TraceColumn::kFixedBlocks),
      .seed = number(TraceColumn::kSeed, 0, std::numeric_limits<std::uint64_t>::max()),
      .seconds = real(TraceColumn::kSeconds)};
}

double TraceReader::real(TraceColumn column) const {
  double value = 0;
  if (!parse(trimmed_cell(field(column)), value) || !std::isfinite(value) || value < 0) {
    fail(column, shown_cell(field(column)) + ", expected a number of at least 0");
  }
  return value;
}

bool TraceReader::truth(TraceColumn column) const {
  const std::string_view text = trimmed_cell(field(column));
  if (text != "true" && text != "false") {
    fail(column, shown_cell(field(column)) + ", expected true or false");
  }
  return text == "true";
}

}  // namespace skyline
