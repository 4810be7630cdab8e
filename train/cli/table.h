#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace skyline {

enum class Align { kLeft, kRight };

// A table in characters:
//
//   allocator       reserved   step
//   ─────────────  ─────────  ─────
//   best-fit-pool  12.41 MiB  31 ms
//
// Cells may hold UTF-8; widths are counted in characters.
class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::kRight;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many cells as columns (std::logic_error otherwise); an unknown figure is an empty string
  // and printed as "–".
  void add_row(std::vector<std::string> cells);
  std::string str() const;  // ends with a newline; no trailing blanks

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Columns that `text` takes, one for each character of UTF-8.
std::size_t display_width(std::string_view text);

}  // namespace skyline
