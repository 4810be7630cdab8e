#include "memory/solvers/programs.h"

#include <coin/Cbc_C_Interface.h>
#include <coin/Clp_C_Interface.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "memory/now_seconds.h"

namespace skyline {
namespace {

struct DeleteModel {
  void operator()(Clp_Simplex* model) const { Clp_deleteModel(model); }
};

bool is_limit(double value) {
  return value > -std::numeric_limits<double>::max() && value < std::numeric_limits<double>::max();
}

// The limits on the numbers of each program are chosen for this tolerance.
constexpr const char* kTolerance = "1e-7";

std::mutex& one_at_a_time() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

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

double LinearProgram::least_cost() const {
  const std::unique_ptr<Clp_Simplex, DeleteModel> clp(Clp_newModel());
  Clp_setLogLevel(clp.get(), 0);
  const Matrix all = matrix();
  Clp_loadProblem(clp.get(), columns(), rows(), all.starts.data(), all.rows.data(),
                  all.factors.data(), lowers().data(), uppers().data(), costs().data(),
                  row_lowers().data(), row_uppers().data());
  Clp_initialDualSolve(clp.get());
  const std::span<const double> found(Clp_dualRowSolution(clp.get()), row_uppers().size());
  std::vector<double> prices(found.begin(), found.end());
  double cost = 0;
  for (std::size_t row = 0; row < prices.size(); ++row) {
    const double limit = prices[row] > 0 ? row_lowers()[row] : row_uppers()[row];
    if (!is_limit(limit)) prices[row] = 0;
    if (prices[row] != 0) cost += prices[row] * limit;
  }
  for (std::size_t column = 0; column < costs().size(); ++column) {
    double reduced = costs()[column];
    const auto first = static_cast<std::size_t>(all.starts[column]);
    const auto end = static_cast<std::size_t>(all.starts[column + 1]);
    for (std::size_t k = first; k < end; ++k) {
      reduced -= prices[static_cast<std::size_t>(all.rows[k])] * all.factors[k];
    }
    cost += std::min(reduced * lowers()[column], reduced * uppers()[column]);
  }
  return cost;
}

void IntegerProgram::DeleteModel::operator()(void* model) const { Cbc_deleteModel(model); }

IntegerProgram::IntegerProgram() : alone_(one_at_a_time()), model_(Cbc_newModel()) {
  Cbc_setLogLevel(model_.get(), 0);
  for (const char* name : {"integerT", "primalT"}) {
    Cbc_setParameter(model_.get(), name, kTolerance);
  }
  Cbc_setParameter(model_.get(), "timeMode", "elapsed");
}

IntegerProgram::~IntegerProgram() = default;

int IntegerProgram::add_whole_column(double lower, double upper, double cost) {
  whole_.push_back(add_column(lower, upper, cost));
  return whole_.back();
}

void IntegerProgram::limit(const std::optional<double>& seconds, int nodes) {
  Cbc_setMaximumNodes(model_.get(), seconds ? std::numeric_limits<int>::max() : nodes);
  if (!seconds) return;
  Cbc_setMaximumSeconds(model_.get(), *seconds);
  search_plainly();
}

void IntegerProgram::stop_at_first_solution() { Cbc_setMaximumSolutions(model_.get(), 1); }

void IntegerProgram::start_column(int column, double value) {
  started_.push_back(column);
  start_.push_back(value);
}

// CBC 2.10 crashes where a time limit ends its preprocessing. It looks at the clock between nodes
// only: cuts and heuristics of the first one took up to 28 s more than a limit of 20 s.
void IntegerProgram::search_plainly() {
  for (const char* name : {"preprocess", "cuts", "heuristics"}) {
    Cbc_setParameter(model_.get(), name, "off");
  }
}

// Loads everything at once: CBC copies the whole program for each row or column added alone.
void IntegerProgram::load() {
  const Matrix all = matrix();
  Cbc_loadProblem(model_.get(), columns(), rows(), all.starts.data(), all.rows.data(),
                  all.factors.data(), lowers().data(), uppers().data(), costs().data(),
                  row_lowers().data(), row_uppers().data());
  for (const int column : whole_) Cbc_setInteger(model_.get(), column);
  if (started_.empty()) return;
  Cbc_setMIPStartI(model_.get(), static_cast<int>(started_.size()), started_.data(), start_.data());
}

void IntegerProgram::solve() {
  const double start = now_seconds();
  load();
  Cbc_solve(model_.get());
  seconds_ = now_seconds() - start;
}

bool IntegerProgram::proved_infeasible() const { return Cbc_isProvenInfeasible(model_.get()) != 0; }

bool IntegerProgram::proved_optimal() const { return Cbc_isProvenOptimal(model_.get()) != 0; }

std::span<const double> IntegerProgram::solution() const {
  const double* found = Cbc_bestSolution(model_.get());
  return found == nullptr ? std::span<const double>() : std::span(found, costs().size());
}

double IntegerProgram::cost() const { return Cbc_getObjValue(model_.get()); }

double IntegerProgram::bound() const {
  return proved_optimal() ? cost() : Cbc_getBestPossibleObjValue(model_.get());
}

std::string IntegerProgram::status() const {
  if (proved_infeasible()) return "infeasible";
  if (Cbc_isSolutionLimitReached(model_.get()) != 0) return "first solution";
  if (proved_optimal()) return "optimal";
  if (Cbc_isSecondsLimitReached(model_.get()) != 0) return "time limit";
  return Cbc_isNodeLimitReached(model_.get()) != 0 ? "node limit" : "gave up";
}

SolverReport IntegerProgram::report(std::uint64_t unit_bytes) const {
  constexpr double kNothing = 1e15;  // CBC's infinities are beyond it
  constexpr double kRounding = 1e-4;
  SolverReport report{
      .solver = "CBC",
      .status = status(),
      .nodes = static_cast<std::uint64_t>(std::max(Cbc_getNodeCount(model_.get()), 0)),
      .seconds = seconds_};
  if (report.status != "infeasible" && bound() >= 0 && bound() < kNothing) {
    report.bound = static_cast<std::uint64_t>(std::ceil(bound() - kRounding)) * unit_bytes;
  }
  return report;
}

}  // namespace skyline
