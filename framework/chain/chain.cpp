#include "framework/chain/chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "framework/chain/rounds.h"
#include "framework/retention.h"

namespace skyline {
namespace {

using ValueKind = RoundProgram::Value::Kind;

// A link without its operands' bytes, which an op must not hold.
struct Layer {
  std::shared_ptr<const Op> op;
  std::vector<std::shared_ptr<const Op>> parts;  // whose gradients are those of the op
  std::string layer;                             // that the op has when it runs alone
  std::vector<TensorSpec> operands;
};

struct Layers {
  TensorSpec x;  // of all images
  std::vector<Layer> all;
  std::int64_t round;

  std::string str() const {
    std::string text = fmt::format("round={} x={}", round, x.str());
    for (const Layer& layer : all) {
      text += fmt::format("; {} {}", layer.op->name(), layer.op->parameters());
      for (const TensorSpec& operand : layer.operands) text += " " + operand.str();
    }
    return text;
  }
};

RoundProgram forward_program(const Layers& layers, std::int64_t images) {
  RoundProgram program;
  std::size_t h = program.add({ValueKind::kInput, 0, with_images(layers.x, images)}), input = 1;
  for (const Layer& layer : layers.all) {
    std::vector<std::size_t> inputs = {h};
    for (const TensorSpec& operand : layer.operands) {
      inputs.push_back(program.add({ValueKind::kInput, input++, operand, false}));
    }
    const ValueKind kind = &layer == &layers.all.back() ? ValueKind::kOutput : ValueKind::kInside;
    h = program.call(layer.op, layer.layer, std::move(inputs), kind).front();
  }
  return program;
}

// Makes the gradient of a chain, last link first. What a gradient reads between two links is
// computed again before it.
class GradientMaker {
 public:
  // `only`: one of the calls, whose inputs and outputs are those of the chain.
  GradientMaker(const Layers& layers, const std::vector<bool>& needed, std::int64_t images,
                std::optional<std::size_t> only)
      : layers_(layers), needed_(needed), only_(only), links_(layers.all.size()) {
    std::size_t operand = 1;
    TensorSpec x = with_images(layers.x, images);
    for (std::size_t k = 0; k < links_.size(); ++k) {
      Link& link = links_[k];
      link.inputs = {x};
      link.first_operand = operand;
      for (const TensorSpec& spec : layers.all[k].operands) link.inputs.push_back(spec);
      operand += layers.all[k].operands.size();
      for (const OutputSpec& output : layers.all[k].op->outputs(link.inputs)) {
        link.outputs.push_back(output.spec);
      }
      x = link.outputs.front();
    }
    for (std::size_t k = links_.size(); k-- > 0;) add_link(k);
  }

  RoundProgram program;
  std::vector<GradientSource> sources;
  std::vector<int> gradient_of;
  std::vector<std::string> names;  // of the calls

 private:
  struct Link {
    std::vector<TensorSpec> inputs, outputs;
    std::size_t first_operand = 0;             // among the chain's inputs
    std::vector<std::size_t> made = {};        // its outputs, computed again
    std::optional<std::size_t> gradient = {};  // of output 0
  };

  bool is_last(std::size_t k) const { return k + 1 == links_.size(); }

  std::size_t source(GradientSource::Kind kind, std::size_t number, const TensorSpec& spec,
                     bool of_images = true) {
    const auto [known, is_new] = known_.try_emplace({kind, number});
    if (is_new) {
      known->second = program.add({ValueKind::kInput, sources.size(), spec, of_images});
      sources.push_back({kind, static_cast<int>(number)});
    }
    return known->second;
  }

  std::size_t input_of(std::size_t k, std::size_t number) {
    const Link& link = links_[k];
    if (number > 0) {
      return source(GradientSource::Kind::kInput, link.first_operand + number - 1,
                    link.inputs[number], false);
    }
    return k == 0 ? source(GradientSource::Kind::kInput, 0, link.inputs[0]) : output_of(k - 1, 0);
  }

