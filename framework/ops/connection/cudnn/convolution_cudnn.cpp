#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>

#include "framework/cuda/cuda_compute.h"
#include "framework/cuda/cuda_libraries.h"
#include "framework/ops/connection/convolution_cuda.h"
#include "framework/ops/connection/cudnn/engines.h"

namespace skyline {
namespace {

constexpr std::size_t kMostTimed = 8;  // engines of each graph
constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

std::string demands_of(const CudaOptions& options) {
  return fmt::format(
      "{}{}{}", options.tf32 ? " tf32" : "", options.deterministic ? " deterministic" : "",
      options.workspace_bytes ? fmt::format(" workspace<={}", *options.workspace_bytes) : "");
}

std::runtime_error refused(ConvolutionKind kind, const Conv2dProblem& problem,
                           const CudnnError& error) {
  return std::runtime_error(
      fmt::format("[{}] {}: {}", convolution_name(kind), problem.str(), error.what()));
}

class CudnnConvolution final : public Convolution {
 public:
  CudnnConvolution(CudaCompute& compute, ConvolutionKind kind, const Conv2dProblem& problem)
      : compute_(compute), kind_(kind), problem_(problem) {
    if (kind != ConvolutionKind::kForward) problem_.bias = problem_.params.relu = false;
    auto& engines = cudnn().engines().by_problem;
    key_ = fmt::format("{} {}{}", convolution_name(kind), problem_.str(),
                       demands_of(compute.options()));
    const auto known = engines.find(key_);
    choice_ = known != engines.end() ? known->second : engines[key_] = choose();
  }

  std::size_t workspace_bytes() const override { return choice_.workspace_bytes; }
  bool finishes() const override { return choice_.finishes; }
  std::optional<EngineUse> engine_use() const override {
    return EngineUse{.problem = key_, .engine = {}, .smaller = {}};
  }
  void run(const ConvolutionOperands& operands) override;

 private:
  CudnnLibrary& cudnn() { return compute_.libraries().cudnn(); }
  CudnnDescriptor graph(bool finish) {
    return convolution_graph(kind_, problem_, finish, cudnn().handle());
  }
  std::vector<FoundEngine> find(const CudaOptions& options, std::string& reason);
  std::vector<FoundEngine> find();
  EngineChoice choose();
  std::size_t fastest_of(std::span<FoundEngine> engines);
  void run_another(const CudnnDescriptor& addresses, CudnnError error);
  void make_plan();

