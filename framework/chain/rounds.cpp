#include "framework/chain/rounds.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "framework/ops/math/arithmetic.h"
#include "framework/ops/support/declared_op.h"
#include "memory/alignment.h"

namespace skyline {
namespace {

using Value = RoundProgram::Value;

std::size_t bytes_of_image(const Value& value) {
  return value.of_images ? value.spec.bytes() / static_cast<std::size_t>(value.spec.shape[0]) : 0;
}

// A program with its kernels, and where its values lie in the workspace.
class Round {
 public:
  Round(Compute& compute, RoundProgram program, bool adds)
      : program_(std::move(program)), slice_of_(program_.values.size(), kNone) {
    find_last_calls();
    for (std::size_t call = 0; call < program_.calls.size(); ++call) add_call(compute, call, adds);
    place();
  }

  const std::shared_ptr<OpRounds>& rounds() const { return rounds_; }
  const std::vector<RoundProgram::Call>& calls() const { return program_.calls; }
  const Kernel& kernel(std::size_t call) const { return *calls_[call].kernel; }
  std::size_t bytes() const {
    std::uint64_t end = 0;
    for (const OpRounds::Slice& slice : rounds_->slices) {
      end = std::max(end, slice.offset + slice.bytes);
    }
    return end;
  }

  // Computes the images from `first` on; adds to sums unless it is the first round.
  void run(const KernelArguments& arguments, std::size_t first) const {
    std::vector<const std::byte*> inputs;
    std::vector<std::byte*> outputs;
    for (std::size_t k = 0; k < calls_.size(); ++k) {
      const RoundProgram::Call& call = program_.calls[k];
      inputs.clear();
      outputs.clear();
      for (const std::size_t value : call.inputs) inputs.push_back(at(arguments, value, first));
      for (const std::size_t value : call.outputs) outputs.push_back(at(arguments, value, first));
      const std::size_t scratch = calls_[k].workspace;
      calls_[k].kernel->run(
          {inputs, outputs, scratch == kNone ? nullptr : in_workspace(arguments, scratch)});
      if (first > 0) add_parts(arguments, k);
    }
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  struct PartOfSum {
    std::size_t value;
    std::unique_ptr<Kernel> kernel;
  };
  struct Call {
    std::unique_ptr<Kernel> kernel;
    std::size_t workspace = kNone;  // a slice
    std::vector<PartOfSum> sums = {};
  };

  void find_last_calls() {
    last_.resize(program_.values.size());
    for (std::size_t call = 0; call < program_.calls.size(); ++call) {
      for (const std::size_t value : program_.calls[call].inputs) last_[value] = call;
    }
  }

  std::size_t new_slice(std::size_t bytes) {
    rounds_->slices.push_back({.bytes = align_up(bytes, kAlignmentBytes)});
    return rounds_->slices.size() - 1;
  }

  void add_call(Compute& compute, std::size_t number, bool adds) {
    const RoundProgram::Call& call = program_.calls[number];
    Call made{call.op->kernel(compute, program_.specs(call.inputs))};
    OpRounds::Call& record = rounds_->calls.emplace_back();
    record.name = call.op->name();
    record.layer = call.layer;
    for (const std::size_t value : call.inputs) {
      if (slice_of_[value] != kNone) record.slices.push_back(slice_of_[value]);
    }
    write_over(number);
    for (const std::size_t value : call.outputs) {
      const auto kind = program_.values[value].kind;
      const TensorSpec& spec = program_.values[value].spec;
      const bool is_part = kind == Value::Kind::kSum && adds;
      if (!is_part && kind != Value::Kind::kInside) continue;
      if (slice_of_[value] == kNone) slice_of_[value] = new_slice(spec.bytes());
      record.slices.push_back(slice_of_[value]);
      if (is_part) {
        made.sums.push_back({value, Sum(2).kernel(compute, std::vector{spec, spec})});
      }
    }
    if (const std::size_t bytes = made.kernel->workspace_bytes(); bytes > 0) {
      made.workspace = new_slice(bytes);
      record.slices.push_back(made.workspace);
    }
    calls_.push_back(std::move(made));
  }

  // An output takes the slice of an input that no later call reads, where the op may do so.
  void write_over(std::size_t number) {
    const RoundProgram::Call& call = program_.calls[number];
    for (const InPlacePair& pair : call.op->in_place()) {
      const std::size_t input = call.inputs[index(pair.input)];
      const std::size_t output = call.outputs[index(pair.output)];
      const bool is_free = slice_of_[input] != kNone && last_[input] == number &&
                           std::ranges::count(call.inputs, input) == 1;
      const bool is_inside = program_.values[output].kind == Value::Kind::kInside;
      const bool is_equal =
          program_.values[input].spec.bytes() == program_.values[output].spec.bytes();
      const auto has_taken = [&](std::size_t other) {
        return slice_of_[other] == slice_of_[input];
      };
      if (!is_free || !is_inside || !is_equal || slice_of_[output] != kNone) continue;
      if (std::ranges::none_of(call.outputs, has_taken)) slice_of_[output] = slice_of_[input];
    }
  }

  // Gives each slice the lowest bytes that no larger one takes at the same time.
  void place() {
    struct Life {
      std::size_t first = kNone, last = 0;
    };
    std::vector<Life> lives(rounds_->slices.size());
    for (std::size_t call = 0; call < rounds_->calls.size(); ++call) {
      for (const std::size_t slice : rounds_->calls[call].slices) {
        lives[slice] = {std::min(lives[slice].first, call), call};
      }
    }
    std::vector<std::size_t> order(lives.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::ranges::greater(),
                             [&](std::size_t slice) { return rounds_->slices[slice].bytes; });
    std::multimap<std::uint64_t, std::size_t> placed;  // by offset
    for (const std::size_t slice : order) {
      std::uint64_t& offset = rounds_->slices[slice].offset;
      for (const auto& [begin, other] : placed) {
        const bool meet =
            lives[slice].first <= lives[other].last && lives[other].first <= lives[slice].last;
        if (!meet) continue;
        if (offset + rounds_->slices[slice].bytes <= begin) break;
        offset = std::max(offset, begin + rounds_->slices[other].bytes);
      }
      placed.emplace(offset, slice);
    }
  }

  std::byte* in_workspace(const KernelArguments& arguments, std::size_t slice) const {
    return arguments.workspace + rounds_->slices[slice].offset;
  }

  // An address that a kernel writes is the op's output, or in the workspace.
  std::byte* at(const KernelArguments& arguments, std::size_t number, std::size_t first) const {
    const Value& value = program_.values[number];
    const std::size_t offset = first * bytes_of_image(value);
    switch (value.kind) {
      case Value::Kind::kInput:
        return const_cast<std::byte*>(arguments.inputs[value.index]) + offset;
      case Value::Kind::kOutput:
        return arguments.outputs[value.index] + offset;
      case Value::Kind::kSum:
        if (first == 0) return arguments.outputs[value.index];
        break;
      case Value::Kind::kInside:
        break;
    }
    return in_workspace(arguments, slice_of_[number]);
  }

  void add_parts(const KernelArguments& arguments, std::size_t call) const {
    for (const PartOfSum& sum : calls_[call].sums) {
      std::byte* const whole = arguments.outputs[program_.values[sum.value].index];
      const std::byte* const inputs[] = {whole, in_workspace(arguments, slice_of_[sum.value])};
      std::byte* const outputs[] = {whole};
      sum.kernel->run({inputs, outputs});
    }
  }

  RoundProgram program_;
  std::vector<std::size_t> last_;      // by value: the last call that reads it
  std::vector<std::size_t> slice_of_;  // by value
  std::vector<Call> calls_;
  std::shared_ptr<OpRounds> rounds_ = std::make_shared<OpRounds>();
};

// Kernels of a round are chosen as those of the whole batch.
class ComputeOfBatch final : public Compute {
 public:
  ComputeOfBatch(Compute& compute, std::int64_t images) : compute_(compute), images_(images) {}
  CudaCompute* cuda() noexcept override { return compute_.cuda(); }
  CpuOptions cpu() const noexcept override {
    CpuOptions options = compute_.cpu();
    options.batch_size = images_;
    return options;
  }
  Runner& runner() noexcept override { return compute_.runner(); }
  void write(std::byte* to, const void* host, std::size_t bytes) override {
    compute_.write(to, host, bytes);
  }
  void read(void* host, const std::byte* from, std::size_t bytes) override {
    compute_.read(host, from, bytes);
  }
  void zero(std::byte* to, std::size_t bytes) override { compute_.zero(to, bytes); }
  void wait() override { compute_.wait(); }