  std::size_t output_of(std::size_t k, std::size_t number) {
    Link& link = links_[k];
    if (is_last(k)) return source(GradientSource::Kind::kOutput, number, link.outputs[number]);
    if (link.made.empty()) {
      std::vector<std::size_t> inputs;
      for (std::size_t i = 0; i < link.inputs.size(); ++i) inputs.push_back(input_of(k, i));
      const Layer& layer = layers_.all[k];
      link.made = program.call(layer.op, layer.layer, std::move(inputs), ValueKind::kInside);
    }
    return link.made[number];
  }

  std::size_t gradient_of_output(std::size_t k) {
    Link& link = links_[k];
    if (!link.gradient) {
      link.gradient = source(GradientSource::Kind::kGradOutput, 0, link.outputs.front());
    }
    return *link.gradient;
  }

  // True if a gradient must reach what input 0 of the link is.
  bool is_needed_before(std::size_t k) const {
    return std::any_of(needed_.begin(),
                       needed_.begin() + static_cast<std::ptrdiff_t>(links_[k].first_operand),
                       [](bool needed) { return needed; });
  }

  void add_link(std::size_t k) {
    const Layer& layer = layers_.all[k];
    Link& link = links_[k];
    std::vector<bool> needed = {is_needed_before(k)};
    for (std::size_t i = 1; i < link.inputs.size(); ++i) {
      needed.push_back(needed_[link.first_operand + i - 1]);
    }
    if (std::ranges::find(needed, true) == needed.end()) return;
    for (std::size_t p = layer.parts.size(); p-- > 0;) {
      const bool first = p == 0;
      const std::vector<TensorSpec> inputs =
          first ? link.inputs : std::vector{link.outputs.front()};
      for (const GradientCall& call :
           layer.parts[p]->gradient(inputs, first ? needed : std::vector{true})) {
        if (!only_ || *only_ == number_) add_call(k, first, call);
        ++number_;
      }
    }
  }

  void add_call(std::size_t k, bool first, const GradientCall& call) {
    std::vector<std::size_t> inputs, outputs;
    for (const GradientSource& from : call.sources) {
      using enum GradientSource::Kind;
      inputs.push_back(from.kind == kInput    ? input_of(k, index(from.index))
                       : from.kind == kOutput ? output_of(k, index(from.index))
                                              : gradient_of_output(k));
    }
    const std::vector<OutputSpec> made = call.op->outputs(program.specs(inputs));
    for (std::size_t j = 0; j < made.size(); ++j) {
      outputs.push_back(new_gradient(k, first, call.gradient_of[j], made[j].spec));
    }
    program.calls.push_back({call.op, layers_.all[k].layer, std::move(inputs), outputs});
    names.emplace_back(call.op->name());
  }

  std::size_t new_gradient(std::size_t k, bool first, int input, const TensorSpec& spec) {
    Link& link = links_[k];
    if (input == 0 && !(first && k == 0)) {
      const std::size_t made = program.add({ValueKind::kInside, 0, spec});
      (first ? links_[k - 1] : link).gradient = made;
      return made;
    }
    const std::size_t number = gradient_of.size();
    gradient_of.push_back(input == 0 ? 0 : static_cast<int>(link.first_operand) + input - 1);
    return program.add(
        {input == 0 ? ValueKind::kOutput : ValueKind::kSum, number, spec, input == 0});
  }

