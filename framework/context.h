#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "framework/op.h"
#include "framework/philox.h"
#include "framework/tensor.h"
#include "memory/allocator.h"

namespace skyline {

enum class Mode { kTraining, kInference };

inline constexpr std::string_view kStagingOp = "prefetch";  // asks for Context's staging

// A refusal to write in place, with its reason, e.g.
// "relu of conv1: input is retained by sigmoid of act2".
struct InPlaceRefusal {
  std::string op;
  std::string layer;
  std::string reason;
};

// An output with a NaN or an infinity, found under Context::Options::check_finite.
class NotFinite : public std::runtime_error {
 public:
  NotFinite(std::string op, std::string layer, Phase phase);
  const std::string& op() const noexcept { return op_; }
  const std::string& layer() const noexcept { return layer_; }

 private:
  std::string op_, layer_;
};

// Everything that an op needs besides its operands; made once by the program, passed everywhere.
class Context {
 public:
  struct Options {
    std::shared_ptr<Compute> compute;  // null: the CPU
    bool execute = true;  // false in a dry run: requests and frees happen, arithmetic does not
    Mode mode = Mode::kTraining;
    bool in_place = true;
    // Chains of at most so many cheap ops are made again in the backward pass, bit for bit, where
    // else their results would be retained (Chen, Xu, Zhang, Guestrin 2016, "Training deep nets
    // with sublinear memory cost", drop the results of low cost operations); 0: none.
    int recompute = 0;
    // Parameters have no resident gradient: backward gives each one to an update as soon as it is
    // whole, and it is freed then (Lv et al. 2023, "Full parameter fine-tuning for large language
    // models with limited resources"). See BackwardGraph::run.
    bool fused_update = false;
    bool prefetch = false;         // see stage_uploads()
    bool check_finite = false;     // look at every output after every op; slow
    bool record_graph = false;     // build the step graph of the running step
    bool record_refusals = false;  // keep why ops did not write in place
    std::uint64_t seed = 0;
    // What every convolution asks for, in place of what its kernel needs, as if its library had
    // been given that limit and used it up (PGMO section 5: 8 MiB). Of dry runs only.
    std::optional<std::size_t> convolution_workspace_bytes;
  };

  // Throws std::invalid_argument when a run that executes sets convolution_workspace_bytes.
  Context(Allocator& allocator, Options options);

  Allocator& allocator() noexcept { return allocator_; }
  Compute& compute() noexcept { return options_.compute ? *options_.compute : cpu_; }
  const Options& options() const noexcept { return options_; }
  bool training() const noexcept { return options_.mode == Mode::kTraining; }
  void set_mode(Mode mode) noexcept { options_.mode = mode; }
  void set_check_finite(bool check) noexcept { options_.check_finite = check; }
  void set_record_graph(bool record) noexcept { options_.record_graph = record; }
  RandomStream& random() noexcept { return random_; }
  const std::string& layer() const noexcept { return layer_; }

  // Bounds of a training step, passed on to the allocator. begin_step forgets the step graph of
  // the step before.
  void begin_step(ShapeKey key = 0);
  void end_step();

  // Under `prefetch`: sees to it that there are at least so many bytes of resident memory, in which
  // a step's uploads arrive while the step before still runs. Each takes its rounded size; those
  // that find no room do not pass through it. Between steps. Throws OutOfMemory; then there is
  // none.
  void stage_uploads(std::size_t bytes);
  std::size_t staging_bytes() const noexcept { return staging_.bytes(); }

  // A resident tensor, filled from `host` (spec.bytes() bytes) or with zeros.
  Tensor resident(const TensorSpec& spec, Category category, std::string_view layer,
                  const void* host = nullptr);
  // Overwrites a resident tensor from `host` (spec().bytes() bytes). Nothing happens in a dry run.
  void write(const Tensor& tensor, const void* host);
  // A parameter and, in training mode, its leaf node and, without fused_update, its gradient.
  Parameter parameter(const TensorSpec& spec, std::string name, const void* host);

  // An op of the step that requests a tensor and fills it from host memory laid out as `spec` says.
  Tensor upload(const TensorSpec& spec, const void* host, std::string_view name = "input");
  // An op of the step that reads a tensor back and lets go of it (of a copy's reference, when the
  // caller keeps its own). Nothing is written in a dry run.
  void download(Tensor tensor, void* host);

  // Runs `op` at once: decides on writing in place, requests outputs and workspace, runs, lets go
  // of the inputs; the order is that of StepOp's comment. `destinations[j]`, where set, is written
  // instead of a requested output. No node is made: apply() in autograd.h does that.
  // Throws ShapeError, OutOfMemory, NotFinite; then nothing but the moved-in inputs has changed.
  std::vector<Tensor> execute(const Op& op, std::vector<Tensor> inputs,
                              std::span<const Tensor> destinations, Phase phase,
                              std::string_view layer);

  // The ops of the running step so far, or of the last one; empty unless record_graph.
  const StepGraph& step_graph() const noexcept { return graph_; }
  // The number of a storage in step_graph(); storages from outside of the step join as resident.
  ValueId value_of(Storage& storage);

  // A number greater than all before.
  std::uint64_t next_sequence() noexcept { return ++sequence_; }
  // Of the running step, or of the last one; empty unless record_refusals.
  const std::vector<InPlaceRefusal>& refusals() const noexcept { return refusals_; }

  // The kernel for op and specs, from the cache or made anew.
  std::shared_ptr<Kernel> kernel(const Op& op, std::span<const TensorSpec> inputs);
  // What execute() requests as workspace for `op`, whose kernel is `kernel`.
  std::size_t workspace_bytes(const Op& op, const Kernel& kernel) const;

 private:
  friend class LayerScope;
  struct Call;

  std::shared_ptr<Storage> request(std::size_t bytes, const Tag& tag);
  // Room for an upload of the running step.
  std::optional<Staging> staging(std::size_t bytes);
  std::vector<Tensor> view(const Call& call, std::vector<Tensor> inputs);
  std::vector<int> choose_in_place(const Call& call, std::span<const Tensor> inputs);
  std::string why_not_in_place(const Call& call, std::span<const Tensor> inputs,
                               const InPlacePair& pair) const;
  void run(const Call& call, Kernel& kernel, std::span<const Tensor> inputs,
           std::span<const Tensor> outputs, std::byte* workspace);
  void check_outputs(const Call& call, std::span<const Tensor> outputs);
  void record(const Call& call, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
              std::size_t workspace_bytes);

  Allocator& allocator_;
  Options options_;
  CpuCompute cpu_;
  RandomStream random_;
  std::string layer_;
  StepGraph graph_;
  std::uint64_t generation_ = 1;
  std::uint64_t sequence_ = 0;
  std::vector<InPlaceRefusal> refusals_;
  Block staging_;
  std::size_t staged_bytes_ = 0;  // of the running step
  Staging::Users staging_users_ = Staging::Users::kOps;
  std::unordered_map<std::string, std::shared_ptr<Kernel>> kernels_;
};

// Names the layer of all ops applied during its life; nested names join with a dot: "block1.conv2".
class LayerScope {
 public:
  LayerScope(Context& context, std::string_view name);
  ~LayerScope();
  LayerScope(const LayerScope&) = delete;
  LayerScope& operator=(const LayerScope&) = delete;

 private:
  Context& context_;
  std::size_t length_before_;
};

}  // namespace skyline
