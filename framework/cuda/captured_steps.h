#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <list>
#include <memory>
#include <vector>

#include "framework/kernel.h"
#include "framework/runner.h"

namespace skyline {

// Captures stretches of ops as CUDA graphs, and launches a graph in place of its ops.
//
// A stretch is what the program runs between two places where the host takes part: an upload, a
// read, the end of a step. A training step of one batch has two: up to the loss, and what follows.
//
//   first time   the ops run one by one
//   second time  they run one by one; then they are launched into a graph, where nothing runs
//   later        they are held back while a captured stretch begins so; its graph then runs them
//
// Ops are the same if their kernel objects and addresses are. So neither plans nor shapes need to
// be known here: another shape, another plan or a deviation is another stretch. Held-back ops that
// turn out to belong to none run one by one. Plans make steps return to the same addresses; all
// graphs then lie in one arena.
//
// Run values reach a graph's kernels through device memory, which is written before each launch.
class CapturedSteps {
 public:
  explicit CapturedSteps(cudaStream_t stream) : stream_(stream) {}
  ~CapturedSteps();
  CapturedSteps(const CapturedSteps&) = delete;
  CapturedSteps& operator=(const CapturedSteps&) = delete;

  // Both add to `launches` what they enqueue. Throw CudaError, with the call that a capture
  // refuses, and what kernels throw.
  void run(const std::shared_ptr<Kernel>& kernel, const KernelArguments& arguments,
           Launches& launches);
  // Does nothing while a kernel runs: what comes before it has been enqueued.
  void end_stretch(Launches& launches);

 private:
  struct Op {
    Op(const std::shared_ptr<Kernel>& kernel, const KernelArguments& arguments);
    bool operator==(const Op& other) const;  // but for run values
    void run(const std::byte* run_value_at = nullptr) const;

    std::shared_ptr<Kernel> kernel;
    std::vector<const std::byte*> inputs;
    std::vector<std::byte*> outputs;
    std::byte* workspace;
    RunValue run_value;
  };
  using Ops = std::vector<Op>;
  struct Stretch {
    Ops ops;
    cudaGraphExec_t graph = nullptr;  // null until captured
    std::byte* values = nullptr;      // device memory; null if no op has a run value
  };
  using Stretches = std::list<Stretch>;

  // Returns a captured stretch that begins with the running ops, `likely_` if possible.
  Stretches::iterator find_captured();
  void run_held(Launches& launches);
  void capture(Stretch& stretch);
  // Brings the run values of `ops`, which are otherwise those of the stretch.
  void launch(const Stretch& stretch, const Ops& ops);
  void forget(Stretches::iterator stretch) noexcept;

  cudaStream_t stream_;
  Stretches known_;                            // latest first
  Stretches::iterator likely_ = known_.end();  // begins with the running ops
  Ops running_;                                // of the stretch so far
  bool held_ = true;                           // the running ops have not been enqueued
  bool busy_ = false;                          // in a call of this class
};

}  // namespace skyline
