#include "framework/context.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "framework/node.h"
#include "memory/alignment.h"

namespace skyline {

namespace {

// Batches that have another shape each would add some tens of kernels a step for ever.
constexpr std::size_t kMostKernels = 1024;

}  // namespace

// One op on its way through execute(): what is asked and what the op declares.
struct Context::Call {
  const Op& op;
  Phase phase;
  std::string_view layer;
  std::vector<TensorSpec> specs;  // of the inputs
  std::vector<OutputSpec> outputs;
  std::span<const Tensor> destinations;

  bool has_destination(std::size_t output) const {
    return output < destinations.size() && destinations[output];
  }
  Tag tag(Category category) const { return {op.name(), layer, phase, category}; }
};

NotFinite::NotFinite(std::string op, std::string layer, Phase phase)
    : std::runtime_error("[" + op_of_layer(op, layer) + "] the " + std::string(phase_name(phase)) +
                         " pass made a value that is not finite"),
      op_(std::move(op)),
      layer_(std::move(layer)) {}

Context::Context(Allocator& allocator, Options options)
    : allocator_(allocator), options_(options), random_{.seed = options.seed} {
  if (options.execute && options.convolution_workspace_bytes) {
    throw std::invalid_argument(
        "[context] a workspace for convolutions can be set in a dry run only");
  }
}

void Context::begin_step(ShapeKey key) {
  graph_ = {};
  refusals_.clear();
  ++generation_;
  if (staged_bytes_ > 0) staging_users_ = Staging::Users::kUploads;
  staged_bytes_ = 0;
  allocator_.begin_step(key);
}

void Context::end_step() { allocator_.end_step(); }

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
  if (options_.execute) {
    if (host != nullptr) {
      compute().write(storage->address(), host, spec.bytes());
    } else {
      compute().zero(storage->address(), spec.bytes());
    }
  }
  return Tensor(spec, std::move(storage));
}

void Context::write(const Tensor& tensor, const void* host) {
  if (options_.execute) compute().write(tensor.address(), host, tensor.spec().bytes());
}

Parameter Context::parameter(const TensorSpec& spec, std::string name, const void* host) {
  Parameter parameter{.name = name, .value = resident(spec, Category::kParameter, name, host)};
  if (training()) {
    if (!options_.fused_update) {
      parameter.gradient = resident(spec, Category::kParameterGradient, name);
    }
    auto leaf = std::make_shared<Node>();
    leaf->layer = std::move(name);
    leaf->output_specs = {spec};
    leaf->gradient = parameter.gradient;
    parameter.value = Tensor(spec, parameter.value.storage(), {std::move(leaf), 0});
  }
  return parameter;
}

std::shared_ptr<Kernel> Context::kernel(const Op& op, std::span<const TensorSpec> inputs) {
  if (!op.cacheable()) return op.kernel(compute(), inputs);
  std::string key(op.name());
  key.append(" ").append(op.parameters());
  for (const TensorSpec& spec : inputs) key.append(" ").append(spec.str());
  // All at once: what is still in use is made anew from the library's own cache, in some
  // microseconds each.
  if (kernels_.size() >= kMostKernels && !kernels_.contains(key)) kernels_.clear();
  std::shared_ptr<Kernel>& cached = kernels_[key];
  if (!cached) cached = op.kernel(compute(), inputs);
  return cached;
}

std::size_t Context::workspace_bytes(const Op& op, const Kernel& kernel) const {
  if (options_.convolution_workspace_bytes && op.is_convolution()) {
    return *options_.convolution_workspace_bytes;
  }
  return kernel.workspace_bytes();
}

