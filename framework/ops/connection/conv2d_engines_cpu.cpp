#include "framework/ops/connection/conv2d_engines_cpu.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <optional>
#include <random>
#include <stdexcept>

#include "framework/engines/engine_choices.h"
#include "framework/ops/connection/winograd_cpu.h"
#include "framework/ops/support/dnnl_kernel.h"
#include "framework/ops/support/elementwise_cpu.h"
#include "memory/now_seconds.h"

namespace skyline {
namespace {

constexpr std::string_view kNames[] = {"direct", "winograd", "product"};

// Turns of a measurement for a run; the fastest counts.
constexpr int kTurns = 5;

// Other programs do not count in the processor's time of a thread; what several threads do together
// shows on a clock only.
double seconds_now() {
  if (omp_get_max_threads() == 1) {
    std::timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  }
  return now_seconds();
}

// Memory for the operands and the workspace of any engine, for the time of a measurement. Each run
// finds them about as in a step: the op before it has just written the images or their gradient,
// and the rest has left the caches.
class Operands {
 public:
  Operands(ConvolutionKind kind, const Conv2dProblem& problem)
      : kind_(kind),
        images_(floats(problem.x)),
        weight_(floats(problem.weight)),
        bias_(floats(problem.bias_shape())),
        results_(floats(problem.y)) {}

  double seconds(Kernel& kernel) {
    const std::size_t bytes = kernel.workspace_bytes() + kLineBytes;
    if (workspace_.size() * sizeof(float) < bytes) workspace_.resize(bytes / sizeof(float) + 1);
    std::byte *x = address(images_), *weight = address(weight_), *bias = address(bias_),
              *y = address(results_);
    std::vector<const std::byte*> in = {x, weight, bias};
    std::vector<std::byte*> out = {y};
    if (kind_ == ConvolutionKind::kGradInput) in = {weight, y}, out = {x};
    if (kind_ == ConvolutionKind::kGradWeight) in = {x, y}, out = {weight, bias};
    overwrite(others_);
    overwrite(kind_ == ConvolutionKind::kForward ? images_ : results_);
    const double start = seconds_now();
    kernel.run({in, out, address(workspace_)});
    return seconds_now() - start;
  }

 private:
  using Floats = std::vector<float>;

  static constexpr std::size_t kLineBytes = 64;
  static constexpr std::size_t kCacheBytes = std::size_t{64} << 20;

  static void overwrite(Floats& values) {
    for_each_range(std::ssize(values), true, kVectors, [&](std::int64_t begin, std::int64_t end) {
      std::transform(values.data() + begin, values.data() + end, values.data() + begin,
                     std::negate());
    });
  }

  // Values of all kinds: a processor multiplies zeros at a higher clock.
  static Floats floats(const Shape& shape) {
    Floats values(static_cast<std::size_t>(shape.elements()) + kLineBytes / sizeof(float));
    std::minstd_rand bits;
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::ranges::generate(values, [&] { return uniform(bits); });
    return values;
  }
  // Returns the first address that is aligned as oneDNN likes it.
  static std::byte* address(Floats& values) {
    const auto first = reinterpret_cast<std::uintptr_t>(values.data());
    return reinterpret_cast<std::byte*>((first + kLineBytes - 1) / kLineBytes * kLineBytes);
  }

  ConvolutionKind kind_;
  Floats images_, weight_, bias_, results_, workspace_;
  Floats others_ = Floats(kCacheBytes / sizeof(float));
};

ConvolutionEngine fastest_engine(ConvolutionKind kind, const Conv2dProblem& problem) {
  const std::vector<EngineTime> times = time_engines(kind, problem, kTurns);
  return std::ranges::min_element(times, {}, &EngineTime::seconds)->engine;
}

// Returns the kernel of an engine that a file names. Throws std::runtime_error.
std::unique_ptr<Kernel> named_kernel(ConvolutionKind kind, const Conv2dProblem& problem,
                                     std::size_t parts, const std::string& problem_name,
                                     const std::string& name) {
  std::string names;
  for (const ConvolutionEngine engine : kConvolutionEngines) {
    auto kernel = make_convolution_cpu(kind, problem, engine, parts);
    if (!kernel) continue;
    if (engine_name(engine) == name) return kernel;
    names.append(names.empty() ? "" : ", ").append(engine_name(engine));
  }
  throw std::runtime_error(
      fmt::format("[engines] {}: got engine '{}', expected one of: {}", problem_name, name, names));
}

// An engine, other than the direct one, that the rule by shape has chosen.
class KernelByShape final : public Kernel {
 public:
  KernelByShape(ConvolutionKind kind, const Conv2dProblem& problem, std::size_t parts,
                std::string problem_name, ConvolutionEngine engine)
      : engine_(engine),
        kernel_(make_convolution_cpu(kind, problem, engine_, parts)),
        kind_(kind),
        problem_(problem),
        parts_(parts),
        problem_name_(std::move(problem_name)) {}

  std::size_t workspace_bytes() const override { return kernel_->workspace_bytes(); }
  void run(const KernelArguments& arguments) override { kernel_->run(arguments); }
  std::optional<int> overwritten_input() const override { return kernel_->overwritten_input(); }

  std::optional<EngineUse> engine_use() const override {
    if (!direct_bytes_) {
      direct_bytes_ = make_convolution_cpu(kind_, problem_, ConvolutionEngine::kDirect, parts_)
                          ->workspace_bytes();
    }
    if (*direct_bytes_ >= workspace_bytes()) return {};
    return EngineUse{.problem = problem_name_,
                     .engine = std::string(engine_name(engine_)),
                     .smaller = std::string(engine_name(ConvolutionEngine::kDirect)),
                     .smaller_workspace_bytes = *direct_bytes_};
  }

