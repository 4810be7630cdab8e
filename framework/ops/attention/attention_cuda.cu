#include <limits>
#include <type_traits>

#include "framework/ops/activation/activations_kernels.h"
#include "framework/ops/attention/attention_kernels.h"
#include "framework/ops/support/divider.h"
#include "framework/ops/support/reduce_cuda.h"

// A block computes a tile of 32 queries, or keys, of one head. A warp takes every eighth row of a
// tile, a thread one column. Sums over channels, keys and queries go in ascending order.

namespace skyline {
namespace {

constexpr int kTile = kWarp, kWarps = 8, kRows = kTile / kWarps;

struct Tile {
  float at[kTile][kTile + 1];  // one more, so that neither rows nor columns meet in a bank
};

// Rows of a head's q, k, v or y.
struct HeadRows {
  const float* at;
  std::int64_t row;  // floats from one word to the next
};

// What a kernel reads. The block's head is blockIdx.y.
struct Heads {
  AttentionProblem problem;
  const float *qkv, *y, *logarithms, *grad_y;

  __device__ std::int64_t first_word() const { return blockIdx.y / problem.heads * problem.words; }
  __device__ std::int64_t channel() const { return blockIdx.y % problem.heads * problem.size; }
  // Part 0 is q, 1 k, 2 v.
  __device__ std::int64_t part(int part) const {
    return first_word() * 3 * problem.channels() + part * problem.channels() + channel();
  }
  __device__ HeadRows rows_of_part(int number) const {
    return {qkv + part(number), 3 * problem.channels()};
  }
  // The head's place in y.
  __device__ std::int64_t place() const { return first_word() * problem.channels() + channel(); }
  __device__ HeadRows rows_of(const float* matrix) const {
    return {matrix + place(), problem.channels()};
  }
};

// Loads kTile words from `word` on and kTile channels from `channel` on; 0 where there are none.
__device__ void load(const Heads& heads, const HeadRows& rows, std::int64_t word,
                     std::int64_t channel, Tile& tile) {
  const std::int64_t column = channel + threadIdx.x;
  for (unsigned r = threadIdx.y; r < kTile; r += kWarps) {
    const bool inside = word + r < heads.problem.words && column < heads.problem.size;
    tile.at[r][threadIdx.x] = inside ? rows.at[(word + r) * rows.row + column] : 0.0f;
  }
}

// Returns, for the thread's column and each of its rows, the products of words of `left` and
// `right`. `a` and `b` are scratch.
struct Products {
  float at[kRows];
};
__device__ Products multiply(const Heads& heads, const HeadRows& left, std::int64_t left_word,
                             const HeadRows& right, std::int64_t right_word, Tile& a, Tile& b) {
  Products products = {};
  for (std::int64_t channel = 0; channel < heads.problem.size; channel += kTile) {
    __syncthreads();  // the last values have been read
    load(heads, left, left_word, channel, a);
    load(heads, right, right_word, channel, b);
    __syncthreads();
    for (int c = 0; c < kTile; ++c) {
      for (int r = 0; r < kRows; ++r) {
        products.at[r] += a.at[threadIdx.y + r * kWarps][c] * b.at[threadIdx.x][c];
      }
    }
  }
  return products;
}

// Sums for some rows of a tile and one channel of each kTile.
template <int kChunks>
struct Sums {
  float at[kRows][kChunks] = {};

  // Adds the products of a tile of weights, or of its transpose, and kTile words of `right`.
  template <bool kTransposed>
  __device__ void add(const Heads& heads, const Tile& weights, const HeadRows& right,
                      std::int64_t word, Tile& scratch) {
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      __syncthreads();
      load(heads, right, word, chunk * kTile, scratch);
      __syncthreads();
      for (int k = 0; k < kTile; ++k) {
        const float value = scratch.at[k][threadIdx.x];
        for (int r = 0; r < kRows; ++r) {
          const unsigned row = threadIdx.y + r * kWarps;
          at[r][chunk] += (kTransposed ? weights.at[k][row] : weights.at[row][k]) * value;
        }
      }
    }
  }

  // Writes sums times scale_of(row) to rows of `to`, `stride` floats apart.
  template <typename ScaleOf>
  __device__ void write(const Heads& heads, std::int64_t word, std::int64_t stride, float* to,
                        const ScaleOf& scale_of) const {
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      const std::int64_t column = chunk * kTile + threadIdx.x;
      for (int r = 0; r < kRows; ++r) {
        const std::int64_t row = word + threadIdx.y + r * kWarps;
        if (row < heads.problem.words && column < heads.problem.size) {
          to[row * stride + column] = at[r][chunk] * scale_of(r);
        }
      }
    }
  }
};

