// Linear and integer programs, solved by COIN-OR CLP and CBC.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "memory/plan.h"

namespace skyline {

// A linear model has columns between two limits, and rows that bound sums of them. Its solvers,
// LinearProgram and IntegerProgram, minimize the sum of cost × column.
class LinearModel {
 public:
  struct Term {
    int column;
    double factor;
  };
  using Terms = std::vector<Term>;

  // Adds a column and returns its number.
  int add_column(double lower, double upper, double cost = 0);
  // Adds the row Σ factor × column ≤ limit. A column may occur in several terms.
  void add_row(std::span<const Term> terms, double limit);
  // Adds the row Σ factor × column = value.
  void add_equation(std::span<const Term> terms, double value);

  int columns() const { return static_cast<int>(costs_.size()); }
  int rows() const { return static_cast<int>(row_uppers_.size()); }
  const std::vector<double>& lowers() const { return lowers_; }  // by column
  const std::vector<double>& uppers() const { return uppers_; }
  const std::vector<double>& costs() const { return costs_; }
  const std::vector<double>& row_lowers() const { return row_lowers_; }
  const std::vector<double>& row_uppers() const { return row_uppers_; }

  // The factors, column by column, as COIN-OR's solvers take them.
  struct Matrix {
    std::vector<int> starts, rows;  // starts: of each column in rows and factors, and an end
    std::vector<double> factors;
  };
  Matrix matrix() const;

 private:
  void add_bounded_row(std::span<const Term> terms, double lower, double upper);

  struct Entry {
    int column, row;
    double factor;
  };

  std::vector<double> lowers_, uppers_, costs_;
  std::vector<double> row_lowers_, row_uppers_;
  std::vector<Entry> entries_;
};

// A linear model without whole columns, solved by COIN-OR CLP.
class LinearProgram : public LinearModel {
 public:
  // Returns a cost that no solution is below. It is what CLP's prices of the rows prove by
  // themselves (weak duality): CLP's tolerances can make it lower than the least cost, but not
  // higher. All columns must have finite limits.
  double least_cost() const;
};

// A linear model with some whole columns, solved by COIN-OR CBC. Only one exists at a time in a
// process, because CBC keeps state in global variables: the constructor waits for the one before.
class IntegerProgram : public LinearModel {
 public:
  IntegerProgram();
  ~IntegerProgram();
  IntegerProgram(const IntegerProgram&) = delete;
  IntegerProgram& operator=(const IntegerProgram&) = delete;

  int add_whole_column(double lower, double upper, double cost = 0);
  const std::vector<int>& whole() const { return whole_; }  // columns

  // Stops after `seconds`, for which it searches plainly, or if they are unset after `nodes`. CBC
  // looks at the clock between two linear programs, each of which may take seconds where there are
  // ten thousand columns.
  void limit(const std::optional<double>& seconds, int nodes);
  void stop_at_first_solution();
  // CBC begins with a solution that has this value in a whole column; give all of them, or none.
  void start_column(int column, double value);
  // Leaves out preprocessing, cuts and heuristics, which are waste where the start is the best.
  void search_plainly();

  // Call once, after all else.
  void solve();
  bool proved_infeasible() const;
  bool proved_optimal() const;
  // Returns the best solution found, by column; empty if there is none.
  std::span<const double> solution() const;
  double cost() const;   // of the solution
  double bound() const;  // no solution costs less
  // `unit_bytes`: of a cost of 1. Costs are whole.
  SolverReport report(std::uint64_t unit_bytes) const;

 private:
  void load();
  std::string status() const;

  struct DeleteModel {
    void operator()(void* model) const;  // a Cbc_Model
  };

  const std::unique_lock<std::mutex> alone_;
  const std::unique_ptr<void, DeleteModel> model_;
  std::vector<int> whole_;  // columns
  std::vector<int> started_;
  std::vector<double> start_;  // of the columns in started_
  double seconds_ = 0;         // of solve()
};

}  // namespace skyline