 private:
  ConvolutionEngine engine_;
  std::unique_ptr<Kernel> kernel_;
  ConvolutionKind kind_;
  Conv2dProblem problem_;
  std::size_t parts_;
  std::string problem_name_;
  mutable std::optional<std::size_t> direct_bytes_;  // once asked for
};

bool raises_peak(const EngineChoices* choices, std::int64_t batch_size, const std::string& name) {
  if (choices == nullptr) return false;
  const auto found = choices->above_peak.find(batch_size);
  return found != choices->above_peak.end() && found->second.contains(name);
}

std::unique_ptr<Kernel> make(ConvolutionKind kind, const CpuOptions& options,
                             const Conv2dProblem& problem) {
  using Engines = CpuOptions::Engines;
  Conv2dProblem of_batch = problem;  // all rounds of a batch share its choice
  if (options.batch_size > 0) {
    of_batch.x = {options.batch_size, problem.x[1], problem.x[2], problem.x[3]};
  }
  const std::string name = fmt::format("{} {}", convolution_name(kind), of_batch.str());
  if (options.choices != nullptr) {
    auto& known = options.choices->by_problem;
    if (options.engines == Engines::kMeasured && !known.contains(name)) {
      known[name].name = engine_name(fastest_engine(kind, problem));
    }
    if (const auto found = known.find(name); found != known.end()) {
      return named_kernel(kind, problem, options.lanes, name, found->second.name);
    }
  }
  const bool direct =
      options.engines == Engines::kDirect || raises_peak(options.choices, of_batch.x[0], name);
  const ConvolutionEngine engine =
      direct ? ConvolutionEngine::kDirect : engine_by_shape(kind, problem);
  if (engine == ConvolutionEngine::kDirect) {
    return make_convolution_cpu(kind, problem, engine, options.lanes);
  }
  return std::make_unique<KernelByShape>(kind, problem, options.lanes, name, engine);
}

// Which engine is faster was measured for resnet50, googlenet, inception-resnet and vgg16 with 4
// and 16 images (processors with AVX-512): by convolution_engines_benchmark, and for gradients of
// 1 x 1 weights in whole steps, where direct kernels take longer than alone.

bool product_is_faster(ConvolutionKind kind, const Conv2dProblem& problem) {
  return kind != ConvolutionKind::kForward || problem.y[2] * problem.y[3] <= 64;
}

// Small images leave much of the tiles empty, few channels do not pay for the transformations of
// tiles, and few tiles not for those of weights. With AVX2, panels are full with 16 channels: a
// step of resnet20 takes 0.87 of its time (32 images, two threads of an EPYC).
bool winograd_is_faster(const Conv2dProblem& problem, const WinogradCode& code) {
  const auto tiles_along = [&](int axis) {
    return (problem.y[axis] + code.outputs - 1) / code.outputs;
  };
  const std::int64_t pixels = problem.y[0] * problem.y[2] * problem.y[3];
  const std::int64_t tiles = problem.y[0] * tiles_along(2) * tiles_along(3);
  const std::int64_t fewest_channels = code.taps == 3 && code.columns == 16 ? 16 : 24;
  return pixels >= (code.taps == 3 ? 7 : 3) * (tiles + 24) &&
         std::min(problem.x[1], problem.y[1]) >= fewest_channels;
}

bool by_shape(ConvolutionKind kind, const Conv2dProblem& problem, ConvolutionEngine engine) {
  if (engine == ConvolutionEngine::kWinograd) {
    const auto codes = winograd_codes(problem);
    return !codes.empty() && winograd_is_faster(problem, *codes.front());
  }
  return problem.is_product() && product_is_faster(kind, problem);
}

}  // namespace

std::string_view engine_name(ConvolutionEngine engine) { return kNames[static_cast<int>(engine)]; }

std::vector<EngineTime> time_engines(ConvolutionKind kind, const Conv2dProblem& problem,
                                     int turns) {
  Operands operands(kind, problem);
  std::vector<EngineTime> times;
  std::vector<std::unique_ptr<Kernel>> kernels;
  for (const ConvolutionEngine engine : kConvolutionEngines) {
    auto kernel = make_convolution_cpu(kind, problem, engine);
    if (!kernel) continue;
    operands.seconds(*kernel);  // the first run prepares
    times.push_back({engine, std::numeric_limits<double>::infinity(), kernel->workspace_bytes()});
    kernels.push_back(std::move(kernel));
  }
  for (int turn = 0; turn < turns; ++turn) {
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      times[i].seconds = std::min(times[i].seconds, operands.seconds(*kernels[i]));
    }
  }
  return times;
}

ConvolutionEngine engine_by_shape(ConvolutionKind kind, const Conv2dProblem& problem) {
  for (const auto engine : {ConvolutionEngine::kProduct, ConvolutionEngine::kWinograd}) {
    if (by_shape(kind, problem, engine)) return engine;
  }
  return ConvolutionEngine::kDirect;
}

std::unique_ptr<Kernel> make_conv2d_cpu(const CpuOptions& options, const Conv2dProblem& problem) {
  return make(ConvolutionKind::kForward, options, problem);
}

std::unique_ptr<Kernel> make_conv2d_grad_input_cpu(const CpuOptions& options,
                                                   const Conv2dProblem& problem) {
  return make(ConvolutionKind::kGradInput, options, problem);
}

std::unique_ptr<Kernel> make_conv2d_grad_weight_cpu(const CpuOptions& options,
                                                    const Conv2dProblem& problem) {
  return make(ConvolutionKind::kGradWeight, options, problem);
}

}  // namespace skyline
