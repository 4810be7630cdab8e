#include <limits>
#include <type_traits>

#include "framework/ops/activation/activations_kernels.h"
#include "framework/ops/attention/attention_kernels.h"
#include "framework/ops/support/divider.h"
#include "framework/ops/support/reduce_cuda.h"

// A warp computes some neighbouring words of one head and reads the other words one after the
// other, in ascending order. A thread of a warp has every 32nd channel. Sums over a warp are
// butterflies, which give all its threads the same bits.

namespace skyline {
namespace {

constexpr int kWords = 4;       // of a warp
constexpr unsigned kWarps = 8;  // of a block

// The thread's channels of a word's q, k, v or y.
template <int kChunks>
struct Word {
  float at[kChunks] = {};

  __device__ float dot(const Word& other) const {
    float sum = 0;
    for (int c = 0; c < kChunks; ++c) sum += at[c] * other.at[c];
    return reduce_warp<Adding<float>>(sum);
  }
  __device__ void add(float factor, const Word& other) {
    for (int c = 0; c < kChunks; ++c) at[c] += factor * other.at[c];
  }
};

// Kernels read this. The block's head is blockIdx.y.
struct Heads {
  AttentionProblem problem;
  const float *qkv, *y, *logarithms, *grad_y;

  __device__ std::int64_t first_of_warp() const {
    return (static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.y) * kWords;
  }
  // The place of a word's part in qkv (0 is q, 1 k, 2 v), in y and among the logarithms.
  __device__ std::int64_t place(std::int64_t word, int part) const {
    return row(word) * 3 * problem.channels() + part * problem.channels() + channel();
  }
  __device__ std::int64_t place(std::int64_t word) const {
    return row(word) * problem.channels() + channel();
  }
  __device__ std::int64_t number(std::int64_t word) const {
    return blockIdx.y * problem.words + word;
  }
  // Loads a word from its place; channels that it does not have, and words that there are none of,
  // are 0.
  template <int kChunks>
  __device__ Word<kChunks> load(std::int64_t word, const float* from) const {
    Word<kChunks> loaded;
    for (int c = 0; c < kChunks; ++c) {
      const std::int64_t channel = c * kWarp + threadIdx.x;
      if (word < problem.words && channel < problem.size) loaded.at[c] = from[channel];
    }
    return loaded;
  }
  template <int kChunks>
  __device__ void store(float* to, float scale, const Word<kChunks>& word) const {
    for (int c = 0; c < kChunks; ++c) {
      const std::int64_t channel = c * kWarp + threadIdx.x;
      if (channel < problem.size) to[channel] = word.at[c] * scale;
    }
  }

 private:
  __device__ std::int64_t row(std::int64_t word) const {
    return blockIdx.y / problem.heads * problem.words + word;
  }
  __device__ std::int64_t channel() const { return blockIdx.y % problem.heads * problem.size; }
};

template <int kChunks>
__global__ void __launch_bounds__(kWarp* kWarps)
    attention_kernel(Heads heads, float scale, float* y, float* logarithms) {
  const std::int64_t first = heads.first_of_warp(), words = heads.problem.words;
  Word<kChunks> q[kWords], sums[kWords];
  float largest[kWords], total[kWords] = {};
  for (int r = 0; r < kWords; ++r) {
    q[r] = heads.load<kChunks>(first + r, heads.qkv + heads.place(first + r, 0));
    largest[r] = -std::numeric_limits<float>::infinity();
  }
  for (std::int64_t key = 0; key < words && key < first + kWords; ++key) {
    const auto k = heads.load<kChunks>(key, heads.qkv + heads.place(key, 1));
    const auto v = heads.load<kChunks>(key, heads.qkv + heads.place(key, 2));
    for (int r = 0; r < kWords; ++r) {
      if (key > first + r) continue;
      const float score = q[r].dot(k) * scale;
      const float now = score > largest[r] ? score : largest[r];
      const float factor = exponential(largest[r] - now), power = exponential(score - now);
      total[r] = total[r] * factor + power;
      for (float& sum : sums[r].at) sum *= factor;
      sums[r].add(power, v);
      largest[r] = now;
    }
  }
  for (int r = 0; r < kWords && first + r < words; ++r) {
    heads.store(y + heads.place(first + r), 1.0f / total[r], sums[r]);
    if (threadIdx.x == 0) {
      logarithms[heads.number(first + r)] = largest[r] + std::log(total[r]);
    }
  }
}

// Writes the gradients of q [B T, C], and each word's product of y and grad_y.
template <int kChunks>
__global__ void __launch_bounds__(kWarp* kWarps)
    grad_queries_kernel(Heads heads, float* dots, float scale, float* grad_q) {
  const std::int64_t first = heads.first_of_warp(), words = heads.problem.words;
  Word<kChunks> q[kWords], grad_y[kWords], sums[kWords];
  float dot[kWords];
  for (int r = 0; r < kWords; ++r) {
    const std::int64_t word = first + r;
    q[r] = heads.load<kChunks>(word, heads.qkv + heads.place(word, 0));
    grad_y[r] = heads.load<kChunks>(word, heads.grad_y + heads.place(word));
    dot[r] = grad_y[r].dot(heads.load<kChunks>(word, heads.y + heads.place(word)));
  }
  for (std::int64_t key = 0; key < words && key < first + kWords; ++key) {
    const auto k = heads.load<kChunks>(key, heads.qkv + heads.place(key, 1));
    const auto v = heads.load<kChunks>(key, heads.qkv + heads.place(key, 2));
    for (int r = 0; r < kWords && first + r < words; ++r) {
      if (key > first + r) continue;
      const float score = q[r].dot(k) * scale;
      const float probability = exponential(score - heads.logarithms[heads.number(first + r)]);
      sums[r].add(probability * (grad_y[r].dot(v) - dot[r]), k);
    }
  }
  for (int r = 0; r < kWords && first + r < words; ++r) {
    heads.store(grad_q + heads.place(first + r), scale, sums[r]);
    if (threadIdx.x == 0) dots[heads.number(first + r)] = dot[r];
  }
}

// Writes the gradients of k and v over them, if need be: no other warp reads these words of them.
template <int kChunks>
__global__ void __launch_bounds__(kWarp* kWarps)
    grad_keys_kernel(Heads heads, const float* dots, float scale, float* grad_qkv) {
  const std::int64_t first = heads.first_of_warp(), words = heads.problem.words;
  Word<kChunks> k[kWords], v[kWords], of_keys[kWords], of_values[kWords];
  for (int r = 0; r < kWords; ++r) {
    k[r] = heads.load<kChunks>(first + r, heads.qkv + heads.place(first + r, 1));
    v[r] = heads.load<kChunks>(first + r, heads.qkv + heads.place(first + r, 2));
  }
  for (std::int64_t query = first; query < words; ++query) {
    const auto q = heads.load<kChunks>(query, heads.qkv + heads.place(query, 0));
    const auto grad_y = heads.load<kChunks>(query, heads.grad_y + heads.place(query));
    const float logarithm = heads.logarithms[heads.number(query)];
    const float dot = dots[heads.number(query)];
    for (int r = 0; r < kWords && first + r <= query; ++r) {
      const float probability = exponential(q.dot(k[r]) * scale - logarithm);
      of_keys[r].add(probability * (grad_y.dot(v[r]) - dot), q);
      of_values[r].add(probability, grad_y);
    }
  }
  for (int r = 0; r < kWords && first + r < words; ++r) {
    heads.store(grad_qkv + heads.place(first + r, 1), scale, of_keys[r]);
    heads.store(grad_qkv + heads.place(first + r, 2), 1.0f, of_values[r]);
  }
}

struct PlaceQueries {
  const float* grad_q;
  float* grad_qkv;
  Divider channels;
  std::int64_t width;  // of a row of grad_q

