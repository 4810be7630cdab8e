#include "memory/solvers/linear_program.h"

#include <coin/Clp_C_Interface.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <span>

namespace skyline {
namespace {

struct DeleteModel {
  void operator()(Clp_Simplex* model) const { Clp_deleteModel(model); }
};

bool is_limit(double value) {
  return value > -std::numeric_limits<double>::max() && value < std::numeric_limits<double>::max();
}

}  // namespace

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

}  // namespace skyline
