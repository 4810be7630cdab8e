#include "memory/solvers/program_text.h"

#include <fmt/format.h>

#include <iterator>
#include <limits>
#include <vector>

namespace skyline {
namespace {

bool is_equation(const LinearModel& program, std::size_t row) {
  return program.row_lowers()[row] == program.row_uppers()[row];
}

// Calls visit(column, row, factor) column by column.
template <typename Visit>
void visit_factors(const LinearModel& program, Visit visit) {
  const LinearModel::Matrix all = program.matrix();
  for (std::size_t column = 0; column + 1 < all.starts.size(); ++column) {
    for (auto k = static_cast<std::size_t>(all.starts[column]);
         k < static_cast<std::size_t>(all.starts[column + 1]); ++k) {
      visit(column, static_cast<std::size_t>(all.rows[k]), all.factors[k]);
    }
  }
}

std::string commented(std::string_view mark, std::string_view head) {
  std::string text = fmt::format("{} ", mark);
  for (const char c : head) text += c == '\n' ? fmt::format("\n{} ", mark) : std::string(1, c);
  return text + '\n';
}

std::vector<bool> whole_columns(const IntegerProgram& program) {
  std::vector<bool> whole(program.costs().size());
  for (const int column : program.whole()) whole[static_cast<std::size_t>(column)] = true;
  return whole;
}

}  // namespace

std::string lp_text(const IntegerProgram& program, std::span<const std::string> columns,
                    std::string_view head) {
  const auto term = [&](double factor, std::size_t column) {
    return fmt::format(" {} {:.17g} {}", factor < 0 ? '-' : '+', factor < 0 ? -factor : factor,
                       columns[column]);
  };
  std::vector<std::string> sums(program.row_uppers().size());
  visit_factors(program, [&](std::size_t column, std::size_t row, double factor) {
    sums[row] += term(factor, column);
  });
  std::string text = commented("\\", head) + "Minimize\n cost:";
  for (std::size_t column = 0; column < columns.size(); ++column) {
    if (program.costs()[column] != 0) text += term(program.costs()[column], column);
  }
  text += "\nSubject To\n";
  const auto out = std::back_inserter(text);
  for (std::size_t row = 0; row < sums.size(); ++row) {
    fmt::format_to(out, " r{}:{} {} {:.17g}\n", row, sums[row],
                   is_equation(program, row) ? "=" : "<=", program.row_uppers()[row]);
  }
  text += "Bounds\n";
  for (std::size_t column = 0; column < columns.size(); ++column) {
    fmt::format_to(out, " {:.17g} <= {} <= {:.17g}\n", program.lowers()[column], columns[column],
                   program.uppers()[column]);
  }
  text += "Generals\n";
  for (const int column : program.whole()) {
    fmt::format_to(out, " {}\n", columns[static_cast<std::size_t>(column)]);
  }
  return text + "End\n";
}

std::string mps_text(const IntegerProgram& program, std::span<const std::string> columns,
                     std::string_view head) {
  std::string text = commented("*", head) + "NAME          PROGRAM\nROWS\n N  cost\n";
  const auto out = std::back_inserter(text);
  for (std::size_t row = 0; row < program.row_uppers().size(); ++row) {
    fmt::format_to(out, " {}  r{}\n", is_equation(program, row) ? 'E' : 'L', row);
  }
  text += "COLUMNS\n";
  const std::vector<bool> whole = whole_columns(program);
  const auto add = [&](std::string_view column, std::string_view row, double number) {
    fmt::format_to(out, "    {:<8}  {:<8}  {:>12.12g}\n", column, row, number);
  };
  constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  std::size_t last = kNone;
  visit_factors(program, [&](std::size_t column, std::size_t row, double factor) {
    if (column != last) {
      if (whole[column] != (last != kNone && whole[last])) {
        fmt::format_to(out, "    {:<8}  {:<8}  {:>14}'{}'\n", "MARKER", "'MARKER'", "",
                       whole[column] ? "INTORG" : "INTEND");
      }
      if (program.costs()[column] != 0) add(columns[column], "cost", program.costs()[column]);
      last = column;
    }
    add(columns[column], fmt::format("r{}", row), factor);
  });
  if (last != kNone && whole[last]) {
    fmt::format_to(out, "    {:<8}  {:<8}  {:>14}'INTEND'\n", "MARKER", "'MARKER'", "");
  }
  text += "RHS\n";
  for (std::size_t row = 0; row < program.row_uppers().size(); ++row) {
    add("RHS", fmt::format("r{}", row), program.row_uppers()[row]);
  }
  text += "BOUNDS\n";
  for (std::size_t column = 0; column < columns.size(); ++column) {
    for (const auto& [kind, number] :
         {std::pair("LO", program.lowers()[column]), {"UP", program.uppers()[column]}}) {
      fmt::format_to(out, " {} {:<8}  {:<8}  {:>12.12g}\n", kind, "BND", columns[column], number);
    }
  }
  return text + "ENDATA\n";
}

}  // namespace skyline
