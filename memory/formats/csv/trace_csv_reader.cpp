#include "memory/formats/csv/trace_csv_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "memory/errors.h"
#include "memory/formats/csv/trace_csv_gaps.h"

namespace skyline {
namespace {

// In the order of TraceColumn.
constexpr std::string_view kNames[] = {
    "id",           "lower", "upper",          "size",         "alignment", "gaps",   "op",
    "layer",        "phase", "category",       "offset",       "planner",   "peak",   "lower_bound",
    "proved_bound", "gap",   "proved_optimal", "fixed_blocks", "seed",      "seconds"};
static_assert(std::size(kNames) == static_cast<std::size_t>(TraceColumn::kCount));

// MiniMalloc's other names.
constexpr CsvFormat::Alias kAliases[] = {
    {"buffer", static_cast<std::size_t>(TraceColumn::kId)},
    {"buffer_id", static_cast<std::size_t>(TraceColumn::kId)},
    {"start", static_cast<std::size_t>(TraceColumn::kLower)},
    {"begin", static_cast<std::size_t>(TraceColumn::kLower)},
    {"end", static_cast<std::size_t>(TraceColumn::kUpper)},
};

constexpr CsvFormat kFormat{
    .names = kNames,
    .required = static_cast<std::size_t>(TraceColumn::kSize) + 1,
    .expected = "expected a header line with the columns id,lower,upper,size",
    .aliases = kAliases};

constexpr TraceColumn kCertificate[] = {
    TraceColumn::kPlanner,     TraceColumn::kPeak, TraceColumn::kLowerBound,
    TraceColumn::kProvedBound, TraceColumn::kGap,  TraceColumn::kProvedOptimal,
    TraceColumn::kFixedBlocks, TraceColumn::kSeed, TraceColumn::kSeconds};

// Reads a number; returns false unless it is all of the text.
template <class Number>
bool parse(std::string_view text, Number& value) {
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stopped == end;
}

}  // namespace

bool SeenIds::insert_last(const std::vector<std::string>& ids) {
  if (2 * (count_ + 1) > slots_.size()) grow(ids);
  return insert(ids, ids.size() - 1);
}

bool SeenIds::insert(const std::vector<std::string>& ids, std::size_t position) {
  const std::uint64_t hash = std::hash<std::string>{}(ids[position]);
  const Slot slot = (hash & ~0xffffffffull) | (position + 1);
  std::size_t at = hash & (slots_.size() - 1);
  for (; slots_[at] != 0; at = (at + 1) & (slots_.size() - 1)) {
    const bool alike = (slots_[at] ^ slot) >> 32 == 0;
    if (alike && ids[(slots_[at] & 0xffffffff) - 1] == ids[position]) return false;
  }
  slots_[at] = slot;
  ++count_;
  return true;
}

void SeenIds::grow(const std::vector<std::string>& ids) {
  constexpr std::size_t kFirstSlots = 64;
  const std::size_t noted = count_;
  slots_.assign(slots_.empty() ? kFirstSlots : 2 * slots_.size(), 0);
  count_ = 0;
  for (std::size_t i = 0; i < noted; ++i) insert(ids, i);
}

// The whole trace ends up in memory, so records may have any length.
TraceReader::TraceReader(std::istream& in, std::string_view source, std::string head)
    : columns_(CsvReader(in, source, std::move(head), CsvReader::kAnyLength), kFormat),
      inclusive_(columns_.name(static_cast<std::size_t>(TraceColumn::kUpper)) == "end"),
      tagged_(has(TraceColumn::kOp) || has(TraceColumn::kLayer) || has(TraceColumn::kPhase) ||
              has(TraceColumn::kCategory)) {}

void TraceReader::read_trace() {
  const bool fixes = has(TraceColumn::kOffset);
  while (next()) {
    if (fixes) read_fixed_offset();
  }
}

void TraceReader::read_plan() {
  if (!has(TraceColumn::kOffset)) columns_.fail_record("the header has no column offset");
  const bool certified = header_has_certificate();
  while (next()) {
    offsets.push_back(number(TraceColumn::kOffset));
    if (certified && record_has_certificate()) read_certificate();
  }
}

bool TraceReader::next() {
  if (!columns_.next()) return false;
  read_id();
  read_block();
  if (has(TraceColumn::kGaps)) read_gaps_of_block();
  if (!trimmed_cell(field(TraceColumn::kAlignment)).empty()) {
    alignment = std::max(alignment, number(TraceColumn::kAlignment, 1));
  }
  if (tagged_) read_tag();
  return true;
}

// As long as block k is called "k", no ids are stored.
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
    fail(TraceColumn::kId, shown_cell(id) + " a second time, expected unique ids");
  }
}

void TraceReader::read_block() {
  const std::uint64_t more = inclusive_ ? 1 : 0;
  const auto lower = static_cast<Tick>(number(TraceColumn::kLower));
  const auto upper =
      static_cast<Tick>(number(TraceColumn::kUpper, 0, CsvColumns::kMostNumber - more) + more);
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

// The list stays empty until an offset is fixed: most traces fix none.
void TraceReader::read_fixed_offset() {
  const std::size_t index = trace.size() - 1;
  const std::string_view text = trimmed_cell(field(TraceColumn::kOffset));
  if (text.empty() || text == "-1") {
    if (!trace.fixed_offsets.empty()) trace.fixed_offsets.emplace_back();
    return;
  }
  std::uint64_t offset = 0;
  if (!parse(text, offset) || offset > CsvColumns::kMostNumber) {
    fail(TraceColumn::kOffset,
         fmt::format("{}, expected a whole number from 0 to {}, or nothing or -1 for none",
                     shown_cell(field(TraceColumn::kOffset)), CsvColumns::kMostNumber));
  }
  const std::uint64_t bytes = trace.blocks[index].bytes;
  if (bytes > CsvColumns::kMostNumber - offset) {
    fail(TraceColumn::kOffset, fmt::format("got {}, expected the block of {} bytes to end by {}",
                                           offset, bytes, CsvColumns::kMostNumber));
  }
  trace.fixed_offsets.resize(index);
  trace.fixed_offsets.emplace_back(offset);
}

bool TraceReader::header_has_certificate() const {
  return std::ranges::all_of(kCertificate, [this](TraceColumn column) { return has(column); });
}

bool TraceReader::record_has_certificate() const {
  return std::ranges::any_of(kCertificate,
                             [this](TraceColumn column) { return !field(column).empty(); });
}

void TraceReader::read_certificate() {
  if (certificate) {
    columns_.fail_record("got a second certificate, expected one line that carries it");
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
