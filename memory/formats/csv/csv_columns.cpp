#include "memory/formats/csv/csv_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "memory/formats/csv/trace_csv_columns.h"

namespace skyline {

CsvColumns::CsvColumns(CsvStream records, std::span<const std::string_view> names,
                       std::size_t required, std::string_view expected)
    : records_(std::move(records)), names_(names), position_(names.size(), kAbsent) {
  if (!records_.next()) records_.fail("", fmt::format("got no text, {}", expected));
  width_ = records_.fields().size();
  for (std::size_t i = 0; i < width_; ++i) {
    const std::string_view name = trimmed_cell(records_.fields()[i]);
    const auto known = std::ranges::find(names_, name);
    if (known == names_.end()) continue;
    std::size_t& position = position_[static_cast<std::size_t>(known - names_.begin())];
    if (position != kAbsent) records_.fail(name, "the header names this column twice");
    position = i;
  }
  for (std::size_t column = 0; column < required; ++column) {
    if (has(column)) continue;
    const std::string header = fmt::format("{}", fmt::join(records_.fields(), ","));
    records_.fail("", fmt::format("{}, {}", shown_cell(header), expected));
  }
}

bool CsvColumns::next() {
  if (!records_.next()) return false;
  if (records_.fields().size() == width_) return true;
  records_.fail("", fmt::format("got {} fields, expected {} as in the header",
                                records_.fields().size(), width_));
}

std::uint64_t CsvColumns::bytes(std::size_t column) const {
  constexpr std::uint64_t kMostBytes = std::numeric_limits<std::int64_t>::max();
  const std::string_view text = trimmed_cell(field(column));
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > kMostBytes) {
    fail(column, fmt::format("{}, expected a whole number from 0 to {}", shown_cell(field(column)),
                             kMostBytes));
  }
  return value;
}

}  // namespace skyline
