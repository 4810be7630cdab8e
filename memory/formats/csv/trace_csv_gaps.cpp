#include "memory/formats/csv/trace_csv_gaps.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "memory/errors.h"

namespace skyline {
namespace {

constexpr std::uint64_t kMaxNumber = std::numeric_limits<std::int64_t>::max();

using Range = std::pair<std::uint64_t, std::uint64_t>;

// Parses "3-9" or "3:9"; empty unless the text is two whole numbers up to 2^63 − 1.
std::optional<Range> range_of(std::string_view text, char separator) {
  Range range;
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
  const std::optional<Range> window = range_of(word, ':');
  if (!window) return shown_cell(word) + ", expected bytes in use during the gap, as A:B";
  if (window->first < window->second && window->second <= block.bytes) return {};
  return fmt::format("got the bytes [{}, {}), expected bytes within the block's {}", window->first,
                     window->second, block.bytes);
}

std::string read_gap(std::string_view word, const TraceBlock& block, bool inclusive, ReadGap& out) {
  const std::size_t at = word.find('@');
  const std::optional<Range> ticks = range_of(word.substr(0, at), '-');
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

}  // namespace skyline
