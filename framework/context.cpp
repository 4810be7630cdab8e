#include "framework/context.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "memory/alignment.h"

namespace skyline {

// One op during execute(): the request and what the op declares.
struct Context::Call {
  const Op& op;
  Phase phase;
  std::string_view layer;
  std::vector<TensorSpec> specs;  // of the inputs
  std::vector<OutputSpec> outputs;
  std::span<const Tensor> destinations;
  std::vector<InPlacePair> in_place = {};

  bool has_destination(std::size_t output) const {
    return output < destinations.size() && destinations[output];
  }
  OpName name() const { return {phase, op.name(), layer}; }
  Tag tag(Category category) const { return {op.name(), layer, phase, category}; }
};

Context::Context(Allocator& allocator, Options options)
    : allocator_(allocator),
      options_(std::move(options)),
      random_{.seed = options_.seed},
      other_runner_(executes() ? nullptr : &dry_runner()),
      kernels_(compute()) {}

void Context::begin_step(ShapeKey key) {
  runner().begin_step(key.kind);
  runner_records_ = runner().wants_graph();
  recorder_.begin();
  ops_named_.clear();
  random_.batch = 0;
  first_stream_ = end_of_streams_ = random_.next;
  if (staging_.used_bytes > 0) staging_.users = Staging::Users::kUploads;
  staging_.used_bytes = 0;
  allocator_.begin_step(key);
}

void Context::end_step() {
  runner().end_step(step_graph());
  runner_records_ = false;
  random_.batch = 0;
  random_.next = std::max(random_.next, end_of_streams_);
  allocator_.end_step();
}

void Context::begin_batch(std::uint64_t number) {
  recorder_.begin_batch();
  ops_named_.clear();
  end_of_streams_ = std::max(random_.next, end_of_streams_);
  random_.next = first_stream_;
  random_.batch = number;
}

ValueName Context::name_differentiable(std::string_view op, std::string_view layer) {
  ValueName name{.layer = std::string(layer), .op = std::string(op), .loop = loop_, .turn = turn_};
  name.number = ops_named_[name]++;
  return name;
}

Recomputing Context::recomputing(const ValueName& value) const {
  if (!options_.savings) return Recomputing::kNever;
  const std::map<ValueName, Recomputing>& named = options_.savings->recomputed;
  const auto after = named.upper_bound(value);
  if (after == named.begin()) return Recomputing::kNever;
  const auto& [known, how] = *std::prev(after);
  ValueName in_turn = known;
  in_turn.turn = value.turn;
  return in_turn == value ? how : Recomputing::kNever;
}

std::shared_ptr<Storage> Context::request(std::size_t bytes, const Tag& tag) {
  auto storage = std::make_shared<Storage>();
  storage->block = allocator_.allocate(bytes, tag);
  storage->category = tag.category;
  storage->layer = tag.layer;
  return storage;
}

Tensor Context::resident(const TensorSpec& spec, Category category, std::string_view layer,
                         const void* host) {
  auto storage = request(spec.bytes(), {"resident", layer, Phase::kOutside, category});
  storage->resident = true;
  if (executes()) {
    if (host != nullptr) {
      compute().write(storage->address(), host, spec.bytes());
    } else {
      compute().zero(storage->address(), spec.bytes());
    }
  }
  return Tensor(spec, std::move(storage));
}

void Context::write(const Tensor& tensor, const void* host) {
  if (executes()) compute().write(tensor.address(), host, tensor.spec().bytes());
}

std::size_t Context::workspace_bytes(const Op& op, const Kernel& kernel) const {
  const std::optional<std::size_t> emulated = emulation().convolution_workspace_bytes;
  if (emulated && op.is_convolution()) return *emulated;
  return kernel.workspace_bytes();
}

std::vector<InPlacePair> Context::in_place_pairs(const Op& op, const Kernel& kernel) const {
  std::vector<InPlacePair> pairs = op.in_place();
  const std::optional<int> input = kernel.overwritten_input();
  if (input && !emulation().convolution_workspace_bytes) pairs.push_back({*input, 0});
  return pairs;
}

std::vector<Tensor> Context::execute(const Op& op, std::vector<Tensor> inputs,
                                     std::span<const Tensor> destinations, Phase phase,
                                     std::string_view layer) {
  Call call{.op = op, .phase = phase, .layer = layer, .destinations = destinations};
  for (const Tensor& input : inputs) call.specs.push_back(input.spec());
  call.outputs = op.outputs(call.specs);
  if (op.is_view()) return view(call, std::move(inputs));

  const std::shared_ptr<Kernel> kernel =
      kernels_.get(op, call.specs, runner().begin_op(call.name()));
  call.in_place = in_place_pairs(op, *kernel);
  std::vector<OutputMemory> memory = choose_memory(call, inputs);
  std::vector<Tensor> outputs = request_outputs(call, inputs, memory);
  const std::size_t workspace_bytes = this->workspace_bytes(op, *kernel);
  Block workspace;
  if (workspace_bytes > 0) {
    workspace = allocator_.allocate(workspace_bytes, call.tag(Category::kWorkspace));
  }
  run({call.name(), op, call.specs, kernel, inputs, outputs, workspace});
  workspace.reset();
  record(call, *kernel, inputs, outputs, std::move(memory));
  for (Tensor& input : inputs) input = {};
  return outputs;
}

std::vector<Tensor> Context::view(const Call& call, std::vector<Tensor> inputs) {
  const Tensor& input = inputs.front();
  const TensorSpec& spec = call.outputs.front().spec;
  runner().begin_op(call.name());
  if (records()) {
    const ValueId owner = recorder_.value_of(input);
    const ValueId id = recorder_.add_view(owner, {op_of_layer(call.op.name(), call.layer), spec});
    recorder_.add_op({.name = std::string(call.op.name()),
                      .layer = std::string(call.layer),
                      .phase = call.phase,
                      .inputs = {owner},
                      .outputs = {id}},
                     {{.input = 0, .reason = {}}});
  }
  return {Tensor(spec, input.storage())};
}

std::vector<OutputMemory> Context::choose_memory(const Call& call,
                                                 std::span<const Tensor> inputs) const {
  std::vector<OutputMemory> memory(call.outputs.size());
  std::vector<bool> taken(inputs.size(), false);
  for (const InPlacePair& pair : call.in_place) {
    OutputMemory& output = memory[index(pair.output)];
    if (call.has_destination(index(pair.output)) || output.input >= 0) continue;
    if (!taken[index(pair.input)] && may_write_over(call, inputs[index(pair.input)], pair.output)) {
      output.input = pair.input;
      taken[index(pair.input)] = true;
    } else if (records()) {
      if (!output.reason.empty()) output.reason += "; ";
      output.reason += "input " + std::to_string(pair.input) +
                       (taken[index(pair.input)] ? " serves another output"
                                                 : why_not_in_place(call, inputs, pair));
    }
  }
  if (records()) explain(call, memory);
  return memory;
}

bool Context::may_write_over(const Call& call, const Tensor& input, int output) const {
  const Storage& storage = *input.storage();
  return options_.in_place && input.storage().use_count() == 1 && !storage.resident &&
         storage.block.bytes() == call.outputs[index(output)].spec.bytes();
}

// Continues a sentence that begins with the input. Called only when recording: it builds strings.
std::string Context::why_not_in_place(const Call& call, std::span<const Tensor> inputs,
                                      const InPlacePair& pair) const {
  const Storage& storage = *inputs[index(pair.input)].storage();
  if (!options_.in_place) return " is kept: writing in place is switched off";
  if (storage.resident) return " is resident";
  if (storage.block.bytes() != call.outputs[index(pair.output)].spec.bytes()) {
    return " has another size than the output";
  }
  if (!storage.readers.empty()) {
    // During forward the only readers known are those that retain a value for their gradient.
    return " is still read by " + storage.readers.front() +
           (call.phase == Phase::kForward ? " in the backward pass" : "");
  }
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (k != index(pair.input) && inputs[k].storage().get() == &storage) {
      return " is also input " + std::to_string(k);
    }
  }
  return " is held by the program";
}

