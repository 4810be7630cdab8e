#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "memory/solvers/linear_model.h"

namespace skyline {

// A linear model with some whole columns, solved by COIN-OR CBC. Only one exists at a time in a
// process, because CBC keeps state in global variables: the constructor waits for the one before.
class IntegerProgram : public LinearModel {
 public:
  IntegerProgram();
  ~IntegerProgram();
  IntegerProgram(const IntegerProgram&) = delete;
  IntegerProgram& operator=(const IntegerProgram&) = delete;

  int add_whole_column(double lower, double upper, double cost = 0);

  // Stops after `seconds`, or if they are unset after `nodes`.
  void limit(const std::optional<double>& seconds, int nodes);
  void stop_at_first_solution();

  // Call once, after all else.
  void solve();
  bool proved_infeasible() const;
  bool proved_optimal() const;
  // Returns the best solution found, by column; empty if there is none.
  std::span<const double> solution() const;
  double cost() const;  // of the solution

 private:
  void load();

  struct DeleteModel {
    void operator()(void* model) const;  // a Cbc_Model
  };

  const std::unique_lock<std::mutex> alone_;
  const std::unique_ptr<void, DeleteModel> model_;
  std::vector<int> whole_;  // columns
};

}  // namespace skyline
