#pragma once

#include "memory/solvers/linear_model.h"

namespace skyline {

// A linear model without whole columns, solved by COIN-OR CLP.
class LinearProgram : public LinearModel {
 public:
  // Returns a cost that no solution is below. It is what CLP's prices of the rows prove by
  // themselves (weak duality): CLP's tolerances can make it lower than the least cost, but not
  // higher. All columns must have finite limits.
  double least_cost() const;
};

}  // namespace skyline
