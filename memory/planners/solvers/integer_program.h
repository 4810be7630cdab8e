#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace skyline {

// A linear program with some whole columns, solved by COIN-OR CBC. Only one exists at a time in a
// process, because CBC keeps state in global variables: the constructor waits for the one before.
class IntegerProgram {
 public:
  struct Term {
    int column;
    double factor;
  };
  using Terms = std::vector<Term>;

  IntegerProgram();
  ~IntegerProgram();
  IntegerProgram(const IntegerProgram&) = delete;
  IntegerProgram& operator=(const IntegerProgram&) = delete;

  // Adds a column and returns its number. The sum of cost × column is minimized.
  int add_column(double lower, double upper, double cost = 0);
  int add_whole_column(double lower, double upper, double cost = 0);
  // Adds the row Σ factor × column ≤ limit. A column may occur in several terms.
  void add_row(std::span<const Term> terms, double limit);
  // Adds the row Σ factor × column = value.
  void add_equation(std::span<const Term> terms, double value);

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
  void add_bounded_row(std::span<const Term> terms, double lower, double upper);
  void load();

  struct Entry {
    int column, row;
    double factor;
  };
  struct DeleteModel {
    void operator()(void* model) const;  // a Cbc_Model
  };

  const std::unique_lock<std::mutex> alone_;
  const std::unique_ptr<void, DeleteModel> model_;
  std::vector<double> lowers_, uppers_, costs_;  // by column
  std::vector<int> whole_;                       // columns
  std::vector<double> row_lowers_, row_uppers_;  // by row
  std::vector<Entry> entries_;
};

}  // namespace skyline
