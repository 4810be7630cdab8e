#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/emulation.h"
#include "framework/kernel_cache.h"
#include "framework/op.h"
#include "framework/philox.h"
#include "framework/runner.h"
#include "framework/savings.h"
#include "framework/step_orders.h"
#include "framework/step_recorder.h"
#include "framework/tensor.h"
#include "memory/allocator.h"

namespace skyline {

enum class Mode { kTraining, kInference };

inline constexpr std::string_view kStagingOp = "prefetch";  // requests Context's staging memory

// Runs ops: chooses their memory, hands them to the runner, and records them. The program makes one
// and passes it everywhere.
class Context {
 public:
  struct Options {
    std::shared_ptr<Compute> compute;  // null: the CPU
    // Set in a dry run: requests and frees happen, by other software's rules if it says so, and
    // arithmetic does not.
    std::optional<Emulation> dry_run = {};
    Mode mode = Mode::kTraining;
    bool in_place = true;
    // Recomputes chains of at most this many cheap ops in the backward pass, bit for bit, instead
    // of retaining their outputs; 0: off. Chen, Xu, Zhang, Guestrin 2016, "Training deep nets with
    // sublinear memory cost", drop the results of low cost operations.
    int recompute = 0;
    Savings savings;  // besides what `recompute` finds
    // A round has at most these bytes of a chain's largest value, see chain().
    std::size_t round_bytes = std::size_t{50} << 20;
    // Parameters have no resident gradient: each is freed once an update has read it (Lv et al.
    // 2023, "Full parameter fine-tuning for large language models with limited resources"). See
    // BackwardGraph::add_update.
    bool fused_update = false;
    // In which sequence backward passes and updates run; null: as the program wrote them. Runs
    // whose plans must fit each other share it.
    std::shared_ptr<StepOrders> orders;
    // Parameters that training leaves as they are: they have no gradient, and backward computes
    // none that only they would need.
    std::vector<std::string> frozen = {};
    bool prefetch = false;  // see stage_uploads()
    std::uint64_t seed = 0;
  };

  Context(Allocator& allocator, Options options);

  Allocator& allocator() noexcept { return allocator_; }
  Compute& compute() noexcept { return options_.compute ? *options_.compute : cpu_; }
  const Options& options() const noexcept { return options_; }
  bool executes() const noexcept { return !options_.dry_run; }
  // Nothing where ops execute.
  Emulation emulation() const noexcept { return options_.dry_run.value_or(Emulation()); }
  bool training() const noexcept { return options_.mode == Mode::kTraining; }
  void set_mode(Mode mode) noexcept { options_.mode = mode; }
  // May change between steps and within one.
  StepWatch& watch() noexcept { return watch_; }
  const StepWatch& watch() const noexcept { return watch_; }
  // Between steps. Changes no bit of any result.
  void set_savings(Savings savings) noexcept { options_.savings = std::move(savings); }
  RandomStream& random() noexcept { return random_; }
  const std::string& layer() const noexcept { return layer_; }

  // Begin and end a training step; the runner and the allocator are told. begin_step forgets the
  // recorded step, and the error of a step that did not end. end_step waits for ops that the runner
  // holds back; it throws the first error of one, and then the step has not ended.
  void begin_step(ShapeKey key = 0);
  void end_step();
  // Begins a batch of the running step; `number` counts from 0. What it computes depends on its
  // number but on no other batch: it draws random numbers from where the step began, in streams of
  // its own, and only batch 0 updates running values. A step of one batch need not call it.
  void begin_batch(std::uint64_t number);
  bool updates_running_values() const noexcept { return random_.batch == 0; }

  // Under `prefetch`: reserves at least this many bytes of resident memory, in which a step's
  // uploads arrive while the step before still runs. Each upload takes its aligned size; uploads
  // that do not fit are not staged. Call between steps. Throws OutOfMemory; then nothing is staged.
  void stage_uploads(std::size_t bytes);
  std::size_t staging_bytes() const noexcept { return staging_.memory.bytes(); }

  // Makes a resident tensor, filled from `host` (spec.bytes() bytes) or with zeros.
  Tensor resident(const TensorSpec& spec, Category category, std::string_view layer,
                  const void* host = nullptr);
  // Overwrites a resident tensor from `host` (spec().bytes() bytes). Does nothing in a dry run.
  void write(const Tensor& tensor, const void* host);

  // An op of the step that requests a tensor and fills it from host memory laid out as in `spec`.
  Tensor upload(const TensorSpec& spec, const void* host, std::string_view name = "input");
  // An op of the step that copies a tensor to the host and drops it (or only this reference, if the
  // caller keeps its own). Writes nothing in a dry run.
  void download(Tensor tensor, void* host);

  // Executes `op`: decides on writing in place, requests outputs and workspace, runs, releases the
  // inputs, in the order of StepOp's comment. Writes output j to `destinations[j]` if that is set.
  // Makes no node: apply() does that. The runner may hold the op back. Throws ShapeError,
  // OutOfMemory, NotFinite; then only the moved-in inputs are gone.
  std::vector<Tensor> execute(const Op& op, std::vector<Tensor> inputs,
                              std::span<const Tensor> destinations, Phase phase,
                              std::string_view layer);

