#include "memory/formats/csv/csv_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace skyline {
namespace {

// Returns the number of a column, or the number of columns if the name is unknown.
std::size_t column_named(const CsvFormat& format, std::string_view name) {
  const auto alias = std::ranges::find(format.aliases, name, &CsvFormat::Alias::name);
  if (alias != format.aliases.end()) return alias->column;
  return static_cast<std::size_t>(std::ranges::find(format.names, name) - format.names.begin());
}

}  // namespace

CsvColumns::CsvColumns(CsvReader records, const CsvFormat& format)
    : records_(std::move(records)), position_(format.names.size(), kAbsent) {
  if (!records_.next()) records_.fail("", fmt::format("got no text, {}", format.expected));
  for (const std::string_view field : records_.fields()) {
    header_.emplace_back(trimmed_cell(field));
    const std::size_t column = column_named(format, header_.back());
    if (column < position_.size()) note(column, header_.size() - 1);
  }
  for (std::size_t column = 0; column < format.required; ++column) {
    if (has(column)) continue;
    const std::string header = fmt::format("{}", fmt::join(header_, ","));
    records_.fail("", fmt::format("{}, {}", shown_cell(header), format.expected));
  }
}

void CsvColumns::note(std::size_t column, std::size_t position) {
  if (has(column)) {
    records_.fail(header_[position],
                  name(column) == header_[position]
                      ? "the header names this column twice"
                      : fmt::format("the header has this column already, as {}", name(column)));
  }
  position_[column] = position;
}

bool CsvColumns::next() {
  if (!records_.next()) return false;
  if (records_.fields().size() == header_.size()) return true;
  records_.fail("", fmt::format("got {} fields, expected {} as in the header",
                                records_.fields().size(), header_.size()));
}

std::uint64_t CsvColumns::number(std::size_t column, std::uint64_t least,
                                 std::uint64_t most) const {
  const std::string_view text = trimmed_cell(field(column));
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    fail(column, fmt::format("{}, expected a whole number from {} to {}", shown_cell(field(column)),
                             least, most));
  }
  return value;
}

}  // namespace skyline