struct Largest {
  using Value = float;
  static __device__ float other(float value, int lanes) {
    return __shfl_xor_sync(kAllLanes, value, lanes);
  }
  static __device__ float combine(float a, float b) { return a > b ? a : b; }
};

template <int kChunks>
__global__ void __launch_bounds__(kTile* kWarps)
    attention_kernel(Heads heads, float scale, float* y, float* logarithms) {
  __shared__ Tile a, b, scores;
  const HeadRows q = heads.rows_of_part(0), k = heads.rows_of_part(1), v = heads.rows_of_part(2);
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kTile;
  Sums<kChunks> sums;
  float largest[kRows], total[kRows];
  for (int r = 0; r < kRows; ++r) {
    largest[r] = -std::numeric_limits<float>::infinity();
    total[r] = 0;
  }
  for (std::int64_t key = 0; key <= first; key += kTile) {
    const Products products = multiply(heads, q, first, k, key, a, b);
    for (int r = 0; r < kRows; ++r) {
      const unsigned row = threadIdx.y + r * kWarps;
      const bool sees = key + threadIdx.x <= first + row;
      const float score = sees ? products.at[r] * scale : -std::numeric_limits<float>::infinity();
      const float now = Largest::combine(largest[r], reduce_warp<Largest>(score));
      const float factor = exponential(largest[r] - now), power = exponential(score - now);
      scores.at[row][threadIdx.x] = power;
      total[r] = total[r] * factor + reduce_warp<Adding<float>>(power);
      largest[r] = now;
      for (float& sum : sums.at[r]) sum *= factor;
    }
    sums.template add<false>(heads, scores, v, key, b);
  }
  sums.write(heads, first, heads.problem.channels(), y + heads.place(),
             [&](int r) { return 1.0f / total[r]; });
  for (int r = 0; r < kRows; ++r) {
    const std::int64_t row = first + threadIdx.y + r * kWarps;
    if (threadIdx.x == 0 && row < heads.problem.words) {
      logarithms[blockIdx.y * heads.problem.words + row] = largest[r] + std::log(total[r]);
    }
  }
}

// The product of y and grad_y in each word, a warp a word.
__global__ void dots_kernel(Heads heads, float* dots) {
  const std::int64_t word = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  const HeadRows y = heads.rows_of(heads.y), grad_y = heads.rows_of(heads.grad_y);
  float dot = 0;
  for (std::int64_t c = threadIdx.x; word < heads.problem.words && c < heads.problem.size;
       c += kWarp) {
    dot += y.at[word * y.row + c] * grad_y.at[word * y.row + c];
  }
  dot = reduce_warp<Adding<float>>(dot);
  if (threadIdx.x == 0 && word < heads.problem.words) {
    dots[blockIdx.y * heads.problem.words + word] = dot;
  }
}

// Writes probabilities and the gradients of scores of queries and keys; 0 for later keys and for
// words that there are none of.
__device__ void write_tiles(const Heads& heads, const float* dots, float scale, std::int64_t query,
                            std::int64_t key, Tile& a, Tile& b, Tile& probabilities,
                            Tile& gradients) {
  const Products scores =
      multiply(heads, heads.rows_of_part(0), query, heads.rows_of_part(1), key, a, b);
  const Products grads =
      multiply(heads, heads.rows_of(heads.grad_y), query, heads.rows_of_part(2), key, a, b);
  for (int r = 0; r < kRows; ++r) {
    const unsigned row = threadIdx.y + r * kWarps;
    float probability = 0, gradient = 0;
    if (query + row < heads.problem.words && key + threadIdx.x <= query + row) {
      const std::int64_t at = blockIdx.y * heads.problem.words + query + row;
      probability = exponential(scores.at[r] * scale - heads.logarithms[at]);
      gradient = probability * (grads.at[r] - dots[at]);
    }
    probabilities.at[row][threadIdx.x] = probability;
    gradients.at[row][threadIdx.x] = gradient;
  }
}

