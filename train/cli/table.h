#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace skyline {

// The characters in a line of the terminal behind standard output; of a file or pipe, no limit.
std::size_t output_columns();

// A table of text:
//
//   allocator       reserved   step
//   ─────────────  ─────────  ─────
//   best-fit-pool  12.41 MiB  31 ms
//
// Cells may hold UTF-8; widths are counted in characters.
class Table {
 public:
  // The titles stand between bars: "<allocator | reserved | step". That of a column of text begins
  // with "<": the column is aligned left, others are aligned right.
  explicit Table(std::string_view titles);

  struct Column {
    std::string title;
    bool is_text = false;
  };
  const std::vector<Column>& columns() const { return columns_; }
  const std::vector<std::vector<std::string>>& rows() const { return rows_; }

  // One cell per column, else throws std::logic_error. An empty cell is an unknown figure, printed
  // as "–".
  void add_row(std::vector<std::string> cells);
  // Ends with a newline; lines have no trailing blanks. Columns that do not fit into
  // `most_columns` characters stand below the others, beside the first column again.
  std::string str(std::size_t most_columns = output_columns()) const;

 private:
  std::vector<std::size_t> widths() const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// The columns of `text`: one per UTF-8 character.
std::size_t display_width(std::string_view text);
// Wraps lines at blanks and keeps the text's own line breaks. New lines begin with `indent`.
std::string wrapped(const std::string& text, std::size_t columns, std::string_view indent = "");
// Wraps the sentences that are longer than `columns`. Lines that begin with a blank and those of
// tables and maps, which are made for the terminal's width, stay as they are.
std::string wrapped_sentences(std::string_view text, std::size_t columns);

}  // namespace skyline
