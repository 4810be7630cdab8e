#include "memory/planners/solvers/mip.h"

#include <coin/Cbc_C_Interface.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include "memory/planners/solvers/pair_model.h"

namespace skyline {
namespace {

constexpr PairModelLimits kLimits{.blocks = 1000, .pairs = 20000, .units = 1 << 20};
constexpr int kNodesWithoutTimeLimit = 20000;
// An error of this size in a z_ij moves a block by less than a tenth of a unit: 2^20 × 1e-7.
constexpr const char* kTolerance = "1e-7";

struct DeleteModel {
  void operator()(Cbc_Model* model) const { Cbc_deleteModel(model); }
};

// PGMO's program in units, with columns x_0 … x_(n−1), u, and one z for each pair.
class Program {
 public:
  // `most` is PGMO's W: higher plans are not wanted.
  Program(const PairModel& pairs, std::uint64_t most)
      : pairs_(pairs), most_(static_cast<double>(most)), model_(Cbc_newModel()) {
    Cbc_setLogLevel(model_.get(), 0);
    for (const char* name : {"integerT", "primalT"}) set(name, kTolerance);
    set("timeMode", "elapsed");
    const auto u = static_cast<int>(pairs_.blocks());
    add_columns();
    add_rows(u);
    load();
    for (int column = u; column < columns(); ++column) Cbc_setInteger(model_.get(), column);
  }

  // Limits: seconds, nodes, or the first solution.
  void limit_seconds(double seconds) { Cbc_setMaximumSeconds(model_.get(), seconds); }
  void limit_nodes(int nodes) { Cbc_setMaximumNodes(model_.get(), nodes); }
  void stop_at_first() { Cbc_setMaximumSolutions(model_.get(), 1); }

  void solve() { Cbc_solve(model_.get()); }
  bool proved_infeasible() const { return Cbc_isProvenInfeasible(model_.get()) != 0; }
  bool proved_optimal() const { return Cbc_isProvenOptimal(model_.get()) != 0; }

  // Returns the offsets found; empty if there is no solution.
  std::vector<double> offsets() const {
    const double* solution = Cbc_bestSolution(model_.get());
    if (solution == nullptr) return {};
    std::vector<double> offsets(pairs_.blocks());
    std::copy_n(solution, offsets.size(), offsets.begin());
    return offsets;
  }
  double peak() const { return Cbc_getObjValue(model_.get()); }

 private:
  struct Term {
    int column, row;
    double factor;
  };

  void set(const char* name, const char* value) { Cbc_setParameter(model_.get(), name, value); }

  int columns() const { return static_cast<int>(costs_.size()); }

  void add_columns() {
    for (BlockIndex i = 0; i < pairs_.blocks(); ++i) {
      const bool fixed = pairs_.is_fixed(i);
      const double lower = fixed ? static_cast<double>(pairs_.fixed_units(i)) : 0;
      add_column(lower, fixed ? lower : most_ - size(i), 0);
    }
    add_column(static_cast<double>(pairs_.bound_units()), most_, 1);  // u
    for (std::size_t pair = 0; pair < pairs_.pairs().size(); ++pair) add_column(0, 1, 0);
  }

  void add_column(double lower, double upper, double cost) {
    lowers_.push_back(lower);
    uppers_.push_back(upper);
    costs_.push_back(cost);
  }

  void add_rows(int u) {
    for (BlockIndex i = 0; i < pairs_.blocks(); ++i) {
      add_row({{static_cast<int>(i), 1}, {u, -1}}, -size(i));
    }
    int z = u + 1;
    for (const auto& [first, second] : pairs_.pairs()) {
      const auto i = static_cast<int>(first), j = static_cast<int>(second);
      add_row({{i, 1}, {j, -1}, {z, -most_}}, -size(first));
      add_row({{i, -1}, {j, 1}, {z, most_}}, most_ - size(second));
      ++z;
    }
  }

  // Adds the row Σ factor × column ≤ limit.
  void add_row(std::initializer_list<std::pair<int, double>> terms, double limit) {
    const auto row = static_cast<int>(limits_.size());
    for (const auto& [column, factor] : terms) terms_.push_back({column, row, factor});
    limits_.push_back(limit);
  }

  // Loads everything at once: CBC copies the whole program for each row or column added alone.
  void load() {
    std::stable_sort(terms_.begin(), terms_.end(),
                     [](const Term& a, const Term& b) { return a.column < b.column; });
    std::vector<int> starts(costs_.size() + 1, 0), rows;
    std::vector<double> factors;
    for (const Term& term : terms_) {
      ++starts[static_cast<std::size_t>(term.column) + 1];
      rows.push_back(term.row);
      factors.push_back(term.factor);
    }
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    const std::vector<double> unlimited(limits_.size(), -std::numeric_limits<double>::max());
    Cbc_loadProblem(model_.get(), columns(), static_cast<int>(limits_.size()), starts.data(),
                    rows.data(), factors.data(), lowers_.data(), uppers_.data(), costs_.data(),
                    unlimited.data(), limits_.data());
  }

  double size(BlockIndex block) const { return static_cast<double>(pairs_.size_units(block)); }

  const PairModel& pairs_;
  const double most_;
  std::unique_ptr<Cbc_Model, DeleteModel> model_;
  std::vector<double> lowers_, uppers_, costs_;  // by column
  std::vector<double> limits_;                   // by row
  std::vector<Term> terms_;
};

void improve(PairModel& pairs, const PlanOptions& options) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  std::uint64_t most = pairs.peak_units() - 1;
  if (options.capacity) most = std::min(most, pairs.to_units(*options.capacity));
  Program program(pairs, most);
  program.limit_nodes(kNodesWithoutTimeLimit);
  if (options.time_limit_seconds) {
    program.limit_nodes(std::numeric_limits<int>::max());
    program.limit_seconds(*options.time_limit_seconds);
  }
  if (options.capacity) program.stop_at_first();
  program.solve();
  if (program.proved_infeasible()) return pairs.prove(most + 1);
  const std::vector<double> offsets = program.offsets();
  if (offsets.empty()) return;
  pairs.offer(offsets);
  if (program.proved_optimal() && !options.capacity) {
    pairs.prove(static_cast<std::uint64_t>(std::llround(program.peak())));
  }
}

}  // namespace

Plan mip(const Trace& trace, const PlanOptions& options) {
  const Packing packing(trace, options.alignment);
  PairModel pairs(packing, "mip", kLimits);
  const bool in_time = options.time_limit_seconds.value_or(1) > 0;
  if (in_time && !pairs.settled(options)) improve(pairs, options);
  return pairs.plan(options);
}

}  // namespace skyline