// Adds the reasons of outputs for which no pair was tried.
void Context::explain(const Call& call, std::vector<OutputMemory>& memory) const {
  for (std::size_t j = 0; j < memory.size(); ++j) {
    if (memory[j].input >= 0 || !memory[j].reason.empty()) continue;
    memory[j].reason = call.has_destination(j)
                           ? "the output is resident: " + call.destinations[j].storage()->layer
                           : std::string(call.op.name()) + " declares no input to write over";
  }
}

std::vector<Tensor> Context::request_outputs(const Call& call, std::span<const Tensor> inputs,
                                             std::span<const OutputMemory> memory) {
  std::vector<Tensor> outputs;
  for (std::size_t j = 0; j < call.outputs.size(); ++j) {
    const OutputSpec& output = call.outputs[j];
    if (call.has_destination(j)) {
      outputs.push_back(call.destinations[j].detach());
    } else if (memory[j].input >= 0) {
      outputs.emplace_back(output.spec, inputs[index(memory[j].input)].storage());
    } else {
      outputs.emplace_back(output.spec, request(output.spec.bytes(), call.tag(output.category)));
    }
  }
  return outputs;
}

void Context::run(const OpCall& call) {
  if (watch_.op_times == nullptr) {
    runner().run(call, kernels_);
  } else {
    watch_.op_times->push_back({.name = std::string(call.name.op),
                                .layer = std::string(call.name.layer),
                                .phase = call.name.phase,
                                .seconds = runner().run_timed(call)});
  }
  if (watch_.check_finite) check_outputs(call);
}

