// Planning time against the number of blocks. "mixed": most blocks short and small, some long or
// large, anywhere in the step; "training": activations that stack up and die in reverse, with
// workspaces. Counters: gap in per cent, proved = 1 when the lower bound is reached.
#include <benchmark/benchmark.h>

#include <cmath>
#include <random>
#include <sstream>

#include "memory/planner.h"
#include "memory/planners/best_fit.h"
#include "memory/planners/greedy.h"
#include "memory/planners/portfolio.h"
#include "memory/trace_csv.h"
#include "tests/memory/random_traces.h"

namespace skyline {
namespace {

Trace mixed_trace(std::size_t blocks) {
  std::mt19937_64 random(1);
  const auto ticks = static_cast<Tick>(2 * blocks);
  const double longest = std::log(static_cast<double>(blocks) / 10);
  Trace trace;
  for (std::size_t i = 0; i < blocks; ++i) {
    const auto lower = static_cast<Tick>(random() % static_cast<std::uint64_t>(ticks));
    const double exponent = static_cast<double>(random() % 1000) / 1000 * longest;
    const Tick upper = std::min(ticks + 1, lower + 1 + static_cast<Tick>(std::exp(exponent)));
    const std::uint64_t largest = random() % 64 == 0 ? 1 << 26 : 1 << 16;
    trace.blocks.push_back({lower, upper, 1 + random() % largest});
  }
  return trace;
}

// As many blocks as `blocks`, nearly: a layer makes four.
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
    ->Unit(benchmark::kMillisecond)
    ->Complexity(benchmark::oNSquared);
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
    benchmark::DoNotOptimize(read_trace_csv(in, "benchmark").trace.blocks.data());
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
