#include "memory/solvers/linear_model.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace skyline {

int LinearModel::add_column(double lower, double upper, double cost) {
  lowers_.push_back(lower);
  uppers_.push_back(upper);
  costs_.push_back(cost);
  return columns() - 1;
}

void LinearModel::add_row(std::span<const Term> terms, double limit) {
  add_bounded_row(terms, -std::numeric_limits<double>::max(), limit);
}

void LinearModel::add_equation(std::span<const Term> terms, double value) {
  add_bounded_row(terms, value, value);
}

void LinearModel::add_bounded_row(std::span<const Term> terms, double lower, double upper) {
  for (const Term& term : terms) entries_.push_back({term.column, rows(), term.factor});
  row_lowers_.push_back(lower);
  row_uppers_.push_back(upper);
}

LinearModel::Matrix LinearModel::matrix() const {
  std::vector<Entry> sorted = entries_;
  std::ranges::stable_sort(sorted, [](const Entry& a, const Entry& b) {
    return a.column != b.column ? a.column < b.column : a.row < b.row;
  });
  Matrix matrix;
  matrix.starts.assign(costs_.size() + 1, 0);
  const Entry* last = nullptr;
  for (const Entry& entry : sorted) {
    const bool again = last != nullptr && last->column == entry.column && last->row == entry.row;
    last = &entry;
    if (again) {
      matrix.factors.back() += entry.factor;
      continue;
    }
    ++matrix.starts[static_cast<std::size_t>(entry.column) + 1];
    matrix.rows.push_back(entry.row);
    matrix.factors.push_back(entry.factor);
  }
  std::partial_sum(matrix.starts.begin(), matrix.starts.end(), matrix.starts.begin());
  return matrix;
}

}  // namespace skyline
