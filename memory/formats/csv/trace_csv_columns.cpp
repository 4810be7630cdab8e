#include "memory/formats/csv/trace_csv_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "memory/errors.h"

namespace skyline {
namespace {

// In the order of TraceColumn.
constexpr std::array<std::string_view, kTraceColumns> kNames = {
    "id",           "lower", "upper",          "size",         "alignment", "gaps",   "op",
    "layer",        "phase", "category",       "offset",       "planner",   "peak",   "lower_bound",
    "proved_bound", "gap",   "proved_optimal", "fixed_blocks", "seed",      "seconds"};

// MiniMalloc's other names.
constexpr std::pair<std::string_view, TraceColumn> kAliases[] = {
    {"buffer", TraceColumn::kId},   {"buffer_id", TraceColumn::kId}, {"start", TraceColumn::kLower},
    {"begin", TraceColumn::kLower}, {"end", TraceColumn::kUpper},
};

constexpr TraceColumn kRequired[] = {TraceColumn::kId, TraceColumn::kLower, TraceColumn::kUpper,
                                     TraceColumn::kSize};

// kCount for a name that is not known.
TraceColumn column_named(std::string_view name) {
  for (const auto& [alias, column] : kAliases) {
    if (alias == name) return column;
  }
  const auto known = std::find(kNames.begin(), kNames.end(), name);
  return static_cast<TraceColumn>(known - kNames.begin());
}

[[noreturn]] void refuse(const CsvRecords& records, std::string_view field, std::string problem) {
  throw TraceError({.source = std::string(records.source()),
                    .line = records.line(),
                    .field = std::string(field),
                    .problem = std::move(problem)});
}

}  // namespace

std::string_view column_name(TraceColumn column) {
  return kNames[static_cast<std::size_t>(column)];
}

std::string_view trimmed_cell(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::string shown_cell(std::string_view field) {
  constexpr std::size_t kLongest = 60;
  std::string text(field.substr(0, kLongest));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, '?');
  return fmt::format("got \"{}{}\"", text, field.size() > kLongest ? "…" : "");
}

TraceColumns::TraceColumns(CsvRecords& records) {
  position_.fill(kAbsent);
  if (!records.next()) {
    refuse(records, "", "got no text, expected a header line with the columns id,lower,upper,size");
  }
  for (const std::string_view field : records.fields()) header_.emplace_back(trimmed_cell(field));
  for (std::size_t i = 0; i < header_.size(); ++i) note(records, i);
  if (std::none_of(std::begin(kRequired), std::end(kRequired),
                   [this](TraceColumn column) { return has(column); })) {
    refuse(records, "",
           shown_cell(fmt::format("{}", fmt::join(header_, ","))) +
               ", expected a header line with the columns id,lower,upper,size");
  }
  for (const TraceColumn column : kRequired) require(records, column);
}

void TraceColumns::note(const CsvRecords& records, std::size_t position) {
  const std::string& name = header_[position];
  const TraceColumn column = column_named(name);
  if (column == TraceColumn::kCount) return;
  std::size_t& place = position_[at(column)];
  if (place != kAbsent) {
    refuse(records, name,
           header_[place] == name
               ? "the header names this column twice"
               : fmt::format("the header has this column already, as {}", header_[place]));
  }
  place = position;
}

bool TraceColumns::has_certificate() const {
  return std::none_of(position_.begin() + static_cast<std::ptrdiff_t>(at(kFirstOfCertificate)),
                      position_.end(), [](std::size_t place) { return place == kAbsent; });
}

std::string_view TraceColumns::name(TraceColumn column) const {
  return has(column) ? std::string_view(header_[position_[at(column)]]) : std::string_view{};
}

void TraceColumns::require(const CsvRecords& records, TraceColumn column) const {
  if (has(column)) return;
  refuse(records, "",
         fmt::format("there is no column \"{}\" among {}", column_name(column),
                     fmt::join(header_, ",")));
}

}  // namespace skyline
