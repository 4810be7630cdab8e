#include <stdexcept>

#include "framework/ops/batch_norm_kernels.h"
#include "framework/ops/dnnl_kernel.h"

namespace skyline {

namespace {

using dnnl::memory;
using dnnl::normalization_flags;

normalization_flags flags_of(const BatchNormProblem& problem) {
  const auto flags = normalization_flags::use_scale | normalization_flags::use_shift;
  return problem.relu ? flags | normalization_flags::fuse_norm_relu : flags;
}

dnnl::batch_normalization_forward::primitive_desc describe(const BatchNormProblem& problem) {
  const dnnl::batch_normalization_forward::desc description(dnnl::prop_kind::forward_training,
                                                            dnnl_layout(problem.x), problem.epsilon,
                                                            flags_of(problem));
  return {description, dnnl_user_scratchpad(), dnnl_engine()};
}

dnnl::batch_normalization_forward::primitive_desc describe_inference(
    const BatchNormProblem& problem) {
  const dnnl::batch_normalization_forward::desc description(
      dnnl::prop_kind::forward_inference, dnnl_layout(problem.x), problem.epsilon,
      flags_of(problem) | normalization_flags::use_global_stats);
  return {description, dnnl_user_scratchpad(), dnnl_engine()};
}

dnnl::batch_normalization_backward::primitive_desc describe_grad(const BatchNormProblem& problem) {
  const memory::desc x = dnnl_layout(problem.x);
  const dnnl::batch_normalization_backward::desc description(dnnl::prop_kind::backward, x, x,
                                                             problem.epsilon, flags_of(problem));
  return {description, dnnl_user_scratchpad(), dnnl_engine(), describe(problem)};
}

// oneDNN's layout of the mask. The op declared that tensor without asking the library, so the two
// are compared.
memory::desc mask_layout(const BatchNormProblem& problem, const dnnl::primitive_desc& descriptor) {
  const memory::desc layout = dnnl_layout(problem.mask().shape, memory::data_type::u8);
  if (descriptor.workspace_desc() != layout) {
    throw std::logic_error("[batch_norm] oneDNN keeps another mask than " + problem.mask().str());
  }
  return layout;
}

class UpdateKernel final : public Kernel {
 public:
  explicit UpdateKernel(const RunningUpdate& update) : update_(update) {}

  void run(const KernelArguments& arguments) override {
    blend(arguments.input<float>(0), arguments.input<float>(2), update_.mean_gain,
          arguments.output<float>(0));
    blend(arguments.input<float>(1), arguments.input<float>(3), update_.variance_gain,
          arguments.output<float>(1));
  }

 private:
  void blend(const float* running, const float* batch, float gain, float* result) const {
    for (std::int64_t channel = 0; channel < update_.channels; ++channel) {
      result[channel] = update_.decay * running[channel] + gain * batch[channel];
    }
  }

  RunningUpdate update_;
};

}  // namespace

std::unique_ptr<Kernel> make_batch_norm_cpu(const BatchNormProblem& problem) {
  const auto descriptor = describe(problem);
  const memory::desc channels = dnnl_layout(problem.channels());
  auto kernel = std::make_unique<DnnlKernel>();
  std::unordered_map<int, DnnlKernel::Operand> arguments = {
      {DNNL_ARG_SRC, kernel->input(0, descriptor.src_desc())},
      {DNNL_ARG_SCALE, kernel->input(1, channels)},
      {DNNL_ARG_SHIFT, kernel->input(2, channels)},
      {DNNL_ARG_DST, kernel->output(0, descriptor.dst_desc())},
      {DNNL_ARG_MEAN, kernel->output(1, channels)},
      {DNNL_ARG_VARIANCE, kernel->output(2, channels)}};
  if (problem.relu) {
    arguments[DNNL_ARG_WORKSPACE] = kernel->output(3, mask_layout(problem, descriptor));
  }
  kernel->call(descriptor, std::move(arguments));
  return kernel;
}

std::unique_ptr<Kernel> make_batch_norm_inference_cpu(const BatchNormProblem& problem) {
  const auto descriptor = describe_inference(problem);
  const memory::desc channels = dnnl_layout(problem.channels());
  auto kernel = std::make_unique<DnnlKernel>();
  kernel->call(descriptor, {{DNNL_ARG_SRC, kernel->input(0, descriptor.src_desc())},
                            {DNNL_ARG_SCALE, kernel->input(1, channels)},
                            {DNNL_ARG_SHIFT, kernel->input(2, channels)},
                            {DNNL_ARG_MEAN, kernel->input(3, channels)},
                            {DNNL_ARG_VARIANCE, kernel->input(4, channels)},
                            {DNNL_ARG_DST, kernel->output(0, descriptor.dst_desc())}});
  return kernel;
}

std::unique_ptr<Kernel> make_batch_norm_grad_cpu(const BatchNormProblem& problem) {
  const auto descriptor = describe_grad(problem);
  const memory::desc channels = dnnl_layout(problem.channels());
  auto kernel = std::make_unique<DnnlKernel>();
  std::unordered_map<int, DnnlKernel::Operand> arguments = {
      {DNNL_ARG_SRC, kernel->input(0, descriptor.src_desc())},
      {DNNL_ARG_SCALE, kernel->input(1, channels)},
      // Counted among the arguments though never read.
      {DNNL_ARG_SHIFT, kernel->input(1, channels)},
      {DNNL_ARG_MEAN, kernel->input(2, channels)},
      {DNNL_ARG_VARIANCE, kernel->input(3, channels)},
      {DNNL_ARG_DIFF_DST, kernel->input(4, descriptor.diff_dst_desc())},
      {DNNL_ARG_DIFF_SRC, kernel->output(0, descriptor.diff_src_desc())},
      {DNNL_ARG_DIFF_SCALE, kernel->output(1, channels)},
      {DNNL_ARG_DIFF_SHIFT, kernel->output(2, channels)}};
  if (problem.relu) {
    arguments[DNNL_ARG_WORKSPACE] = kernel->input(5, mask_layout(problem, descriptor));
  }
  kernel->call(descriptor, std::move(arguments));
  return kernel;
}

std::unique_ptr<Kernel> make_batch_norm_update_cpu(const RunningUpdate& update) {
  return std::make_unique<UpdateKernel>(update);
}

}  // namespace skyline
