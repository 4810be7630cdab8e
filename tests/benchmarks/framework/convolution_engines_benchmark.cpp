// Seconds and workspace of each engine for every distinct convolution of a network's training step,
// beside the direct kernel: the fastest of TURNS each, in turns. Then the sums over a step: all
// direct, by the rule of shapes, the fastest of each.
//
//   OMP_NUM_THREADS=2 convolution_engines_benchmark [BATCH [TURNS [MODEL...]]]

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "framework/ops/connection/conv2d_engines_cpu.h"
#include "models/models.h"
#include "tests/benchmarks/framework/observed_ops.h"
#include "tests/benchmarks/framework/op_parameters.h"
#include "train/lab/dry_run/model_dry_run.h"

namespace skyline {
namespace {

// One convolution and how often a step runs it.
struct Work {
  ConvolutionKind kind;
  Conv2dProblem problem;
  int runs = 0;
};

Conv2dParams params_of(const ExecutedOp& op) {
  const OpParameters text(op.parameters);
  const auto size = [&](std::string_view name) {
    const dnnl::memory::dims dims = text.size(name);
    return Size2d(static_cast<int>(dims[0]), static_cast<int>(dims[1]));
  };
  const bool grouped = op.parameters.find("groups=") != std::string::npos;
  return {.stride = size("stride"),
          .padding = size("padding"),
          .groups = grouped ? static_cast<int>(text.number("groups")) : 1,
          .relu = text.flag("relu")};
}

Conv2dProblem problem_of(ConvolutionKind kind, const ExecutedOp& op) {
  const auto in = [&](std::size_t i) { return op.inputs[i].spec.shape; };
  const auto out = op.outputs[0].spec.shape;
  switch (kind) {
    case ConvolutionKind::kForward:
      return {in(0), in(1), out, params_of(op), op.inputs.size() == 3};
    case ConvolutionKind::kGradInput:
      return {out, in(0), in(1), params_of(op), false};
    default:
      return {in(0), out, in(1), params_of(op), op.outputs.size() == 2};
  }
}

std::map<std::string, Work> work_of(const std::string& model, std::int64_t batch) {
  const DryRunOptions step{.model = model,
                           .shape = find_model(model).shape,
                           .batch_size = batch,
                           .compute = std::make_shared<CpuCompute>()};
  dry_run(step);  // chooses engines in dry runs of its own
  OpLog log;
  dry_run(step);
  std::map<std::string, Work> all;
  for (const ExecutedOp& op : log.take()) {
    for (const auto kind :
         {ConvolutionKind::kForward, ConvolutionKind::kGradInput, ConvolutionKind::kGradWeight}) {
      if (op.name != convolution_name(kind)) continue;
      const Conv2dProblem problem = problem_of(kind, op);
      Work& work =
          all.try_emplace(op.name + " " + problem.str(), Work{kind, problem}).first->second;
      ++work.runs;
    }
  }
  return all;
}

struct Sums {
  double direct = 0, by_shape = 0, fastest = 0;
  void add(const Sums& more) {
    direct += more.direct;
    by_shape += more.by_shape;
    fastest += more.fastest;
  }
  Sums times(double runs) const { return {runs * direct, runs * by_shape, runs * fastest}; }
  std::string str() const {
    return fmt::format("direct {:8.2f} ms, by shape {:.3f}, fastest {:.3f}", 1e3 * direct,
                       by_shape / direct, fastest / direct);
  }
};

double mib(std::size_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

// Prints one convolution: its operands, and each engine's ratio of seconds and workspace. The
// rule's engine has a star.
Sums compare(const Work& work, int turns) {
  const std::vector<EngineTime> times = time_engines(work.kind, work.problem, turns);
  const double direct = times.front().seconds;
  const ConvolutionEngine chosen = engine_by_shape(work.kind, work.problem);
  const Shape &x = work.problem.x, &weight = work.problem.weight, &y = work.problem.y;
  fmt::print("{:18} x{:<2} {:4} > {:4} {}x{} /{} of {:3}x{:<3} {:4} {:6.1f} MiB | {:8.3f} ms",
             convolution_name(work.kind), work.runs, x[1], weight[0], weight[2], weight[3],
             work.problem.params.stride.height, x[2], x[3], work.problem.bias ? "bias" : "",
             mib(TensorSpec{x}.bytes() + TensorSpec{y}.bytes()), 1e3 * direct);
  Sums sums{.direct = direct, .by_shape = 0, .fastest = direct};
  for (const EngineTime& time : times) {
    const bool by_shape = time.engine == chosen;
    if (by_shape) sums.by_shape = time.seconds;
    sums.fastest = std::min(sums.fastest, time.seconds);
    fmt::print(" | {} {:.2f} {:5.1f} MiB{}", engine_name(time.engine), time.seconds / direct,
               mib(time.workspace_bytes), by_shape ? " *" : "");
  }
  fmt::print("\n");
  return sums.times(work.runs);
}

void compare(const std::string& model, std::int64_t batch, int turns) {
  fmt::print("{}, batch {}\n", model, batch);
  std::map<ConvolutionKind, Sums> kinds;
  Sums all;
  for (const auto& [name, work] : work_of(model, batch)) {
    const Sums sums = compare(work, turns);
    kinds[work.kind].add(sums);
    all.add(sums);
  }
  for (const auto& [kind, sums] : kinds)
    fmt::print("{:18} {}\n", convolution_name(kind), sums.str());
  fmt::print("{:18} {}\n\n", model, all.str());
}

}  // namespace
}  // namespace skyline

int main(int argc, char** argv) {
  const std::int64_t batch = argc > 1 ? std::atoi(argv[1]) : 16;
  const int turns = argc > 2 ? std::atoi(argv[2]) : 9;
  std::vector<std::string> models(argv + std::min(argc, 3), argv + argc);
  if (models.empty()) models = {"resnet50", "googlenet", "inception-resnet", "vgg16"};
  for (const std::string& model : models) skyline::compare(model, batch, turns);
}
