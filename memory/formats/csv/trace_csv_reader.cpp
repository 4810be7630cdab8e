#include "memory/formats/csv/trace_csv_reader.h"

#include <fmt/format.h>
#include <utf8.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "memory/errors.h"

namespace skyline {
namespace {

constexpr std::uint64_t kMaxNumber = std::numeric_limits<std::int64_t>::max();

using TickRange = std::pair<std::uint64_t, std::uint64_t>;

// Parses "3-9" or "3:9"; empty unless the text is two whole numbers up to 2^63 − 1.
std::optional<TickRange> range_of(std::string_view text, char separator) {
  TickRange range;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, range.first);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != separator) return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, range.second);
  if (second.ec != std::errc() || second.ptr != end) return std::nullopt;
  if (range.first > kMaxNumber || range.second > kMaxNumber) return std::nullopt;
  return range;
}

struct ReadGap {
  TraceGap gap;
  bool in_use = false;  // some bytes stay in use: the gap has a window
};

std::string fault_of_lifetime(const TraceGap& gap, const TraceBlock& block) {
  if (gap.lower >= gap.upper) {
    return fmt::format("got the {} gap [{}, {}), expected lower < upper",
                       gap.lower == gap.upper ? "empty" : "inverted", gap.lower, gap.upper);
  }
  if (gap.lower < block.lower || gap.upper > block.upper) {
    return fmt::format("got the gap [{}, {}), expected one within the lifetime [{}, {})", gap.lower,
                       gap.upper, block.lower, block.upper);
  }
  return {};
}

std::string fault_of_window(std::string_view word, const TraceBlock& block) {
  const std::optional<TickRange> window = range_of(word, ':');
  if (!window) return shown_cell(word) + ", expected bytes in use during the gap, as A:B";
  if (window->first < window->second && window->second <= block.bytes) return {};
  return fmt::format("got the bytes [{}, {}), expected bytes within the block's {}", window->first,
                     window->second, block.bytes);
}

std::string read_gap(std::string_view word, const TraceBlock& block, bool inclusive, ReadGap& out) {
  const std::size_t at = word.find('@');
  const std::optional<TickRange> ticks = range_of(word.substr(0, at), '-');
  const std::uint64_t last = kMaxNumber - (inclusive ? 1 : 0);
  if (!ticks || ticks->second > last) {
    return shown_cell(word) +
           fmt::format(", expected LOWER-UPPER or LOWER-UPPER@A:B, numbers from 0 to {}", last);
  }
  out.gap.lower = static_cast<Tick>(ticks->first);
  out.gap.upper = static_cast<Tick>(ticks->second + (inclusive ? 1 : 0));
  out.in_use = at != std::string_view::npos;
  const std::string fault = fault_of_lifetime(out.gap, block);
  if (!fault.empty() || !out.in_use) return fault;
  return fault_of_window(word.substr(at + 1), block);
}

// Sorts the gaps and names two that overlap; empty if none do.
std::string fault_of_order(std::vector<ReadGap>& gaps) {
  std::sort(gaps.begin(), gaps.end(),
            [](const ReadGap& a, const ReadGap& b) { return a.gap.lower < b.gap.lower; });
  for (std::size_t i = 1; i < gaps.size(); ++i) {
    const TraceGap &first = gaps[i - 1].gap, &second = gaps[i].gap;
    if (first.upper <= second.lower) continue;
    return fmt::format("got the gaps [{}, {}) and [{}, {}), expected gaps that do not overlap",
                       first.lower, first.upper, second.lower, second.upper);
  }
  return {};
}

// In the order of TraceColumn.
constexpr std::string_view kTraceColumns[] = {
    "id",           "lower", "upper",          "size",         "alignment", "gaps",   "op",
    "layer",        "phase", "category",       "offset",       "planner",   "peak",   "lower_bound",
    "proved_bound", "gap",   "proved_optimal", "fixed_blocks", "seed",      "seconds"};
static_assert(std::size(kTraceColumns) == static_cast<std::size_t>(TraceColumn::kCount));

// MiniMalloc's other names.
constexpr CsvFormat::Alias kAliases[] = {
    {"buffer", static_cast<std::size_t>(TraceColumn::kId)},
    {"buffer_id", static_cast<std::size_t>(TraceColumn::kId)},
    {"start", static_cast<std::size_t>(TraceColumn::kLower)},
    {"begin", static_cast<std::size_t>(TraceColumn::kLower)},
    {"end", static_cast<std::size_t>(TraceColumn::kUpper)},
};

constexpr CsvFormat kFormat{
    .names = kTraceColumns,
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

std::string read_gaps(std::string_view cell, std::size_t index, const TraceBlock& block,
                      bool inclusive, std::vector<TraceGap>& out) {
  std::vector<ReadGap> gaps;
  for (std::size_t begin = 0; (begin = cell.find_first_not_of(" \t", begin)) != cell.npos;) {
    const std::size_t end = std::min(cell.find_first_of(" \t", begin), cell.size());
    ReadGap next{.gap = {.block = index}};
    std::string fault = read_gap(cell.substr(begin, end - begin), block, inclusive, next);
    if (!fault.empty()) return fault;
    gaps.push_back(next);
    begin = end;
  }
  std::string fault = fault_of_order(gaps);
  if (!fault.empty()) return fault;
  for (const ReadGap& read : gaps) {
    if (!read.in_use) out.push_back(read.gap);
  }
  return {};
}

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
  drop_alignments_of_one();
}

void TraceReader::read_plan() {
  if (!has(TraceColumn::kOffset)) columns_.fail_record("the header has no column offset");
  const bool certified = header_has_certificate();
  while (next()) {
    offsets.push_back(number(TraceColumn::kOffset));
    if (certified && record_has_certificate()) read_certificate();
  }
  drop_alignments_of_one();
}

void TraceReader::drop_alignments_of_one() {
  const auto is_one = [](std::uint64_t alignment) { return alignment == 1; };
  if (std::ranges::all_of(trace.alignments, is_one)) trace.alignments.clear();
}

bool TraceReader::next() {
  if (!columns_.next()) return false;
  read_id();
  read_block();
  if (has(TraceColumn::kGaps)) read_gaps_of_block();
  if (has(TraceColumn::kAlignment)) {
    const bool is_empty = trimmed_cell(field(TraceColumn::kAlignment)).empty();
    trace.alignments.push_back(is_empty ? 1 : number(TraceColumn::kAlignment, 1));
  }
  if (tagged_) read_tag();
  return true;
}

std::string_view TraceReader::text(TraceColumn column) const {
  const std::string_view found = field(column);
  if (utf8::is_valid(found.begin(), found.end())) return found;
  fail(column,
       shown_cell(found) + ", which is not UTF-8; is the file Latin-1? Convert it to UTF-8");
}

// As long as block k is called "k", no ids are stored.
void TraceReader::read_id() {
  const std::string_view id = text(TraceColumn::kId);
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
      {std::string(text(TraceColumn::kOp)), std::string(text(TraceColumn::kLayer)),
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