  const Layers& layers_;
  const std::vector<bool>& needed_;
  std::optional<std::size_t> only_;
  std::size_t number_ = 0;  // of the next call
  std::vector<Link> links_;
  std::map<std::pair<GradientSource::Kind, std::size_t>, std::size_t> known_;
};

using SharedLayers = std::shared_ptr<const Layers>;

// Returns the calls that compute a chain's gradients: one of all, or those of its only link.
std::vector<GradientCall> gradient_calls(const SharedLayers& layers,
                                         const std::vector<bool>& needed, bool as_one) {
  std::string parameters = layers->str() + " needed=";
  for (const bool each : needed) parameters += each ? '1' : '0';
  std::vector<GradientCall> calls;
  while (calls.empty() || !as_one) {
    const auto only = as_one ? std::nullopt : std::optional(calls.size());
    const GradientMaker made(*layers, needed, layers->x.shape[0], only);
    if (made.names.empty()) break;
    const auto program = [layers, needed, only](std::int64_t images) {
      return GradientMaker(*layers, needed, images, only).program;
    };
    calls.push_back({rounds_op({.name = as_one ? std::string(kChainGrad) : made.names.front(),
                                .parameters = parameters,
                                .category = Category::kGradient,
                                .images = layers->x.shape[0],
                                .round = layers->round,
                                .program = program}),
                     made.sources, made.gradient_of});
  }
  return calls;
}

// Returns the op of a chain, or that of its only link, in rounds.
std::shared_ptr<const Op> op_in_rounds(Layers described, bool as_one,
                                       std::shared_ptr<const Op> bare = {}) {
  const auto layers = std::make_shared<const Layers>(std::move(described));
  return rounds_op({.name = std::string(as_one ? kChain : layers->all.front().op->name()),
                    .parameters = layers->str(),
                    .images = layers->x.shape[0],
                    .round = layers->round,
                    .program = [layers](std::int64_t n) { return forward_program(*layers, n); },
                    .gradient =
                        [layers, as_one](const std::vector<bool>& needed) {
                          return gradient_calls(layers, needed, as_one);
                        },
                    .bare = std::move(bare)});
}

// Returns the images of a round.
std::int64_t images_a_round(TensorSpec x, const std::vector<Link>& links, std::size_t round_bytes) {
  const std::int64_t images = x.shape[0];
  std::size_t largest = 1;
  for (const Link& link : links) {
    std::vector<TensorSpec> inputs = {x};
    for (const Tensor& operand : link.operands) inputs.push_back(operand.spec());
    x = link.op->outputs(inputs).front().spec;
    largest = std::max(largest, x.bytes() / static_cast<std::size_t>(images));
  }
  // Kernels like the address of every fourth image: it is a multiple of 16 bytes.
  constexpr std::int64_t kGrain = 4;
  const auto fit = static_cast<std::int64_t>(round_bytes / largest);
  return std::max(fit / kGrain, std::int64_t{1}) * kGrain;
}

// The op belongs to the layer of the last link.
Tensor apply_in_rounds(Context& context, Tensor x, std::vector<Link> links, std::int64_t round) {
  Layers whole{.x = x.spec(), .all = {}, .round = round};
  std::string layer = x.storage()->layer, last;
  std::vector<Tensor> inputs;
  inputs.push_back(std::move(x));
  for (Link& link : links) {
    const std::vector<TensorSpec> operands = specs_of(link.operands);
    std::ranges::move(link.operands, std::back_inserter(inputs));
    auto parts = link.parts.empty() ? std::vector{link.op} : std::move(link.parts);
    std::optional<LayerScope> scope;
    if (!link.layer.empty()) scope.emplace(context, last = link.layer);
    if (!context.layer().empty()) layer = context.layer();
    whole.all.push_back({link.op, std::move(parts), layer, operands});
  }
  Layers bare = whole;
  if (links.back().bare) bare.all.back().op = links.back().bare;
  auto op = op_in_rounds(std::move(bare), true);
  if (std::ranges::any_of(inputs, &Tensor::requires_grad)) {
    op = op_in_rounds(std::move(whole), true, std::move(op));
  }
  std::optional<LayerScope> scope;
  if (!last.empty()) scope.emplace(context, last);
  return apply(context, std::move(op), std::move(inputs)).front();
}

}  // namespace

Tensor chain(Context& context, std::string_view name, Tensor x, std::vector<Link> links) {
  const Context::Options& options = context.options();
  const std::int64_t round = images_a_round(x.spec(), links, options.round_bytes);
  // Inference has no sums of images, and a kernel for the whole batch may write over its input.
  const bool several =
      context.training() && round < x.shape()[0] && !context.emulation().chainer_ops;
  if (several) {
    if (context.watch().record_graph) context.recorder().add_chain(std::string(name));
    if (context.in_rounds(name)) {
      return apply_in_rounds(context, std::move(x), std::move(links), round);
    }
  }
  for (Link& link : links) {
    if (several && !link.operands.empty()) {
      const auto in_rounds = [&](std::shared_ptr<const Op>& op) {
        op = op_in_rounds({x.spec(), {{op, {op}, "", specs_of(link.operands)}}, round}, false);
      };
      in_rounds(link.op);
      if (!link.parts.empty()) in_rounds(link.parts.front());
    }
    x = apply(context, std::move(link), std::move(x));
  }
  return x;
}

}  // namespace skyline
