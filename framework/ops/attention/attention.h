#pragma once

#include <cstdint>
#include <string_view>

#include "framework/context.h"

namespace skyline {

inline constexpr std::string_view kAttention = "attention";
inline constexpr std::string_view kAttentionGrad = "attention_grad";

struct AttentionParams {
  std::int64_t sequences = 1;  // B
  std::int64_t heads = 1;      // NH
};

// Causal attention of several heads (Vaswani et al. 2017, section 3.2): for each sequence and head,
//
//   y[i] = sum over j <= i of p[i, j] v[j],   p[i, ·] = softmax over j <= i of q[i] k[j] / sqrt(hs)
//
//   qkv      [B T, 3 C]: q, k and v of a word side by side, each head after head of hs = C / NH
//   returns  [B T, C]: the heads side by side
//
// No scores are stored, whatever T is: they exist in tiles of 64 x 64, over which the softmax runs
// as in FlashAttention (Dao et al. 2022). Retains qkv, y and the logarithm of each row's sum of
// exponentials, f32 [B NH, T]; backward computes the scores again (a third of its products), and
// may write its gradient over qkv. One (sequence, head) is computed by one thread or lane, with
// keys in ascending order, so bits depend on neither.
//
// Workspace, with hs rounded up to 32 (16 without AVX-512): for each thread or lane 64 (64 + 3 hs)
// floats, in backward 64 (128 + 7 hs) + T (hs + 1). On CUDA none in forward, in backward
// B T (C + NH) floats. Throws ShapeError on a wrong rank, extents that sequences and heads do not
// divide, and heads of more than 256 channels.
Tensor attention(Context& context, Tensor qkv, const AttentionParams& params);

}  // namespace skyline
