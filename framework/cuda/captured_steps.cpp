#include "framework/cuda/captured_steps.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "framework/cuda/cuda_error.h"
#include "memory/alignment.h"

namespace skyline {
namespace {

// Steps of training and of evaluation have some stretches for each batch size.
constexpr std::size_t kMostStretches = 32;

// Ends a capture in any case, because a stream that captures runs nothing.
class Capture {
 public:
  // Other threads may go on with calls that this one may not make.
  explicit Capture(cudaStream_t stream) : stream_(stream) {
    check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
               "cudaStreamBeginCapture");
  }
  ~Capture() {
    if (!ended_) cudaStreamEndCapture(stream_, &graph_);
    if (graph_ != nullptr) cudaGraphDestroy(graph_);
    if (!ended_) cudaGetLastError();  // or the next call reports it again
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  cudaGraphExec_t end() {
    ended_ = true;
    check_cuda(cudaStreamEndCapture(stream_, &graph_), "cudaStreamEndCapture");
    cudaGraphExec_t executable = nullptr;
    check_cuda(cudaGraphInstantiate(&executable, graph_, 0), "cudaGraphInstantiate");
    return executable;
  }

 private:
  cudaStream_t stream_;
  cudaGraph_t graph_ = nullptr;
  bool ended_ = false;
};

// Sets `busy` during its life.
class BusyScope {
 public:
  explicit BusyScope(bool& busy) : busy_(busy) { busy = true; }
  ~BusyScope() { busy_ = false; }
  BusyScope(const BusyScope&) = delete;
  BusyScope& operator=(const BusyScope&) = delete;

 private:
  bool& busy_;
};

// Run values begin at multiples of this in a stretch's device memory.
constexpr std::size_t kValueAlignment = 8;

std::size_t room_for(const RunValue& value) {
  return align_up(value.bytes().size(), kValueAlignment);
}

}  // namespace

CapturedSteps::Op::Op(const std::shared_ptr<Kernel>& kernel_in, const KernelArguments& arguments)
    : kernel(kernel_in),
      inputs(arguments.inputs.begin(), arguments.inputs.end()),
      outputs(arguments.outputs.begin(), arguments.outputs.end()),
      workspace(arguments.workspace),
      run_value(arguments.run_value) {}

bool CapturedSteps::Op::operator==(const Op& other) const {
  return kernel == other.kernel && workspace == other.workspace && inputs == other.inputs &&
         outputs == other.outputs && run_value.bytes().size() == other.run_value.bytes().size();
}

void CapturedSteps::Op::run(const std::byte* run_value_at) const {
  kernel->run({inputs, outputs, workspace, run_value, run_value_at});
}

CapturedSteps::~CapturedSteps() {
  while (!known_.empty()) forget(known_.begin());
}

void CapturedSteps::run(const std::shared_ptr<Kernel>& kernel, const KernelArguments& arguments,
                        Launches& launches) {
  const BusyScope busy(busy_);
  running_.emplace_back(kernel, arguments);
  if (!held_) {
    running_.back().run();
    ++launches.ops;
    return;
  }
  likely_ = find_captured();
  if (likely_ == known_.end()) run_held(launches);
}

void CapturedSteps::end_stretch(Launches& launches) {
  if (busy_ || running_.empty()) return;
  const BusyScope busy(busy_);
  const auto found = std::ranges::find(known_, running_, &Stretch::ops);
  const bool is_captured = held_ && found != known_.end() && found->graph != nullptr;
  if (held_ && !is_captured) run_held(launches);
  Ops ended = std::exchange(running_, {});
  held_ = true;
  likely_ = known_.end();
  if (found != known_.end()) known_.splice(known_.begin(), known_, found);
  if (is_captured) {
    launch(*found, ended);
    ++launches.graphs;
  } else if (found == known_.end()) {
    known_.push_front({.ops = std::move(ended)});
    if (known_.size() > kMostStretches) forget(std::prev(known_.end()));
  } else if (found->graph == nullptr) {
    capture(*found);
  }
}

CapturedSteps::Stretches::iterator CapturedSteps::find_captured() {
  const std::size_t last = running_.size() - 1;
  if (likely_ != known_.end() && last < likely_->ops.size() &&
      likely_->ops[last] == running_[last]) {
    return likely_;
  }
  return std::ranges::find_if(known_, [this](const Stretch& known) {
    return known.graph != nullptr && known.ops.size() >= running_.size() &&
           std::equal(running_.begin(), running_.end(), known.ops.begin());
  });
}

void CapturedSteps::run_held(Launches& launches) {
  held_ = false;
  for (const Op& op : running_) {
    op.run();
    ++launches.ops;
  }
}

void CapturedSteps::capture(Stretch& stretch) {
  std::size_t bytes = 0;
  for (const Op& op : stretch.ops) bytes += room_for(op.run_value);
  if (bytes > 0 && stretch.values == nullptr) {
    check_cuda(cudaMalloc(&stretch.values, bytes), "cudaMalloc");
  }
  Capture capture(stream_);
  const std::byte* next_value = stretch.values;
  for (const Op& op : stretch.ops) {
    op.run(op.run_value.has_value() ? next_value : nullptr);
    next_value += room_for(op.run_value);
  }
  stretch.graph = capture.end();
}

// The copy leaves pageable memory before the call returns.
void CapturedSteps::launch(const Stretch& stretch, const Ops& ops) {
  std::vector<std::byte> values;
  for (const Op& op : ops) {
    const std::vector<std::byte>& bytes = op.run_value.bytes();
    values.insert(values.end(), bytes.begin(), bytes.end());
    values.resize(align_up(values.size(), kValueAlignment));
  }
  if (!values.empty()) {
    check_cuda(cudaMemcpyAsync(stretch.values, values.data(), values.size(), cudaMemcpyHostToDevice,
                               stream_),
               "cudaMemcpyAsync");
  }
  check_cuda(cudaGraphLaunch(stretch.graph, stream_), "cudaGraphLaunch");
}

// A graph that still runs is destroyed when it is done; cudaFree() waits for it.
void CapturedSteps::forget(Stretches::iterator stretch) noexcept {
  if (stretch->graph != nullptr) cudaGraphExecDestroy(stretch->graph);
  if (stretch->values != nullptr) cudaFree(stretch->values);
  known_.erase(stretch);
}

}  // namespace skyline
