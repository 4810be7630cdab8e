#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "framework/kernel.h"
#include "framework/op.h"
#include "framework/tensor.h"
#include "memory/allocator.h"

namespace skyline {

class KernelCache;
class PlanAdvice;

// An op of a step, by what its graph says of it.
struct OpName {
  Phase phase = Phase::kForward;
  std::string_view op, layer;
};

// How long an op ran.
struct OpTime {
  std::string name, layer;
  Phase phase = Phase::kForward;
  double seconds = 0;
};

// Observers of the ops that a context runs. They change no result.
struct StepWatch {
  bool check_finite = false;  // check every output after every op; slow
  bool record_graph = false;  // record the running step, see Context::recorded_step()
  // Receives the time of each op that runs, in the order of execution; the context waits for the
  // device before and after the op. Null: measures nothing.
  std::vector<OpTime>* op_times = nullptr;
};

// An output with a NaN or an infinity, found under StepWatch::check_finite.
class NotFinite : public std::runtime_error {
 public:
  explicit NotFinite(const OpName& name)
      : std::runtime_error("[" + op_of_layer(name.op, name.layer) + "] the " +
                           std::string(phase_name(name.phase)) +
                           " pass made a value that is not finite"),
        op_(name.op),
        layer_(name.layer) {}
  const std::string& op() const noexcept { return op_; }
  const std::string& layer() const noexcept { return layer_; }

 private:
  std::string op_, layer_;
};

// An op whose memory is chosen.
struct OpCall {
  OpName name;
  const Op& op;
  std::span<const TensorSpec> specs;      // of the inputs
  const std::shared_ptr<Kernel>& kernel;  // the copy that begin_op() asked for
  std::span<const Tensor> inputs, outputs;
  const Block& workspace;
};

// The addresses of a call's operands. Holding them does not hold the memory.
struct OpAddresses {
  explicit OpAddresses(const OpCall& call);
  KernelArguments arguments() const { return {inputs, outputs, workspace, value}; }

  std::vector<const std::byte*> inputs;
  std::vector<std::byte*> outputs;
  std::byte* workspace;
  RunValue value;
};

// How a device was told to run ops, so far.
struct Launches {
  std::uint64_t ops = 0;     // one by one
  std::uint64_t graphs = 0;  // that hold many ops
};

struct RunnerFacts {
  bool defers = false;         // ops may run after run() has returned
  bool knows_kernels = false;  // knows an op that returns by its kernel: equal ops bring the same
  std::size_t copies = 1;      // of a kernel, which runs once at a time
  Launches launches = {};
};

// Decides when and where the ops of a step run; Context decides which memory they get. Nothing but
// speed depends on a runner. Thread rule: one thread, the program's.
class Runner {
 public:
  virtual ~Runner() = default;

  // Begins a step, and forgets the error of a step that did not end.
  virtual void begin_step(StepKind) {}
  // True if end_step() needs the graph of the running step.
  virtual bool wants_graph() const { return false; }
  // Begins each op of the graph, also those that run no kernel. Returns which copy of its kernel
  // the op takes.
  virtual std::size_t begin_op(const OpName&) { return 0; }
  // Runs the op that has begun, or holds it back: takes everything that the program may change.
  virtual void run(const OpCall& call, KernelCache& kernels);
  // Runs the op alone, after all earlier ones; returns its seconds.
  virtual double run_timed(const OpCall& call);
  // Waits for all ops; throws the first error of one. Returns at once inside an op.
  virtual void wait() {}
  // Waits for all ops, and leaves errors to wait().
  virtual void finish() noexcept {}
  // Ends a step, whose ops need not be done on the device. Throws the first error of one that was
  // held back; then the step has not ended. `graph` is empty unless it was wanted.
  virtual void end_step(const StepGraph&) {}

  virtual RunnerFacts facts() const { return {}; }
  // Returns how the runner wants steps planned; null if it takes any plan.
  virtual PlanAdvice* advice() noexcept { return nullptr; }
};

// Runs each op at once.
class InlineRunner final : public Runner {};

// Runners without a state, which everybody shares: one that runs each op at once, and one that runs
// nothing, for dry runs.
Runner& inline_runner() noexcept;
Runner& dry_runner() noexcept;

}  // namespace skyline
