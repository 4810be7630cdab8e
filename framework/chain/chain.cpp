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

using Kind = RoundProgram::Value::Kind;

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

class ProgramMaker {
 public:
  std::size_t value(Kind kind, std::size_t index, const TensorSpec& spec, bool of_images = true) {
    program.values.push_back({kind, index, spec, of_images});
    return program.values.size() - 1;
  }
  std::vector<TensorSpec> specs(const std::vector<std::size_t>& values) const {
    std::vector<TensorSpec> result;
    for (const std::size_t value : values) result.push_back(program.values[value].spec);
    return result;
  }
  // Adds a call whose outputs are of `kind`; returns them.
  std::vector<std::size_t> call(const std::shared_ptr<const Op>& op, const std::string& layer,
                                std::vector<std::size_t> inputs, Kind kind) {
    std::vector<std::size_t> outputs;
    for (const OutputSpec& output : op->outputs(specs(inputs))) {
      outputs.push_back(value(kind, outputs.size(), output.spec));
    }
    program.calls.push_back({op, layer, std::move(inputs), outputs});
    return outputs;
  }

  RoundProgram program;
};

RoundProgram forward_program(const Layers& layers, std::int64_t images) {
  ProgramMaker maker;
  std::size_t h = maker.value(Kind::kInput, 0, with_images(layers.x, images)), input = 1;
  for (const Layer& layer : layers.all) {
    std::vector<std::size_t> inputs = {h};
    for (const TensorSpec& operand : layer.operands) {
      inputs.push_back(maker.value(Kind::kInput, input++, operand, false));
    }
    const Kind kind = &layer == &layers.all.back() ? Kind::kOutput : Kind::kInside;
    h = maker.call(layer.op, layer.layer, std::move(inputs), kind).front();
  }
  return std::move(maker.program);
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

  RoundProgram program() { return std::move(maker_.program); }
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
      known->second = maker_.value(Kind::kInput, sources.size(), spec, of_images);
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
      link.made = maker_.call(layer.op, layer.layer, std::move(inputs), Kind::kInside);
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
      switch (from.kind) {
        case GradientSource::Kind::kInput:
          inputs.push_back(input_of(k, index(from.index)));
          break;
        case GradientSource::Kind::kOutput:
          inputs.push_back(output_of(k, index(from.index)));
          break;
        case GradientSource::Kind::kGradOutput:
          inputs.push_back(gradient_of_output(k));
          break;
      }
    }
    const std::vector<OutputSpec> made = call.op->outputs(maker_.specs(inputs));
    for (std::size_t j = 0; j < made.size(); ++j) {
      outputs.push_back(new_gradient(k, first, call.gradient_of[j], made[j].spec));
    }
    maker_.program.calls.push_back({call.op, layers_.all[k].layer, std::move(inputs), outputs});
    names.emplace_back(call.op->name());
  }

  std::size_t new_gradient(std::size_t k, bool first, int input, const TensorSpec& spec) {
    Link& link = links_[k];
    if (input == 0 && !(first && k == 0)) {
      const std::size_t made = maker_.value(Kind::kInside, 0, spec);
      (first ? links_[k - 1] : link).gradient = made;
      return made;
    }
    const std::size_t number = gradient_of.size();
    gradient_of.push_back(input == 0 ? 0 : static_cast<int>(link.first_operand) + input - 1);
    return maker_.value(input == 0 ? Kind::kOutput : Kind::kSum, number, spec, input == 0);
  }

  const Layers& layers_;
  const std::vector<bool>& needed_;
  std::optional<std::size_t> only_;
  std::size_t number_ = 0;  // of the next call
  std::vector<Link> links_;
  std::map<std::pair<GradientSource::Kind, std::size_t>, std::size_t> known_;
  ProgramMaker maker_;
};

using SharedLayers = std::shared_ptr<const Layers>;