std::vector<Tensor> Context::execute(const Op& op, std::vector<Tensor> inputs,
                                     std::span<const Tensor> destinations, Phase phase,
                                     std::string_view layer) {
  Call call{.op = op, .phase = phase, .layer = layer, .destinations = destinations};
  for (const Tensor& input : inputs) call.specs.push_back(input.spec());
  call.outputs = op.outputs(call.specs);
  if (op.is_view()) return view(call, std::move(inputs));

  const std::shared_ptr<Kernel> kernel = this->kernel(op, call.specs);
  const std::vector<int> written_over = choose_in_place(call, inputs);
  std::vector<Tensor> outputs;
  for (std::size_t j = 0; j < call.outputs.size(); ++j) {
    const OutputSpec& output = call.outputs[j];
    if (call.has_destination(j)) {
      outputs.push_back(destinations[j].detach());
    } else if (written_over[j] >= 0) {
      outputs.emplace_back(output.spec,
                           inputs[static_cast<std::size_t>(written_over[j])].storage());
    } else {
      outputs.emplace_back(output.spec, request(output.spec.bytes(), call.tag(output.category)));
    }
  }
  const std::size_t workspace_bytes = this->workspace_bytes(op, *kernel);
  Block workspace;
  if (workspace_bytes > 0) {
    workspace = allocator_.allocate(workspace_bytes, call.tag(Category::kWorkspace));
  }
  run(call, *kernel, inputs, outputs, workspace.address());
  workspace.reset();
  record(call, inputs, outputs, workspace_bytes);
  for (Tensor& input : inputs) input = {};
  return outputs;
}

std::vector<Tensor> Context::view(const Call& call, std::vector<Tensor> inputs) {
  const Tensor& input = inputs.front();
  if (options_.record_graph) {
    const ValueId storage = value_of(*input.storage());
    const auto id = static_cast<ValueId>(graph_.values.size());
    StepValue value = graph_.values[storage];
    value.storage = storage;
    graph_.values.push_back(value);
    graph_.ops.push_back({.name = std::string(call.op.name()),
                          .layer = std::string(call.layer),
                          .phase = call.phase,
                          .inputs = {storage},
                          .outputs = {id}});
  }
  return {Tensor(call.outputs.front().spec, input.storage())};
}

// For each output the input that it is written over, or -1.
std::vector<int> Context::choose_in_place(const Call& call, std::span<const Tensor> inputs) {
  std::vector<int> written_over(call.outputs.size(), -1);
  std::vector<bool> taken(inputs.size(), false);
  for (const InPlacePair& pair : call.op.in_place()) {
    const auto i = static_cast<std::size_t>(pair.input);
    const auto j = static_cast<std::size_t>(pair.output);
    if (call.has_destination(j) || written_over[j] >= 0 || taken[i]) continue;
    std::string reason = why_not_in_place(call, inputs, pair);
    if (reason.empty()) {
      written_over[j] = pair.input;
      taken[i] = true;
    } else if (options_.record_refusals) {
      refusals_.push_back(
          {std::string(call.op.name()), std::string(call.layer), std::move(reason)});
    }
  }
  return written_over;
}

// Empty when the pair may be used. Sentences are built only under record_refusals.
std::string Context::why_not_in_place(const Call& call, std::span<const Tensor> inputs,
                                      const InPlacePair& pair) const {
  const Tensor& input = inputs[static_cast<std::size_t>(pair.input)];
  const Storage& storage = *input.storage();
  const bool one_holder = input.storage().use_count() == 1;
  const bool same_bytes =
      storage.block.bytes() == call.outputs[static_cast<std::size_t>(pair.output)].spec.bytes();
  if (options_.in_place && one_holder && same_bytes && !storage.resident) return {};
  if (!options_.record_refusals) return "refused";
  const std::string name = "input " + std::to_string(pair.input);
  if (!options_.in_place) return "writing in place is switched off";
  if (storage.resident) return name + " is resident";
  if (!same_bytes) return name + " has another size than the output";
  if (!storage.readers.empty()) return name + " is still read by " + storage.readers.front();
  return name + " is held by the program";
}

void Context::run(const Call& call, Kernel& kernel, std::span<const Tensor> inputs,
                  std::span<const Tensor> outputs, std::byte* workspace) {
  if (!options_.execute) return;
  std::vector<const std::byte*> input_addresses;
  for (const Tensor& input : inputs) input_addresses.push_back(input.address());
  std::vector<std::byte*> output_addresses;
  for (const Tensor& output : outputs) output_addresses.push_back(output.address());
  kernel.run({input_addresses, output_addresses, workspace});
  if (options_.check_finite) check_outputs(call, outputs);
}

