#include "train/cli/table.h"

#include <unistd.h>

#include <algorithm>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "train/cli/console.h"

namespace skyline {
namespace {

constexpr std::string_view kUnknown = "–", kRule = "─", kGap = "  ";

std::string repeated(std::string_view text, std::size_t times) {
  std::string result;
  for (std::size_t i = 0; i < times; ++i) result += text;
  return result;
}

std::string padded(const std::string& cell, std::size_t width, bool is_text) {
  const std::string blanks(width - display_width(cell), ' ');
  return is_text ? cell + blanks : blanks + cell;
}

void end_line(std::string& text) {
  while (!text.empty() && text.back() == ' ') text.pop_back();
  text += '\n';
}

}  // namespace

std::size_t output_columns() {
  const TerminalFacts facts = terminal_facts(STDOUT_FILENO);
  return facts.is_terminal ? static_cast<std::size_t>(facts.width)
                           : std::numeric_limits<std::size_t>::max();
}

std::size_t display_width(std::string_view text) {
  // Bytes 10xxxxxx continue a character, so they take no column.
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

Table::Table(std::string_view titles) {
  constexpr std::string_view kBar = " | ";
  for (std::size_t begin = 0, end = 0; end != titles.npos; begin = end + kBar.size()) {
    end = titles.find(kBar, begin);
    const std::string_view title = titles.substr(begin, end - begin);
    const bool is_text = title.starts_with('<');
    columns_.push_back({std::string(title.substr(is_text ? 1 : 0)), is_text});
  }
}

void Table::add_row(std::vector<std::string> cells) {
  if (cells.size() != columns_.size()) {
    throw std::logic_error("[table] got " + std::to_string(cells.size()) + " cells, expected " +
                           std::to_string(columns_.size()));
  }
  for (std::string& cell : cells) {
    if (cell.empty()) cell = kUnknown;
  }
  rows_.push_back(std::move(cells));
}

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    widths.push_back(display_width(columns_[c].title));
    for (const auto& row : rows_) widths[c] = std::max(widths[c], display_width(row[c]));
  }
  return widths;
}

std::string Table::str(std::size_t most_columns) const {
  const std::vector<std::size_t> widths = this->widths();
  std::string text;
  std::vector<std::size_t> shown;
  const auto add_line = [&](const auto& cell) {
    for (const std::size_t c : shown) {
      if (c != shown.front()) text += kGap;
      text += padded(cell(c), widths[c], columns_[c].is_text);
    }
    end_line(text);
  };
  for (std::size_t next = 1; next <= columns_.size();) {
    shown = {0};
    for (std::size_t width = widths[0]; next < columns_.size(); shown.push_back(next++)) {
      width += kGap.size() + widths[next];
      if (width > most_columns && shown.size() > 1) break;
    }
    if (!text.empty()) text += '\n';
    add_line([this](std::size_t c) { return columns_[c].title; });
    add_line([&widths](std::size_t c) { return repeated(kRule, widths[c]); });
    for (const auto& row : rows_) add_line([&row](std::size_t c) { return row[c]; });
    if (next == columns_.size()) break;
  }
  return text;
}

std::string wrapped(const std::string& text, std::size_t columns, std::string_view indent) {
  std::string result;
  std::size_t column = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line); column = 0) {
    if (!result.empty()) result.append("\n").append(indent);
    std::istringstream words(line);
    for (std::string word; words >> word; column += display_width(word) + 1) {
      const bool fits = column + display_width(word) <= columns;
      if (column > 0 && fits) result += ' ';
      if (column > 0 && !fits) result.append("\n").append(indent);
      if (!fits) column = 0;
      result += word;
    }
  }
  return result;
}

std::string wrapped_sentences(std::string_view text, std::size_t columns) {
  std::string result;
  while (!text.empty()) {
    const std::string line(text.substr(0, text.find('\n')));
    const bool is_drawn = line.starts_with(' ') || line.find("  ") != line.npos;
    result += is_drawn || display_width(line) <= columns ? line : wrapped(line, columns);
    text.remove_prefix(std::min(line.size(), text.size()));
    if (text.empty()) break;
    result += '\n';
    text.remove_prefix(1);
  }
  return result;
}

}  // namespace skyline