  CudaCompute& compute_;
  ConvolutionKind kind_;
  Conv2dProblem problem_;
  std::string key_;
  EngineChoice choice_;
  std::optional<CudnnDescriptor> plan_;
};

// Returns engines in the order of preference. One that adds bias and relu while it holds the sums
// goes before a separate pass; with `measured`, some of both kinds are found, without the reference
// where there are others.
std::vector<FoundEngine> CudnnConvolution::find(const CudaOptions& options, std::string& reason) {
  const bool measured = options.measured;
  const bool more = problem_.bias || problem_.params.relu;
  std::vector<FoundEngine> all;
  for (const bool finish : {true, false}) {
    if ((finish && !more) || (!all.empty() && !measured)) continue;
    FoundEngines found = find_engines(graph(finish), cudnn(), options, measured ? kMostTimed : 1);
    if (!found.last_error.empty()) reason = ": " + found.last_error;
    for (FoundEngine& engine : found.engines) {
      engine.choice.finishes = finish;
      all.push_back(std::move(engine));
    }
  }
  const auto is_reference = [](const FoundEngine& engine) { return engine.is_reference; };
  if (measured && !std::ranges::all_of(all, is_reference)) std::erase_if(all, is_reference);
  return all;
}

// Keeps to the limit of a step's peak, too, unless only the reference does.
std::vector<FoundEngine> CudnnConvolution::find() {
  std::string reason;
  const auto& limits = cudnn().engines().most_workspace_bytes;
  if (const auto limit = limits.find(key_); limit != limits.end()) {
    CudaOptions options = compute_.options();
    options.workspace_bytes = std::min(limit->second, options.workspace_bytes.value_or(kNoLimit));
    std::vector<FoundEngine> within = find(options, reason);
    if (!within.empty() && !within.front().is_reference) return within;
  }
  std::vector<FoundEngine> all = find(compute_.options(), reason);
  if (!all.empty()) return all;
  throw std::runtime_error(
      fmt::format("[{}] {}: cuDNN has no engine{}{} on {}{}", convolution_name(kind_),
                  problem_.str(), compute_.options().tf32 ? "" : " of fp32",
                  demands_of(compute_.options()), cudnn().engines().card_name(), reason));
}

EngineChoice CudnnConvolution::choose() {
  std::vector<FoundEngine> found = find();
  const std::size_t chosen = compute_.options().measured ? fastest_of(found) : 0;
  if (cudnn().handle() != nullptr) plan_ = std::move(found[chosen].plan);
  return found[chosen].choice;
}

// Gives the engines their seconds. Returns the index of the fastest, the first if none was timed.
std::size_t CudnnConvolution::fastest_of(std::span<FoundEngine> engines) {
  const EngineTimes times = time_engines(compute_, kind_, problem_, engines);
  TimedEngines told{.problem = key_, .refused_bytes = times.refused_bytes};
  double fastest = 0;
  for (std::size_t k = 0; k < engines.size(); ++k) {
    const auto& [seconds, failure] = times.engines[k];
    engines[k].choice.seconds = seconds;
    told.engines.push_back({engines[k].choice, failure});
    if (seconds == 0 || (fastest > 0 && seconds >= fastest)) continue;
    fastest = seconds;
    told.chosen = k;
  }
  if (compute_.options().on_timed) compute_.options().on_timed(told);
  return told.chosen;
}

// Makes the plan of a choice that is already known.
void CudnnConvolution::make_plan() {
  plan_ = engine_plan(graph(choice_.finishes), cudnn(), choice_);
  const auto bytes =
      static_cast<std::size_t>(plan_->integer(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
  if (bytes <= choice_.workspace_bytes) return;
  throw std::runtime_error(fmt::format("[plan] workspace of {} {}, got {} bytes, expected {}",
                                       convolution_name(kind_), problem_.str(),
                                       choice_.workspace_bytes, bytes));
}

void CudnnConvolution::run(const ConvolutionOperands& operands) try {
  if (!plan_) make_plan();
  const CudnnDescriptor addresses = convolution_addresses(kind_, operands);
  const auto status = cudnnBackendExecute(cudnn().handle(), plan_->get(), addresses.get());
  if (status != CUDNN_STATUS_SUCCESS)
    run_another(addresses, CudnnError("cudnnBackendExecute", status));
} catch (const CudnnError& error) {
  throw refused(kind_, problem_, error);
}

// Takes the first engine that runs and needs no more than the workspace that was requested. Throws
// the last reason if there is none.
void CudnnConvolution::run_another(const CudnnDescriptor& addresses, CudnnError error) {
  CudaOptions options = compute_.options();
  options.workspace_bytes = choice_.workspace_bytes;
  for (auto& [choice, plan, is_reference] :
       find_engines(graph(choice_.finishes), cudnn(), options, kMostTimed).engines) {
    if (choice.engine == choice_.engine && choice.knobs == choice_.knobs) continue;
    const auto status = cudnnBackendExecute(cudnn().handle(), plan.get(), addresses.get());
    if (status != CUDNN_STATUS_SUCCESS) {
      error = CudnnError("cudnnBackendExecute", status);
      continue;
    }
    choice.finishes = choice_.finishes;
    choice.workspace_bytes = choice_.workspace_bytes;
    cudnn().engines().by_problem[key_] = choice_ = std::move(choice);
    plan_ = std::move(plan);
    return;
  }
  throw error;
}

}  // namespace

std::unique_ptr<Convolution> make_convolution(CudaCompute& compute, ConvolutionKind kind,
                                              const Conv2dProblem& problem) try {
  return std::make_unique<CudnnConvolution>(compute, kind, problem);
} catch (const CudnnError& error) {
  throw refused(kind, problem, error);
}

}  // namespace skyline