  __device__ void operator()(std::int64_t i) const {
    const auto [row, column] = channels(i);
    grad_qkv[row * 3 * width + column] = grad_q[i];
  }
};

// Launches a kernel with enough chunks of channels: kernel_of(chunks) returns it.
template <typename KernelOf, typename... Arguments>
void launch_heads(CudaCompute& compute, const Heads& heads, const KernelOf& kernel_of,
                  Arguments... arguments) {
  const AttentionProblem& problem = heads.problem;
  constexpr std::int64_t kOfBlock = kWarps * kWords;
  const dim3 grid(static_cast<unsigned>((problem.words + kOfBlock - 1) / kOfBlock),
                  static_cast<unsigned>(problem.sequences * problem.heads));
  const auto with = [&](auto chunks) {
    launch(compute, grid, dim3(kWarp, kWarps), kernel_of(chunks), heads, arguments...);
  };
  constexpr std::int64_t kWarpThreads = kWarp;
  if (problem.size <= kWarpThreads) return with(std::integral_constant<int, 1>{});
  if (problem.size <= 2 * kWarpThreads) return with(std::integral_constant<int, 2>{});
  if (problem.size <= 4 * kWarpThreads) return with(std::integral_constant<int, 4>{});
  with(std::integral_constant<int, kMostHeadChannels / kWarpThreads>{});
}

}  // namespace

std::unique_ptr<Kernel> make_attention_cuda(CudaCompute& compute, const AttentionProblem& problem) {
  return make_kernel([&compute, problem](const KernelArguments& arguments) {
    launch_heads(
        compute, {.problem = problem, .qkv = arguments.input<float>(0)},
        [](auto chunks) { return attention_kernel<chunks.value>; }, problem.scale(),
        arguments.output<float>(0), arguments.output<float>(1));
  });
}

// grad_q waits in the workspace until nobody reads q.
std::unique_ptr<Kernel> make_attention_grad_cuda(CudaCompute& compute,
                                                 const AttentionProblem& problem) {
  WorkspaceLayout workspace;
  const std::size_t grad_q_at = workspace.add_floats(problem.y().elements());
  const std::size_t dots_at = workspace.add_floats(problem.logarithms().elements());
  return make_kernel(workspace.bytes(), [=, &compute](const KernelArguments& arguments) {
    const Heads heads{problem, arguments.input<float>(0), arguments.input<float>(1),
                      arguments.input<float>(2), arguments.input<float>(3)};
    auto* const grad_q = reinterpret_cast<float*>(arguments.workspace + grad_q_at);
    auto* const dots = reinterpret_cast<float*>(arguments.workspace + dots_at);
    launch_heads(
        compute, heads, [](auto chunks) { return grad_queries_kernel<chunks.value>; }, dots,
        problem.scale(), grad_q);
    launch_heads(
        compute, heads, [](auto chunks) { return grad_keys_kernel<chunks.value>; }, dots,
        problem.scale(), arguments.output<float>(0));
    for_each_index(compute, problem.y().elements(),
                   PlaceQueries{grad_q, arguments.output<float>(0), Divider(problem.channels()),
                                problem.channels()});
  });
}

}  // namespace skyline