void Context::check_outputs(const Call& call, std::span<const Tensor> outputs) {
  for (const Tensor& output : outputs) {
    if (output.spec().dtype != DType::kFloat32) continue;
    std::vector<float> values(static_cast<std::size_t>(output.shape().elements()));
    compute().read(values.data(), output.address(), output.spec().bytes());
    if (!std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) {
      throw NotFinite(std::string(call.op.name()), std::string(call.layer), call.phase);
    }
  }
}

ValueId Context::value_of(Storage& storage) {
  if (storage.generation != generation_) {
    storage.generation = generation_;
    storage.value = static_cast<ValueId>(graph_.values.size());
    graph_.values.push_back({.bytes = storage.block.bytes(),
                             .category = storage.category,
                             .resident = true,
                             .storage = storage.value,
                             .layer = storage.layer});
  }
  return storage.value;
}

void Context::record(const Call& call, std::span<const Tensor> inputs,
                     std::span<const Tensor> outputs, std::size_t workspace_bytes) {
  if (!options_.record_graph) return;
  StepOp op{.name = std::string(call.op.name()),
            .layer = std::string(call.layer),
            .phase = call.phase,
            .workspace_bytes = workspace_bytes,
            .in_place = call.op.in_place()};
  for (const Tensor& input : inputs) op.inputs.push_back(value_of(*input.storage()));
  for (std::size_t j = 0; j < outputs.size(); ++j) {
    Storage& storage = *outputs[j].storage();
    if (call.has_destination(j)) {
      op.outputs.push_back(value_of(storage));
      continue;
    }
    const auto id = static_cast<ValueId>(graph_.values.size());
    graph_.values.push_back({.bytes = outputs[j].spec().bytes(),
                             .category = call.outputs[j].category,
                             .storage = id,
                             .layer = std::string(call.layer)});
    storage.value = id;
    storage.generation = generation_;
    op.outputs.push_back(id);
  }
  graph_.ops.push_back(std::move(op));
}

namespace {

// Uploads and downloads run no kernel; they stand in the step graph as ops of one value.
StepOp transfer(std::string_view name, const std::string& layer) {
  return {.name = std::string(name), .layer = layer};
}

}  // namespace

void Context::stage_uploads(std::size_t bytes) {
  if (!options_.prefetch || bytes <= staging_.bytes()) return;
  staging_.reset();
  staging_ = allocator_.allocate(bytes, {kStagingOp, "inputs", Phase::kOutside, Category::kInput});
  staging_users_ = Staging::Users::kOps;
}

std::optional<Staging> Context::staging(std::size_t bytes) {
  if (bytes == 0 || staged_bytes_ + bytes > staging_.bytes()) return {};
  const Staging staging{staging_.address() + staged_bytes_, staging_users_};
  staging_users_ = Staging::Users::kNone;
  staged_bytes_ += align_up(bytes, kAlignmentBytes);
  return staging;
}

Tensor Context::upload(const TensorSpec& spec, const void* host, std::string_view name) {
  auto storage = request(spec.bytes(), {"upload", name, Phase::kForward, Category::kInput});
  const std::optional<Staging> on_its_way = staging(spec.bytes());
  if (options_.execute) {
    compute().upload(storage->address(), host, spec.bytes(), on_its_way ? &*on_its_way : nullptr);
  }
  if (options_.record_graph) {
    StepOp op = transfer("upload", std::string(name));
    op.outputs = {value_of(*storage)};
    graph_.values.back().resident = false;
    graph_.ops.push_back(std::move(op));
  }
  return Tensor(spec, std::move(storage));
}

void Context::download(Tensor tensor, void* host) {
  if (options_.execute) compute().read(host, tensor.address(), tensor.spec().bytes());
  if (options_.record_graph) {
    StepOp op = transfer("download", layer_);
    op.inputs = {value_of(*tensor.storage())};
    graph_.ops.push_back(std::move(op));
  }
}

LayerScope::LayerScope(Context& context, std::string_view name)
    : context_(context), length_before_(context.layer_.size()) {
  if (length_before_ > 0) context_.layer_ += '.';
  context_.layer_ += name;
}

LayerScope::~LayerScope() { context_.layer_.resize(length_before_); }

}  // namespace skyline
