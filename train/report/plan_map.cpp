#include "train/report/plan_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

#include "memory/errors.h"
#include "train/cli/byte_sizes.h"
#include "train/cli/table.h"

namespace skyline {
namespace {

constexpr std::size_t kKinds = kCategoryCount + 1;  // the last is free memory
constexpr std::size_t kFree = kCategoryCount;
constexpr std::size_t kLabelColumns = 13;  // on the left of the map

struct Look {
  std::string_view glyph;
  int colour;  // one of a terminal's 256
};
// In the order of Category, then free memory.
constexpr std::array<Look, kKinds> kLooks = {{{"i", 109},
                                              {"a", 68},
                                              {"g", 173},
                                              {"w", 179},
                                              {"t", 140},
                                              {"p", 72},
                                              {"d", 167},
                                              {"o", 102},
                                              {"s", 144},
                                              {"#", 246},
                                              {"·", 240}}};

std::string_view kind_name(std::size_t kind) {
  return kind == kFree ? "free" : category_name(static_cast<Category>(kind));
}

// Counts how much of each cell, and of the whole map, each category fills.
class Canvas {
 public:
  Canvas(const Trace& trace, const Plan& plan, int columns, int rows)
      : columns_(static_cast<std::size_t>(columns)),
        rows_(static_cast<std::size_t>(rows)),
        cells_(columns_ * rows_) {
    first_ = trace.blocks.front().lower;
    last_ = trace.blocks.front().upper;
    for (const TraceBlock& block : trace.blocks) {
      first_ = std::min(first_, block.lower);
      last_ = std::max(last_, block.upper);
    }
    for (auto& cell : cells_) cell[kFree] = 1.0;
    shares_[kFree] = 1.0;
    auto gap = trace.gaps.begin();
    for (std::size_t i = 0; i < trace.size(); ++i) {
      Tick from = trace.blocks[i].lower;
      for (; gap != trace.gaps.end() && gap->block == i; from = (gap++)->upper) {
        paint(trace, plan, i, from, gap->lower);
      }
      paint(trace, plan, i, from, trace.blocks[i].upper);
    }
  }

  // Returns what fills most of a cell. Row 0 is the lowest.
  std::size_t kind_at(std::size_t column, std::size_t row) const {
    const auto& cell = cells_[row * columns_ + column];
    return static_cast<std::size_t>(std::max_element(cell.begin(), cell.end()) - cell.begin());
  }
  double share(std::size_t kind) const { return shares_[kind]; }
  Tick first() const { return first_; }
  Tick last() const { return last_; }

 private:
  // Adds a block during ticks [lower, upper).
  void paint(const Trace& trace, const Plan& plan, std::size_t index, Tick lower, Tick upper) {
    const double ticks = ticks_since_first(last_);
    const auto peak = static_cast<double>(plan.peak);
    const auto offset = static_cast<double>(plan.offsets[index]);
    const auto bytes = static_cast<double>(planned_bytes(trace, index, plan.alignment));
    const double width = static_cast<double>(columns_);
    const double height = static_cast<double>(rows_);
    const double left = ticks_since_first(lower) / ticks * width;
    const double right = ticks_since_first(upper) / ticks * width;
    const double bottom = offset / peak * height;
    const double top = (offset + bytes) / peak * height;
    const std::size_t kind = trace.tags.empty()
                                 ? static_cast<std::size_t>(Category::kUnknown)
                                 : static_cast<std::size_t>(trace.tags[index].category);
    move(shares_, kind, (right - left) * (top - bottom) / (width * height));
    for (auto row = static_cast<std::size_t>(bottom); row < rows_ && static_cast<double>(row) < top;
         ++row) {
      const double tall = overlap(row, bottom, top);
      for (auto column = static_cast<std::size_t>(left);
           column < columns_ && static_cast<double>(column) < right; ++column) {
        move(cells_[row * columns_ + column], kind, tall * overlap(column, left, right));
      }
    }
  }