GradientCall gradient_call(const SharedLayers& layers, const std::vector<bool>& needed,
                           std::optional<std::size_t> only) {
  const std::int64_t images = layers->x.shape[0];
  const GradientMaker made(*layers, needed, images, only);
  std::string parameters = layers->str() + " needed=";
  for (const bool each : needed) parameters += each ? '1' : '0';
  const auto program = [layers, needed, only](std::int64_t count) {
    return GradientMaker(*layers, needed, count, only).program();
  };
  return {rounds_op({.name = only ? made.names.front() : std::string(kChainGrad),
                     .parameters = std::move(parameters),
                     .category = Category::kGradient,
                     .images = images,
                     .round = layers->round,
                     .program = program}),
          made.sources, made.gradient_of};
}

// `bare`: makes output 0 alone. Null: there is no such op.
std::shared_ptr<const Op> chain_op(const SharedLayers& layers, const SharedLayers& bare) {
  RoundsDeclaration declaration{
      .name = std::string(kChain),
      .parameters = layers->str(),
      .images = layers->x.shape[0],
      .round = layers->round,
      .program = [layers](std::int64_t images) { return forward_program(*layers, images); },
      .gradient =
          [layers](const std::vector<bool>& needed) {
            return std::vector{gradient_call(layers, needed, {})};
          }};
  if (bare) {
    declaration.recomputations = [bare] {
      std::size_t inputs = 1;
      for (const Layer& layer : bare->all) inputs += layer.operands.size();
      Recomputation how = Recomputation::from_inputs(inputs);
      how.op = chain_op(bare, nullptr);
      how.cheap = false;
      return std::vector{std::move(how)};
    };
  }
  return rounds_op(std::move(declaration));
}

// The same op, in rounds.
std::shared_ptr<const Op> op_in_rounds(std::shared_ptr<const Op> op, const TensorSpec& x,
                                       const std::vector<TensorSpec>& operands,
                                       std::int64_t round) {
  const auto layers = std::make_shared<const Layers>(
      Layers{.x = x, .all = {{op, {op}, "", operands}}, .round = round});
  const auto gradient = [layers](const std::vector<bool>& needed) {
    std::vector<TensorSpec> inputs = layers->all.front().operands;
    inputs.insert(inputs.begin(), layers->x);
    std::vector<GradientCall> calls;
    const std::size_t count = layers->all.front().op->gradient(inputs, needed).size();
    for (std::size_t k = 0; k < count; ++k) calls.push_back(gradient_call(layers, needed, k));
    return calls;
  };
  return rounds_op({.name = std::string(op->name()),
                    .parameters = layers->str(),
                    .images = x.shape[0],
                    .round = round,
                    .program = [layers](std::int64_t n) { return forward_program(*layers, n); },
                    .gradient = gradient});
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
  const bool needed = std::ranges::any_of(inputs, &Tensor::requires_grad);
  const auto shared_bare = std::make_shared<const Layers>(std::move(bare));
  std::optional<LayerScope> scope;
  if (!last.empty()) scope.emplace(context, last);
  if (!needed) return apply(context, chain_op(shared_bare, nullptr), std::move(inputs)).front();
  const auto shared = std::make_shared<const Layers>(std::move(whole));
  return apply(context, chain_op(shared, shared_bare), std::move(inputs)).front();
}

}  // namespace

Tensor chain(Context& context, std::string_view name, Tensor x, std::vector<Link> links) {
  const Context::Options& options = context.options();
  const std::int64_t round = images_a_round(x.spec(), links, options.round_bytes);
  const bool several = round < x.shape()[0] && !options.emulate.chainer_ops;
  if (several && context.training()) {
    if (options.record_graph) context.recorder().add_chain(std::string(name));
    if (context.in_rounds(name)) {
      return apply_in_rounds(context, std::move(x), std::move(links), round);
    }
  }
  for (Link& link : links) {
    if (several && !link.operands.empty()) {
      const auto in_rounds = [&](std::shared_ptr<const Op>& op) {
        op = op_in_rounds(op, x.spec(), specs_of(link.operands), round);
      };
      in_rounds(link.op);
      if (!link.parts.empty()) in_rounds(link.parts.front());
    }
    x = apply(context, std::move(link), std::move(x));
  }
  return x;
}

}  // namespace skyline
