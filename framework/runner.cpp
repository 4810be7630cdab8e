#include "framework/runner.h"

#include "memory/now_seconds.h"

namespace skyline {

namespace {

class DryRunner final : public Runner {
 public:
  void run(const OpCall&, KernelCache&) override {}
  double run_timed(const OpCall&) override { return 0; }
};

}  // namespace

Runner& inline_runner() noexcept {
  static InlineRunner runner;
  return runner;
}

Runner& dry_runner() noexcept {
  static DryRunner runner;
  return runner;
}

OpAddresses::OpAddresses(const OpCall& call)
    : workspace(call.workspace.address()), value(call.op.run_value()) {
  for (const Tensor& input : call.inputs) inputs.push_back(input.address());
  for (const Tensor& output : call.outputs) outputs.push_back(output.address());
}

void Runner::run(const OpCall& call, KernelCache&) {
  call.kernel->run(OpAddresses(call).arguments());
}

double Runner::run_timed(const OpCall& call) {
  const OpAddresses addresses(call);
  wait();
  const double started = now_seconds();
  call.kernel->run(addresses.arguments());
  wait();
  return now_seconds() - started;
}

}  // namespace skyline