  // The running step so far, or the last one; empty unless StepWatch::record_graph. graph_text.h
  // prints it.
  const RecordedStep& recorded_step() const noexcept { return recorder_.step(); }
  const StepGraph& step_graph() const noexcept { return recorder_.step().graph; }
  StepRecorder& recorder() noexcept { return recorder_; }

  // Names output 0 of an op of the running batch whose gradient will be computed. Call it once for
  // each such op, in the program's sequence.
  ValueName name_differentiable(std::string_view op, std::string_view layer);
  // Returns what `savings` says of a value.
  Recomputing recomputing(const ValueName& value) const;
  // True if a contribution to a gradient is added to those before it at once.
  bool sums_early() const noexcept { return options_.savings && options_.savings->early_sums; }
  // True if a chain runs in rounds.
  bool in_rounds(std::string_view chain) const noexcept {
    return options_.savings && options_.savings->rounds.contains(chain);
  }
  // False if no op of the step is recomputed, nor recorded how it could be.
  bool may_recompute() const noexcept {
    return options_.recompute > 0 || options_.savings || records();
  }

  // Returns a number greater than all before.
  std::uint64_t next_sequence() noexcept { return ++sequence_; }

  KernelCache& kernels() noexcept { return kernels_; }
  // Returns the bytes that execute() requests as workspace for `op` with this kernel.
  std::size_t workspace_bytes(const Op& op, const Kernel& kernel) const;
  // Returns which output execute() may write over which input: by the op's declaration, then by
  // what only this kernel can do.
  std::vector<InPlacePair> in_place_pairs(const Op& op, const Kernel& kernel) const;

 private:
  friend class LayerScope;
  friend class TurnScope;
  friend class InterruptionScope;
  struct Call;
  // Uploads arrive here under `prefetch`.
  struct StagingArea {
    Block memory;
    std::size_t used_bytes = 0;  // by the running step
    Staging::Users users = Staging::Users::kOps;
  };

  std::shared_ptr<Storage> request(std::size_t bytes, const Tag& tag);
  // Returns room for an upload of the running step, if there is any left.
  std::optional<Staging> staging(std::size_t bytes);
  std::vector<Tensor> view(const Call& call, std::vector<Tensor> inputs);
  // Decides for each output whether it is written over an input.
  std::vector<OutputMemory> choose_memory(const Call& call, std::span<const Tensor> inputs) const;
  bool may_write_over(const Call& call, const Tensor& input, int output) const;
  std::string why_not_in_place(const Call& call, std::span<const Tensor> inputs,
                               const InPlacePair& pair) const;
  void explain(const Call& call, std::vector<OutputMemory>& memory) const;
  std::vector<Tensor> request_outputs(const Call& call, std::span<const Tensor> inputs,
                                      std::span<const OutputMemory> memory);
  Runner& runner() noexcept { return other_runner_ ? *other_runner_ : compute().runner(); }
  // True if the running step is recorded.
  bool records() const noexcept { return watch_.record_graph || runner_records_; }
  void run(const OpCall& call);
  void check_outputs(const OpCall& call);
  void record(const Call& call, const Kernel& kernel, std::span<const Tensor> inputs,
              std::span<const Tensor> outputs, std::vector<OutputMemory> memory);

  Allocator& allocator_;
  Options options_;
  CpuCompute cpu_;
  RandomStream random_;
  // Stream numbers of the running step: the first, and the end of those drawn by earlier batches.
  std::uint64_t first_stream_ = 0, end_of_streams_ = 0;
  std::string layer_;
  StepRecorder recorder_;
  std::uint64_t sequence_ = 0;
  std::size_t loop_ = 0, turn_ = 0;             // see TurnScope
  std::map<ValueName, std::size_t> ops_named_;  // in the running batch, by the first one's name
  StepWatch watch_;
  Runner* other_runner_;         // in place of the device's: of dry runs and interrupted parts
  bool runner_records_ = false;  // the runner wants the running step's graph
  StagingArea staging_;
  KernelCache kernels_;
};

// Names the layer of all ops applied during its life; nested names join with a dot: "block1.conv2".
class LayerScope {
 public:
  LayerScope(Context& context, std::string_view name)
      : context_(context), length_before_(context.layer_.size()) {
    if (length_before_ > 0) context_.layer_ += '.';
    context_.layer_ += name;
  }
  ~LayerScope() { context_.layer_.resize(length_before_); }
  LayerScope(const LayerScope&) = delete;
  LayerScope& operator=(const LayerScope&) = delete;

 private:
  Context& context_;
  std::size_t length_before_;
};

// A turn of a loop over words, during its life, whose ops stand for the same turn in every batch;
// see ValueName. Loops of a layer count from 1 and do not nest.
class TurnScope {
 public:
  TurnScope(Context& context, std::size_t loop, std::size_t turn) : context_(context) {
    context_.loop_ = loop;
    context_.turn_ = turn;
  }
  ~TurnScope() { context_.loop_ = context_.turn_ = 0; }
  TurnScope(const TurnScope&) = delete;
  TurnScope& operator=(const TurnScope&) = delete;

 private:
  Context& context_;
};

}  // namespace skyline
