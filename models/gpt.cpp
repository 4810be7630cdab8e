#include "models/gpt.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "framework/ops/activation/activations.h"
#include "framework/ops/attention/attention.h"
#include "framework/ops/loss/linear_cross_entropy.h"
#include "framework/ops/math/arithmetic.h"

namespace skyline {
namespace {

constexpr double kDeviation = 0.02;

// nanoGPT's config/train_shakespeare_char.py, and llm.c's train_gpt2.c.
constexpr TrainingDefaults kOfCharacters = {.learning_rate = 1e-3,
                                            .least_rate = 1e-4,
                                            .warmup_steps = 100,
                                            .weight_decay = 0.1,
                                            .beta2 = 0.99,
                                            .clip = 1};
constexpr TrainingDefaults kOfGpt2 = {
    .learning_rate = 1e-4, .least_rate = 1e-4, .weight_decay = 0.01};

constexpr GptEntry kGpts[] = {
    {"gpt-small",
     {.words = 65, .positions = 64, .layers = 4, .heads = 4, .units = 128, .biases = false},
     kOfCharacters},
    {"gpt-medium",
     {.words = 65,
      .positions = 256,
      .layers = 6,
      .heads = 6,
      .units = 384,
      .biases = false,
      .dropout = 0.2f},
     kOfCharacters},
    {"gpt2", {}, kOfGpt2},
    {"gpt2-medium", {.layers = 24, .heads = 16, .units = 1024}, kOfGpt2},
    {"gpt2-large", {.layers = 36, .heads = 20, .units = 1280}, kOfGpt2},
    {"gpt2-xl", {.layers = 48, .heads = 25, .units = 1600}, kOfGpt2},
};

GptShape checked(const GptShape& shape) {
  if (shape.units % shape.heads == 0) return shape;
  throw ShapeError("gpt", "units", std::to_string(shape.units),
                   "a multiple of the " + std::to_string(shape.heads) + " heads");
}

Embedding::Options table(std::int64_t rows, const GptShape& shape) {
  return {.words = rows, .features = shape.units, .initializer = normal_of(kDeviation)};
}

}  // namespace

std::span<const GptEntry> gpts() { return kGpts; }

const GptEntry* find_gpt(std::string_view name) {
  const auto* const entry = std::ranges::find(kGpts, name, &GptEntry::name);
  return entry == std::end(kGpts) ? nullptr : entry;
}

// A block of attention and a perceptron, each added to what comes in.
class GptBlock : public Layer {
 public:
  GptBlock(Context& context, const std::string& name, const GptShape& shape)
      : GptBlock(LayerScope(context, name), context, name, shape) {}

  // x [B T, C] to the same shape.
  Tensor operator()(Context& context, Tensor x, std::int64_t sequences) const {
    const LayerScope scope(context, name());
    Tensor y = c_attn_(context, ln_1_(context, x));
    {
      const LayerScope attn(context, "attn");
      y = attention(context, std::move(y), {.sequences = sequences, .heads = heads_});
    }
    y = dropout(context, attn_c_proj_(context, std::move(y)), dropout_);
    x = add(context, std::move(y), std::move(x));
    y = c_fc_(context, ln_2_(context, x));
    {
      const LayerScope mlp(context, "mlp");
      y = gelu(context, std::move(y));
    }
    y = dropout(context, mlp_c_proj_(context, std::move(y)), dropout_);
    return add(context, std::move(y), std::move(x));
  }

 private:
  GptBlock(const LayerScope&, Context& context, const std::string& name, const GptShape& shape)
      : Layer(name),
        heads_(shape.heads),
        dropout_(shape.dropout),
        ln_1_(context, "ln_1", {.features = shape.units, .bias = shape.biases}),
        c_attn_(context, "attn.c_attn", matrix(shape, 1, 3)),
        attn_c_proj_(context, "attn.c_proj", matrix(shape, 1, 1, of_branch(shape))),
        ln_2_(context, "ln_2", {.features = shape.units, .bias = shape.biases}),
        c_fc_(context, "mlp.c_fc", matrix(shape, 1, 4)),
        mlp_c_proj_(context, "mlp.c_proj", matrix(shape, 4, 1, of_branch(shape))) {
    own(ln_1_, c_attn_, attn_c_proj_, ln_2_, c_fc_, mlp_c_proj_);
  }
  // A layer from `in` to `out` times the units.
  static Linear::Options matrix(const GptShape& shape, std::int64_t in, std::int64_t out,
                                double deviation = kDeviation) {
    return {.in = in * shape.units,
            .out = out * shape.units,
            .initializer = normal_of(deviation),
            .bias = shape.biases,
            .transposed = true};
  }
  // The sums of all branches would otherwise grow with the number of layers.
  static double of_branch(const GptShape& shape) {
    return kDeviation / std::sqrt(2.0 * static_cast<double>(shape.layers));
  }

  std::int64_t heads_;
  float dropout_;
  LayerNorm ln_1_;
  Linear c_attn_, attn_c_proj_;
  LayerNorm ln_2_;
  Linear c_fc_, mlp_c_proj_;
};

Gpt::Gpt(Context& context, const GptShape& shape)
    : shape_(checked(shape)),
      wte_(context, "wte", table(shape.words, shape)),
      wpe_(context, "wpe", table(shape.positions, shape)),
      blocks_([&] {
        std::vector<GptBlock> blocks;
        for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
          blocks.emplace_back(context, "h." + std::to_string(layer), shape);
        }
        return blocks;
      }()),
      ln_f_(context, "ln_f", {.features = shape.units, .bias = shape.biases}) {
  own(wte_, wpe_);
  for (const GptBlock& block : blocks_) own(block);
  own(ln_f_);
  may_hold({.name = "h.*.attn.bias"});  // masks
  may_hold({.name = "h.*.attn.masked_bias"});
  may_hold({.name = "lm_head.weight", .same_as = "wte.weight"});
}

Gpt::~Gpt() = default;

Tensor Gpt::features(Context& context, Tensor words, Tensor places, std::int64_t sequences) const {
  Tensor x = wte_(context, std::move(words)), y = wpe_(context, std::move(places));
  {
    const LayerScope scope(context, wpe_.name());
    x = dropout(context, add(context, std::move(x), std::move(y)), shape_.dropout);
  }
  for (const GptBlock& block : blocks_) x = block(context, std::move(x), sequences);
  return ln_f_(context, std::move(x));
}

Tensor Gpt::logits(Context& context, Tensor z) const {
  const LayerScope scope(context, wte_.name());
  return linear(context, std::move(z), wte_.parameters()[0].value, {});
}

Tensor Gpt::loss(Context& context, Tensor z, Tensor answers, bool accumulate) const {
  const Tensor& weight = wte_.parameters()[0].value;
  if (!panels_save_bytes(z.shape(), weight.shape())) {
    Tensor all = logits(context, std::move(z));
    const LayerScope scope(context, "loss");
    return softmax_cross_entropy(context, std::move(all), std::move(answers));
  }
  const LayerScope scope(context, wte_.name());
  return linear_cross_entropy(context, {.x = std::move(z),
                                        .weight = weight,
                                        .labels = std::move(answers),
                                        .accumulate = accumulate});
}

}  // namespace skyline
