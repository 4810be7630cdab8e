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

GptBlock::Layers GptBlock::make_layers(Context& context, std::string_view name,
                                       const GptShape& shape) {
  const LayerScope scope(context, name);
  // The sums of all branches would otherwise grow with the number of layers.
  const double of_branch = kDeviation / std::sqrt(2.0 * static_cast<double>(shape.layers));
  const auto linear = [&](std::string_view part, std::int64_t in, std::int64_t out,
                          double deviation) {
    return Linear(context, part,
                  {.in = in * shape.units,
                   .out = out * shape.units,
                   .initializer = normal_of(deviation),
                   .bias = shape.biases,
                   .transposed = true});
  };
  const LayerNorm::Options norm{.features = shape.units, .bias = shape.biases};
  return {.ln_1 = LayerNorm(context, "ln_1", norm),
          .c_attn = linear("attn.c_attn", 1, 3, kDeviation),
          .attn_c_proj = linear("attn.c_proj", 1, 1, of_branch),
          .ln_2 = LayerNorm(context, "ln_2", norm),
          .c_fc = linear("mlp.c_fc", 1, 4, kDeviation),
          .mlp_c_proj = linear("mlp.c_proj", 4, 1, of_branch)};
}

GptBlock::GptBlock(Context& context, std::string_view name, const GptShape& shape)
    : Layer(name), shape_(shape), layers_(make_layers(context, name, shape)) {
  own(layers_.ln_1, layers_.c_attn, layers_.attn_c_proj);
  own(layers_.ln_2, layers_.c_fc, layers_.mlp_c_proj);
}

Tensor GptBlock::operator()(Context& context, Tensor x, std::int64_t sequences) const {
  const LayerScope scope(context, name());
  Tensor y = layers_.c_attn(context, layers_.ln_1(context, x));
  {
    const LayerScope attn(context, "attn");
    y = attention(context, std::move(y), {.sequences = sequences, .heads = shape_.heads});
  }
  y = dropout(context, layers_.attn_c_proj(context, std::move(y)), shape_.dropout);
  x = add(context, std::move(y), std::move(x));
  y = layers_.c_fc(context, layers_.ln_2(context, x));
  {
    const LayerScope mlp(context, "mlp");
    y = gelu(context, std::move(y));
  }
  y = dropout(context, layers_.mlp_c_proj(context, std::move(y)), shape_.dropout);
  return add(context, std::move(y), std::move(x));
}

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