 private:
  Compute& compute_;
  std::int64_t images_;
};

class RoundsKernel final : public Kernel {
 public:
  RoundsKernel(ComputeOfBatch compute, const RoundsDeclaration& op)
      : images_(op.images),
        round_(std::min(op.round, op.images)),
        whole_(compute, op.program(round_), round_ < images_) {
    if (images_ % round_ > 0) rest_.emplace(compute, op.program(images_ % round_), true);
  }

  std::size_t workspace_bytes() const override {
    return std::max(whole_.bytes(), rest_ ? rest_->bytes() : 0);
  }
  std::optional<EngineUse> engine_use() const override {
    if (whole_.calls().size() > 1) return {};
    std::optional<EngineUse> use = whole_.kernel(0).engine_use();
    if (!use) return {};
    const std::size_t own = align_up(whole_.kernel(0).workspace_bytes(), kAlignmentBytes);
    use->smaller_workspace_bytes =
        whole_.bytes() - own + align_up(use->smaller_workspace_bytes, kAlignmentBytes);
    return use;
  }
  std::shared_ptr<const OpRounds> rounds() const override {
    if (whole_.calls().size() == 1) return nullptr;
    return workspace_bytes() > whole_.bytes() ? rest_->rounds() : whole_.rounds();
  }

  void run(const KernelArguments& arguments) override {
    for (std::int64_t first = 0; first < images_; first += round_) {
      const Round& round = first + round_ <= images_ ? whole_ : *rest_;
      round.run(arguments, static_cast<std::size_t>(first));
    }
  }