void Context::check_outputs(const OpCall& call) {
  if (!executes()) return;
  for (const Tensor& output : call.outputs) {
    if (output.spec().dtype != DType::kFloat32) continue;
    std::vector<float> values(static_cast<std::size_t>(output.shape().elements()));
    compute().read(values.data(), output.address(), output.spec().bytes());
    if (!std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) {
      throw NotFinite(call.name);
    }
  }
}

void Context::record(const Call& call, const Kernel& kernel, std::span<const Tensor> inputs,
                     std::span<const Tensor> outputs, std::vector<OutputMemory> memory) {
  if (!records()) return;
  const std::string layer(call.layer);
  StepOp op{.name = std::string(call.op.name()),
            .layer = layer,
            .phase = call.phase,
            .workspace_bytes = workspace_bytes(call.op, kernel),
            .in_place = call.in_place,
            .rounds = kernel.rounds()};
  for (const Tensor& input : inputs) op.inputs.push_back(recorder_.value_of(input));
  for (std::size_t j = 0; j < outputs.size(); ++j) {
    op.outputs.push_back(call.has_destination(j)
                             ? recorder_.value_of(outputs[j])
                             : recorder_.add_written(outputs[j], call.outputs[j].category, layer,
                                                     op_of_layer(op.name, layer)));
  }
  recorder_.add_op(std::move(op), std::move(memory), kernel.engine_use());
}

void Context::stage_uploads(std::size_t bytes) {
  if (!options_.prefetch || bytes <= staging_.memory.bytes()) return;
  staging_.memory.reset();
  staging_.memory =
      allocator_.allocate(bytes, {kStagingOp, "inputs", Phase::kOutside, Category::kInput});
  staging_.users = Staging::Users::kOps;
}

std::optional<Staging> Context::staging(std::size_t bytes) {
  if (bytes == 0 || staging_.used_bytes + bytes > staging_.memory.bytes()) return {};
  const Staging staging{staging_.memory.address() + staging_.used_bytes, staging_.users};
  staging_.users = Staging::Users::kNone;
  staging_.used_bytes += align_up(bytes, kAlignmentBytes);
  return staging;
}

Tensor Context::upload(const TensorSpec& spec, const void* host, std::string_view name) {
  const Tensor tensor(spec,
                      request(spec.bytes(), {"upload", name, Phase::kForward, Category::kInput}));
  const std::optional<Staging> staged = staging(spec.bytes());
  runner().begin_op({Phase::kForward, "upload", name});
  if (executes()) {
    compute().upload(tensor.address(), host, spec.bytes(), staged ? &*staged : nullptr);
  }
  if (records()) {
    const std::string layer(name);
    recorder_.add_op({.name = "upload",
                      .layer = layer,
                      .outputs = {recorder_.add_written(tensor, Category::kInput, layer, layer)}},
                     {{.reason = "upload has no input to write over"}});
  }
  return tensor;
}

void Context::download(Tensor tensor, void* host) {
  runner().begin_op({Phase::kForward, "download", layer_});
  if (executes()) compute().read(host, tensor.address(), tensor.spec().bytes());
  if (records()) {
    recorder_.add_op({.name = "download", .layer = layer_, .inputs = {recorder_.value_of(tensor)}},
                     {});
  }
}

}  // namespace skyline
