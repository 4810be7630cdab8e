#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "framework/cuda/cuda_compute.h"
#include "framework/cuda/cuda_libraries.h"
#include "framework/ops/connection/cudnn/convolution.h"
#include "framework/ops/connection/cudnn/convolution_graph.h"
#include "framework/ops/connection/cudnn/engine_search.h"

namespace skyline {
namespace {

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
    const std::string key = fmt::format("{} {}{}", convolution_name(kind), problem_.str(),
                                        demands_of(compute.options()));
    const auto known = engines.find(key);
    choice_ = known != engines.end() ? known->second : engines[key] = choose();
  }

  std::size_t workspace_bytes() const override { return choice_.workspace_bytes; }
  bool finishes() const override { return choice_.finishes; }
  void run(const ConvolutionOperands& operands) override;

 private:
  CudnnLibrary& cudnn() { return compute_.libraries().cudnn(); }
  CudnnDescriptor graph(bool finish) {
    return convolution_graph(kind_, problem_, finish, cudnn().handle());
  }
  EngineChoice choose();
  std::size_t layout_bytes() const;
  void make_plan();

  CudaCompute& compute_;
  ConvolutionKind kind_;
  Conv2dProblem problem_;
  EngineChoice choice_;
  std::optional<CudnnDescriptor> plan_;
};

// An engine adds bias and relu for free while it holds the sums; a separate pass costs time.
EngineChoice CudnnConvolution::choose() {
  std::string reason;
  const bool more = problem_.bias || problem_.params.relu;
  for (const bool finish : {true, false}) {
    if (finish && !more) continue;
    FoundEngines found =
        find_engines(graph(finish), cudnn(), compute_.options(), layout_bytes(), 1);
    if (!found.last_error.empty()) reason = ": " + found.last_error;
    if (found.engines.empty()) continue;
    auto& [choice, plan] = found.engines.front();
    choice.finishes = finish;
    if (cudnn().handle() != nullptr) plan_ = std::move(plan);
    return choice;
  }
  throw std::runtime_error(
      fmt::format("[{}] {}: cuDNN has no engine{}{} on {}{}", convolution_name(kind_),
                  problem_.str(), compute_.options().tf32 ? "" : " of fp32",
                  demands_of(compute_.options()), cudnn().engines().card_name(), reason));
}

// Returns the bytes of the smaller image: what copying one into another layout takes at least.
std::size_t CudnnConvolution::layout_bytes() const {
  return sizeof(float) *
         static_cast<std::size_t>(std::min(problem_.x.elements(), problem_.y.elements()));
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
  check_cudnn(cudnnBackendExecute(cudnn().handle(), plan_->get(), addresses.get()),
              "cudnnBackendExecute");
} catch (const CudnnError& error) {
  throw refused(kind_, problem_, error);
}

}  // namespace

std::unique_ptr<Convolution> make_convolution(CudaCompute& compute, ConvolutionKind kind,
                                              const Conv2dProblem& problem) try {
  return std::make_unique<CudnnConvolution>(compute, kind, problem);
} catch (const CudnnError& error) {
  throw refused(kind, problem, error);
}

}  // namespace skyline