  // Subtracts before converting, because a double cannot represent every tick.
  double ticks_since_first(Tick tick) const {
    return static_cast<double>(static_cast<std::uint64_t>(tick) -
                               static_cast<std::uint64_t>(first_));
  }

  static double overlap(std::size_t cell, double from, double to) {
    const auto begin = static_cast<double>(cell);
    return std::max(0.0, std::min(begin + 1, to) - std::max(begin, from));
  }

  static void move(std::array<double, kKinds>& parts, std::size_t kind, double amount) {
    parts[kind] += amount;
    parts[kFree] -= amount;
  }

  std::size_t columns_, rows_;
  std::vector<std::array<double, kKinds>> cells_;
  std::array<double, kKinds> shares_{};
  Tick first_ = 0, last_ = 0;
};

std::string drawn(std::size_t kind, bool colour) {
  const Look& look = kLooks[kind];
  if (!colour) return std::string(look.glyph);
  return fmt::format("\x1b[38;5;{}m{}\x1b[0m", look.colour, look.glyph);
}

// Adjacent cells of one kind share their colour codes.
std::string drawn_row(const Canvas& canvas, std::size_t columns, std::size_t row, bool colour) {
  std::string line;
  for (std::size_t column = 0; column < columns; ++column) {
    const std::size_t kind = canvas.kind_at(column, row);
    const bool begins = column == 0 || canvas.kind_at(column - 1, row) != kind;
    const bool ends = column + 1 == columns || canvas.kind_at(column + 1, row) != kind;
    if (colour && begins) line += fmt::format("\x1b[38;5;{}m", kLooks[kind].colour);
    line += kLooks[kind].glyph;
    if (colour && ends) line += "\x1b[0m";
  }
  return line;
}

// Entries that do not fit into `columns` stand on another line.
std::string legend(const Canvas& canvas, std::size_t columns, bool colour) {
  std::string text;
  std::size_t width = 0;
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    const double share = canvas.share(kind);
    if (share <= (kind == kFree ? 1e-9 : 0.0)) continue;
    const std::string figure = share < 0.005 ? "< 1" : fmt::format("{:.0f}", 100 * share);
    const std::string rest = fmt::format(" {} {} %", kind_name(kind), figure);
    const std::size_t entry = 4 + display_width(rest);  // with three blanks and the glyph
    if (width > 0 && width + entry > columns) {
      text += '\n';
      width = 0;
    }
    width += entry;
    text += "   " + drawn(kind, colour) + rest;
  }
  return text + "\n";
}

}  // namespace

std::string plan_map(const Trace& trace, const Plan& plan, int columns, int rows, bool colour) {
  if (columns < 1 || rows < 1)
    throw std::invalid_argument("a map needs at least one column and row");
  if (plan.offsets.size() != trace.size()) {
    throw PlanMismatch(
        fmt::format("the plan has {} offsets for {} blocks", plan.offsets.size(), trace.size()));
  }
  if (trace.size() == 0) return "an empty plan: the trace has no blocks\n";
  const Canvas canvas(trace, plan, columns, rows);
  std::string map;
  for (int row = rows - 1; row >= 0; --row) {
    const std::string label = row == rows - 1 ? format_bytes(plan.peak)
                              : row == 0      ? format_bytes(0)
                                              : "";
    map += fmt::format("{:>11} {}{}\n", label, label.empty() ? "│" : "┤",
                       drawn_row(canvas, static_cast<std::size_t>(columns),
                                 static_cast<std::size_t>(row), colour));
  }
  map += fmt::format("{:>11} └", "");
  for (int column = 0; column < columns; ++column) map += "─";
  const std::string first = fmt::format("{}", canvas.first());
  map += fmt::format("\n{:>13}{} {:>{}}\n", "", first, fmt::format("{} ticks", canvas.last()),
                     std::max(columns - static_cast<int>(first.size()) - 1, 1));
  return map + legend(canvas, kLabelColumns + static_cast<std::size_t>(columns), colour);
}

}  // namespace skyline
