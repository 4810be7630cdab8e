#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "framework/ops/loss/softmax.h"
#include "layers/linear.h"
#include "layers/normalization.h"
#include "models/model.h"

namespace skyline {

struct GptShape {
  std::int64_t words = 50'257;    // V: characters, or words of a tokenizer
  std::int64_t positions = 1024;  // the longest sequence
  std::int64_t layers = 12;
  std::int64_t heads = 12;
  std::int64_t units = 768;  // C, a multiple of the heads
  bool biases = true;        // of linear layers and normalizations
  float dropout = 0;         // of the embedding and of each branch, before it is added
  bool operator==(const GptShape&) const = default;
};

class GptBlock;

// A transformer that tells the next word (Radford et al. 2019, "Language models are unsupervised
// multitask learners"), with OpenAI's names:
//
//   wte[word] + wpe[position] - h.0 … h.L-1 - ln_f - logits = z wteᵀ
//   h.i:  x + attn.c_proj(attention(attn.c_attn(ln_1(x)))), then x +
//   mlp.c_proj(gelu(mlp.c_fc(ln_2(x))))
//
// 124,439,808 parameters by default. The head has no weight of its own: wte is tied. All matrices
// are initially normal with standard deviation 0.02, c_proj's divided by sqrt(2 L), biases zero
// (section 2.3). Files have the linear layers' weights as [in, out].
class Gpt : public Network {
 public:
  // Throws ShapeError unless the heads divide the units.
  Gpt(Context& context, const GptShape& shape);
  ~Gpt() override;

  const GptShape& shape() const noexcept { return shape_; }

  // Returns z [B T, C] after ln_f, for the words i32 [B T] of B sequences, one after the other, and
  // the place i32 [B T] of each in its sequence, below `positions`. Throws ShapeError, WordError.
  Tensor features(Context& context, Tensor words, Tensor places, std::int64_t sequences) const;
  // Returns the logits [R, V] of rows of z [R, C].
  Tensor logits(Context& context, Tensor z) const;
  // Returns the mean loss f32 [1] of z, given the words i32 [R] that should follow: by
  // linear_cross_entropy() where that saves bytes.
  Tensor loss(Context& context, Tensor z, Tensor answers, bool accumulate = false) const;

 private:
  GptShape shape_;
  Embedding wte_, wpe_;
  std::vector<GptBlock> blocks_;
  LayerNorm ln_f_;
};

// A row of the table of these models.
struct GptEntry {
  std::string_view name;
  GptShape shape;
  TrainingDefaults training;
};

// gpt-small and gpt-medium, nanoGPT's models of characters for a CPU and a GPU, and OpenAI's gpt2,
// gpt2-medium, gpt2-large and gpt2-xl.
std::span<const GptEntry> gpts();
// Returns null for another model.
const GptEntry* find_gpt(std::string_view name);

}  // namespace skyline
