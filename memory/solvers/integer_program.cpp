#include "memory/solvers/integer_program.h"

#include <coin/Cbc_C_Interface.h>

#include <limits>

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

int IntegerProgram::add_whole_column(double lower, double upper, double cost) {
  whole_.push_back(add_column(lower, upper, cost));
  return whole_.back();
}

void IntegerProgram::limit(const std::optional<double>& seconds, int nodes) {
  Cbc_setMaximumNodes(model_.get(), seconds ? std::numeric_limits<int>::max() : nodes);
  if (seconds) Cbc_setMaximumSeconds(model_.get(), *seconds);
}

void IntegerProgram::stop_at_first_solution() { Cbc_setMaximumSolutions(model_.get(), 1); }

// Loads everything at once: CBC copies the whole program for each row or column added alone.
void IntegerProgram::load() {
  const Matrix all = matrix();
  Cbc_loadProblem(model_.get(), columns(), rows(), all.starts.data(), all.rows.data(),
                  all.factors.data(), lowers().data(), uppers().data(), costs().data(),
                  row_lowers().data(), row_uppers().data());
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
  return found == nullptr ? std::span<const double>() : std::span(found, costs().size());
}

double IntegerProgram::cost() const { return Cbc_getObjValue(model_.get()); }

}  // namespace skyline