 private:
  std::int64_t images_, round_;
  Round whole_;
  std::optional<Round> rest_;  // the last images, if they are fewer
};

class RoundsOp final : public Op {
 public:
  explicit RoundsOp(RoundsDeclaration declaration) : declared_(std::move(declaration)) {
    const RoundProgram program = declared_.program(declared_.images);
    const auto put = [](auto& specs, const Value& value) {
      if (specs.size() <= value.index) specs.resize(value.index + 1);
      specs[value.index] = value.spec;
    };
    for (const Value& value : program.values) {
      if (value.kind == Value::Kind::kInput) {
        put(inputs_, value);
      } else if (value.kind != Value::Kind::kInside) {
        put(outputs_, value);
      }
    }
    is_convolution_ = program.calls.size() == 1 && program.calls.front().op->is_convolution();
  }

  std::string_view name() const override { return declared_.name; }
  std::string parameters() const override { return declared_.parameters; }
  bool is_convolution() const override { return is_convolution_; }
  std::vector<OutputSpec> outputs(Specs inputs) const override {
    require_inputs(declared_.name, inputs.size(), inputs_.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      require_spec(declared_.name, "input " + std::to_string(i), inputs[i], inputs_[i]);
    }
    std::vector<OutputSpec> outputs;
    for (const TensorSpec& spec : outputs_) outputs.push_back({spec, declared_.category});
    return outputs;
  }
  std::vector<Recomputation> recomputations(Specs inputs) const override {
    if (!declared_.bare) return Op::recomputations(inputs);
    Recomputation how = Recomputation::from_inputs(inputs.size());
    how.op = declared_.bare;
    how.cheap = false;
    return {std::move(how)};
  }
  std::unique_ptr<Kernel> kernel(Compute& compute, Specs) const override {
    return std::make_unique<RoundsKernel>(ComputeOfBatch(compute, declared_.images), declared_);
  }
  std::vector<GradientCall> gradient(Specs, const std::vector<bool>& needed) const override {
    return declared_.gradient ? declared_.gradient(needed) : std::vector<GradientCall>();
  }

 private:
  RoundsDeclaration declared_;
  std::vector<TensorSpec> inputs_, outputs_;
  bool is_convolution_ = false;
};

}  // namespace

std::size_t RoundProgram::add(Value value) {
  values.push_back(std::move(value));
  return values.size() - 1;
}

std::vector<std::size_t> RoundProgram::call(const std::shared_ptr<const Op>& op,
                                            const std::string& layer,
                                            std::vector<std::size_t> inputs, Value::Kind kind) {
  std::vector<std::size_t> outputs;
  for (const OutputSpec& output : op->outputs(specs(inputs))) {
    outputs.push_back(add({kind, outputs.size(), output.spec}));
  }
  calls.push_back({op, layer, std::move(inputs), outputs});
  return outputs;
}

std::vector<TensorSpec> RoundProgram::specs(const std::vector<std::size_t>& of) const {
  std::vector<TensorSpec> result;
  for (const std::size_t value : of) result.push_back(values[value].spec);
  return result;
}

std::shared_ptr<const Op> rounds_op(RoundsDeclaration declaration) {
  return std::make_shared<RoundsOp>(std::move(declaration));
}

TensorSpec with_images(const TensorSpec& spec, std::int64_t images) {
  const Shape& shape = spec.shape;
  if (shape.rank() != 4) throw ShapeError("chain", "images", shape.str(), "[N, C, H, W]");
  return {{images, shape[1], shape[2], shape[3]}, spec.dtype};
}

}  // namespace skyline