// Writes the gradients of a tile of queries to [B T, C].
template <int kChunks>
__global__ void __launch_bounds__(kTile* kWarps)
    grad_queries_kernel(Heads heads, const float* dots, float scale, float* grad_q) {
  __shared__ Tile a, b, probabilities, gradients;
  const std::int64_t query = static_cast<std::int64_t>(blockIdx.x) * kTile;
  Sums<kChunks> sums;
  for (std::int64_t key = 0; key <= query; key += kTile) {
    write_tiles(heads, dots, scale, query, key, a, b, probabilities, gradients);
    sums.template add<false>(heads, gradients, heads.rows_of_part(1), key, b);
  }
  sums.write(heads, query, heads.problem.channels(), grad_q + heads.place(),
             [scale](int) { return scale; });
}

// Writes the gradients of a tile of keys and values, which no other block reads.
template <int kChunks>
__global__ void __launch_bounds__(kTile* kWarps)
    grad_keys_kernel(Heads heads, const float* dots, float scale, float* grad_qkv) {
  __shared__ Tile a, b, probabilities, gradients;
  const std::int64_t key = static_cast<std::int64_t>(blockIdx.x) * kTile;
  Sums<kChunks> of_keys, of_values;
  for (std::int64_t query = key; query < heads.problem.words; query += kTile) {
    write_tiles(heads, dots, scale, query, key, a, b, probabilities, gradients);
    of_keys.template add<true>(heads, gradients, heads.rows_of_part(0), query, b);
    of_values.template add<true>(heads, probabilities, heads.rows_of(heads.grad_y), query, b);
  }
  const std::int64_t stride = 3 * heads.problem.channels();
  of_keys.write(heads, key, stride, grad_qkv + heads.part(1), [scale](int) { return scale; });
  of_values.write(heads, key, stride, grad_qkv + heads.part(2), [](int) { return 1.0f; });
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

dim3 grid_of(const AttentionProblem& problem, std::int64_t words) {
  return dim3(static_cast<unsigned>((problem.words + words - 1) / words),
              static_cast<unsigned>(problem.sequences * problem.heads));
}

// Calls body(integral_constant) with enough chunks of channels for a head.
template <typename Body>
void with_chunks(std::int64_t size, const Body& body) {
  if (size <= kTile) return body(std::integral_constant<int, 1>{});
  if (size <= 2 * kTile) return body(std::integral_constant<int, 2>{});
  if (size <= 4 * kTile) return body(std::integral_constant<int, 4>{});
  body(std::integral_constant<int, kMostHeadChannels / kTile>{});
}

}  // namespace

std::unique_ptr<Kernel> make_attention_cuda(CudaCompute& compute, const AttentionProblem& problem) {
  return make_kernel([&compute, problem](const KernelArguments& arguments) {
    const Heads heads{.problem = problem, .qkv = arguments.input<float>(0)};
    with_chunks(problem.size, [&](auto chunks) {
      launch(compute, grid_of(problem, kTile), dim3(kTile, kWarps), attention_kernel<chunks.value>,
             heads, problem.scale(), arguments.output<float>(0), arguments.output<float>(1));
    });
  });
}

// grad_q waits in the workspace until nobody reads q.
std::unique_ptr<Kernel> make_attention_grad_cuda(CudaCompute& compute,
                                                 const AttentionProblem& problem) {
  WorkspaceLayout workspace;
  const std::size_t grad_q_at = workspace.add_floats(problem.y().elements());
  const std::size_t dots_at = workspace.add_floats(problem.logarithms().elements());
  return make_kernel(workspace.bytes(), [=, &compute](const KernelArguments& arguments) {
    const Heads heads{.problem = problem,
                      .qkv = arguments.input<float>(0),
                      .y = arguments.input<float>(1),
                      .logarithms = arguments.input<float>(2),
                      .grad_y = arguments.input<float>(3)};
    auto* const grad_q = reinterpret_cast<float*>(arguments.workspace + grad_q_at);
    auto* const dots = reinterpret_cast<float*>(arguments.workspace + dots_at);
    const dim3 block(kTile, kWarps), grid = grid_of(problem, kTile);
    launch(compute, grid_of(problem, kWarps), block, dots_kernel, heads, dots);
    with_chunks(problem.size, [&](auto chunks) {
      launch(compute, grid, block, grad_queries_kernel<chunks.value>, heads, dots, problem.scale(),
             grad_q);
      launch(compute, grid, block, grad_keys_kernel<chunks.value>, heads, dots, problem.scale(),
             arguments.output<float>(0));
    });
    for_each_index(compute, problem.y().elements(),
                   PlaceQueries{grad_q, arguments.output<float>(0), Divider(problem.channels()),
                                problem.channels()});
  });
}

}  // namespace skyline
