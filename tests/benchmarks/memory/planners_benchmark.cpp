// Planning time by number of blocks. "mixed": most blocks are short-lived and small, some
// long-lived or large, anywhere in the step. "training": activations stack up and die in reverse,
// with workspaces. Counters: gap in per cent; proved = 1 if the lower bound is reached.
#include <benchmark/benchmark.h>

#include <sstream>

#include "memory/formats/csv/trace_csv.h"
#include "memory/planners/holes/hill_climb.h"
#include "memory/planners/holes/hole_packer.h"
#include "memory/planners/planner.h"
#include "memory/planners/portfolio.h"
#include "memory/planners/skyline/best_fit.h"
#include "memory/planners/skyline/restarts.h"
#include "memory/random_inputs.h"
#include "memory/validator.h"
#include "tests/memory/planners/mixed_trace.h"

namespace skyline {
namespace {

// Returns about `blocks` blocks; a layer has four.
Trace training_trace_of(std::size_t blocks) { return training_trace(1, blocks / 4, 8 << 20); }

void run(benchmark::State& state, PlannerFunction planner, const Trace& trace) {
  Plan plan;
  for (auto _ : state) {
    plan = planner(trace, {});
    benchmark::DoNotOptimize(plan.offsets.data());
  }
  state.counters["gap_percent"] = 100 * plan.gap();
  state.counters["proved"] = plan.proved_optimal ? 1 : 0;
  state.SetComplexityN(static_cast<std::int64_t>(trace.size()));
}

std::size_t blocks(const benchmark::State& state) {
  return static_cast<std::size_t>(state.range(0));
}

void best_fit_mixed(benchmark::State& state) { run(state, best_fit, mixed_trace(blocks(state))); }
void best_fit_training(benchmark::State& state) {
  run(state, best_fit, training_trace_of(blocks(state)));
}
void greedy_by_size_mixed(benchmark::State& state) {
  run(state, greedy_by_size, mixed_trace(blocks(state)));
}
void greedy_by_size_training(benchmark::State& state) {
  run(state, greedy_by_size, training_trace_of(blocks(state)));
}
void greedy_by_lifetime_mixed(benchmark::State& state) {
  run(state, greedy_by_lifetime, mixed_trace(blocks(state)));
}
void program_order_mixed(benchmark::State& state) {
  run(state, program_order, mixed_trace(blocks(state)));
}
void restarts_mixed(benchmark::State& state) { run(state, restarts, mixed_trace(blocks(state))); }
void hill_climb_mixed(benchmark::State& state) {
  run(state, hill_climb, mixed_trace(blocks(state)));
}
void portfolio_training(benchmark::State& state) {
  run(state, portfolio, training_trace_of(blocks(state)));
}
void portfolio_mixed(benchmark::State& state) { run(state, portfolio, mixed_trace(blocks(state))); }

BENCHMARK(best_fit_mixed)
    ->RangeMultiplier(10)
    ->Range(100, 1000000)
    ->Unit(benchmark::kMillisecond)
    ->Complexity(benchmark::oNLogN);
BENCHMARK(best_fit_training)
    ->RangeMultiplier(10)
    ->Range(100, 1000000)
    ->Unit(benchmark::kMillisecond)
    ->Complexity(benchmark::oNLogN);
BENCHMARK(greedy_by_size_mixed)
    ->RangeMultiplier(10)
    ->Range(100, 100000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(greedy_by_size_training)
    ->RangeMultiplier(10)
    ->Range(100, 100000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(greedy_by_lifetime_mixed)->Arg(1000)->Arg(100000)->Unit(benchmark::kMillisecond);
BENCHMARK(program_order_mixed)->Arg(1000)->Arg(100000)->Unit(benchmark::kMillisecond);
BENCHMARK(restarts_mixed)->Arg(200)->Arg(2000)->Unit(benchmark::kMillisecond);
BENCHMARK(hill_climb_mixed)->Arg(200)->Arg(2000)->Unit(benchmark::kMillisecond);
BENCHMARK(portfolio_training)->Arg(200)->Arg(700)->Arg(2000)->Unit(benchmark::kMillisecond);
BENCHMARK(portfolio_mixed)->Arg(200)->Arg(700)->Arg(2000)->Unit(benchmark::kMillisecond);

void validate_mixed(benchmark::State& state) {
  const Trace trace = mixed_trace(blocks(state));
  const Plan plan = best_fit(trace, {});
  for (auto _ : state) {
    const Validity verdict = validate(trace, plan);
    if (!verdict.valid) state.SkipWithError(verdict.reason.c_str());
  }
  state.SetComplexityN(state.range(0));
}
BENCHMARK(validate_mixed)
    ->RangeMultiplier(10)
    ->Range(1000, 1000000)
    ->Unit(benchmark::kMillisecond)
    ->Complexity(benchmark::oNLogN);

void read_csv(benchmark::State& state) {
  std::ostringstream out;
  write_trace_csv(out, mixed_trace(blocks(state)));
  const std::string text = out.str();
  for (auto _ : state) {
    std::istringstream in(text);
    benchmark::DoNotOptimize(read_trace_csv(in, "benchmark").blocks.data());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(read_csv)->Arg(1000000)->Unit(benchmark::kMillisecond);

void write_csv(benchmark::State& state) {
  const Trace trace = mixed_trace(blocks(state));
  for (auto _ : state) {
    std::ostringstream out;
    write_trace_csv(out, trace);
    benchmark::DoNotOptimize(out.str().data());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(write_csv)->Arg(1000000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace skyline
