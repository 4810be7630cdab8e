#include "memory/planners/solvers/integer_program.h"

#include <coin/Cbc_C_Interface.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace skyline {
namespace {

// The limits on the numbers of each program are chosen for this tolerance.
constexpr const char* kTolerance = "1e-7";

std::mutex& one_at_a_time() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

void IntegerProgram::DeleteModel::operator()(void* model) const { Cbc_deleteModel(model); }

IntegerProgram::IntegerProgram() : alone_(one_at_a_time()), model_(Cbc_newModel()) {
  Cbc_setLogLevel(model_.get(), 0);
  for (const char* name : {"integerT", "primalT"}) {
    Cbc_setParameter(model_.get(), name, kTolerance);
  }
  Cbc_setParameter(model_.get(), "timeMode", "elapsed");
}

IntegerProgram::~IntegerProgram() = default;

int IntegerProgram::add_column(double lower, double upper, double cost) {
  lowers_.push_back(lower);
  uppers_.push_back(upper);
  costs_.push_back(cost);
  return static_cast<int>(costs_.size()) - 1;
}

int IntegerProgram::add_whole_column(double lower, double upper, double cost) {
  whole_.push_back(add_column(lower, upper, cost));
  return whole_.back();
}

void IntegerProgram::add_row(std::span<const Term> terms, double limit) {
  add_bounded_row(terms, -std::numeric_limits<double>::max(), limit);
}

void IntegerProgram::add_equation(std::span<const Term> terms, double value) {
  add_bounded_row(terms, value, value);
}

void IntegerProgram::add_bounded_row(std::span<const Term> terms, double lower, double upper) {
  const auto row = static_cast<int>(row_uppers_.size());
  for (const Term& term : terms) entries_.push_back({term.column, row, term.factor});
  row_lowers_.push_back(lower);
  row_uppers_.push_back(upper);
}

void IntegerProgram::limit(const std::optional<double>& seconds, int nodes) {
  Cbc_setMaximumNodes(model_.get(), seconds ? std::numeric_limits<int>::max() : nodes);
  if (seconds) Cbc_setMaximumSeconds(model_.get(), *seconds);
}

void IntegerProgram::stop_at_first_solution() { Cbc_setMaximumSolutions(model_.get(), 1); }

// Loads everything at once: CBC copies the whole program for each row or column added alone.
void IntegerProgram::load() {
  std::ranges::stable_sort(entries_, [](const Entry& a, const Entry& b) {
    return a.column != b.column ? a.column < b.column : a.row < b.row;
  });
  std::vector<int> starts(costs_.size() + 1, 0), rows;
  std::vector<double> factors;
  const Entry* last = nullptr;
  for (const Entry& entry : entries_) {
    const bool again = last != nullptr && last->column == entry.column && last->row == entry.row;
    last = &entry;
    if (again) {
      factors.back() += entry.factor;
      continue;
    }
    ++starts[static_cast<std::size_t>(entry.column) + 1];
    rows.push_back(entry.row);
    factors.push_back(entry.factor);
  }
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  Cbc_loadProblem(model_.get(), static_cast<int>(costs_.size()),
                  static_cast<int>(row_uppers_.size()), starts.data(), rows.data(), factors.data(),
                  lowers_.data(), uppers_.data(), costs_.data(), row_lowers_.data(),
                  row_uppers_.data());
  for (const int column : whole_) Cbc_setInteger(model_.get(), column);
}

void IntegerProgram::solve() {
  load();
  Cbc_solve(model_.get());
}

bool IntegerProgram::proved_infeasible() const { return Cbc_isProvenInfeasible(model_.get()) != 0; }

bool IntegerProgram::proved_optimal() const { return Cbc_isProvenOptimal(model_.get()) != 0; }

std::span<const double> IntegerProgram::solution() const {
  const double* found = Cbc_bestSolution(model_.get());
  return found == nullptr ? std::span<const double>() : std::span(found, costs_.size());
}

double IntegerProgram::cost() const { return Cbc_getObjValue(model_.get()); }

}  // namespace skyline
