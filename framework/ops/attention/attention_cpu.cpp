#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "framework/compute.h"
#include "framework/ops/activation/activations_kernels.h"
#include "framework/ops/attention/attention_kernels.h"
#include "framework/ops/support/elementwise_cpu.h"
#include "framework/ops/support/panel_products.h"

namespace skyline {
namespace {

using Index = std::int64_t;

constexpr Index kTile = 64;  // queries, and keys, of a tile of scores

// Rows of a head's q, k, v or y within the words of one sequence.
template <typename Float>
struct HeadRows {
  Float* at;
  Index row;  // floats from one word to the next
  Float* operator[](Index word) const { return at + word * row; }
};

// Writes `count` rows of `size` floats as columns of `to` [size, kTile]; other columns become 0.
void transpose(const HeadRows<const float>& from, Index count, Index size, float* to) {
  for (Index c = 0; c < size; ++c) {
    float* const row = to + c * kTile;
    for (Index r = 0; r < count; ++r) row[r] = from.at[r * from.row + c];
    std::fill(row + count, row + kTile, 0.0f);
  }
}

// Writes `count` rows of `size` floats to rows of `width`; the rest of each becomes 0.
void copy_rows(const HeadRows<const float>& from, Index count, Index size, Index width, float* to) {
  for (Index r = 0; r < count; ++r) {
    std::fill(std::copy_n(from[r], size, to + r * width), to + (r + 1) * width, 0.0f);
  }
}

// Both kernels share this: which thread computes which heads, and products of tiles.
class HeadsKernel : public Kernel {
 public:
  HeadsKernel(const CpuOptions& options, const AttentionProblem& problem)
      : problem_(problem),
        products_(panel_products()),
        width_((problem.size + products_.columns - 1) / products_.columns * products_.columns),
        shares_(std::clamp<Index>(
            problem.sequences * problem.heads, 1,
            std::max<Index>(omp_get_max_threads(), static_cast<Index>(options.lanes)))) {}

  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(shares_) * share_bytes();
  }

  void run(const KernelArguments& arguments) override {
    const Index heads = problem_.sequences * problem_.heads;
    const Index products = heads * problem_.words * problem_.words * problem_.size;
    const bool parallel = products >= 8 * kSerialArithmetic;
    for_each_index(shares_, parallel, [&](Index share) {
      auto* const workspace = reinterpret_cast<float*>(
          arguments.workspace + static_cast<std::size_t>(share) * share_bytes());
      for (Index head = share * heads / shares_; head < (share + 1) * heads / shares_; ++head) {
        run_head(arguments, head, workspace);
      }
    });
  }

 protected:
  virtual Index share_floats() const = 0;
  virtual void run_head(const KernelArguments& arguments, Index head, float* workspace) const = 0;

  // The head's part of a matrix with so many times C columns: 0 is q or y, 1 k, 2 v.
  template <typename Float>
  HeadRows<Float> rows_of(Float* matrix, Index head, Index columns, Index part = 0) const {
    const Index channels = problem_.channels(), row = columns * channels;
    return {matrix + head / problem_.heads * problem_.words * row + part * channels +
                head % problem_.heads * problem_.size,
            row};
  }

  // scores [rows, kTile] = left [rows, size] right [size, kTile], panel by panel, for the rows that
  // rows(first column) gives: a tile on the diagonal has only one side of it.
  template <typename Rows>
  void multiply_scores(const HeadRows<const float>& left, const float* right, float* scores,
                       const Rows& rows) const {
    for (Index column = 0; column < kTile; column += products_.columns) {
      const auto [begin, end] = rows(column);
      products_.multiply({.left = left[begin],
                          .left_row = left.row,
                          .left_column = 1,
                          .right = right + column,
                          .right_row = kTile,
                          .result = scores + begin * kTile + column,
                          .result_row = kTile,
                          .rows = end - begin,
                          .depth = problem_.size,
                          .adds = false});
    }
  }

  // Scores, or their transpose: floats from one row, or column, to the next.
  struct Scores {
    const float* at;
    Index row, column;
  };
  // The columns that row r of a tile on the diagonal has: up to r, or from r on.
  enum class Columns { kAll, kUpToRow, kFromRow };

  // result [rows, width] (+)= scores [rows, depth] right [depth, width].
  void multiply_rows(const Scores& scores, Columns columns, const float* right, Index rows,
                     Index depth, bool adds, float* result) const {
    const Index step = columns == Columns::kAll ? rows : products_.rows;
    for (Index row = 0; row < rows; row += step) {
      const Index count = std::min(step, rows - row);
      const Index begin = columns == Columns::kFromRow ? row : 0;
      const Index end = columns == Columns::kUpToRow ? std::min(depth, row + count) : depth;
      for (Index column = 0; column < width_; column += products_.columns) {
        products_.multiply({.left = scores.at + row * scores.row + begin * scores.column,
                            .left_row = scores.row,
                            .left_column = scores.column,
                            .right = right + begin * width_ + column,
                            .right_row = width_,
                            .result = result + row * width_ + column,
                            .result_row = width_,
                            .rows = count,
                            .depth = end - begin,
                            .adds = adds});
      }
    }
  }

  std::size_t share_bytes() const {
    return static_cast<std::size_t>((share_floats() + kVectors - 1) / kVectors * kVectors) *
           sizeof(float);
  }

  AttentionProblem problem_;
  const PanelProducts& products_;
  Index width_;  // size, rounded up to whole panels
  Index shares_;
};

// Scores lie with a query in each column, so that the softmax runs over whole vectors of queries.
class AttentionCpu final : public HeadsKernel {
 public:
  using HeadsKernel::HeadsKernel;

 private:
  Index share_floats() const override { return kTile * (kTile + 3 * width_); }

  void run_head(const KernelArguments& arguments, Index head, float* workspace) const override {
    const auto* qkv = arguments.input<float>(0);
    const HeadRows<const float> q = rows_of(qkv, head, 3, 0), k = rows_of(qkv, head, 3, 1),
                                v = rows_of(qkv, head, 3, 2);
    const HeadRows<float> y = rows_of(arguments.output<float>(0), head, 1);
    float* const logarithms = arguments.output<float>(1) + head * problem_.words;
    float* const scores = workspace;
    float* const queries = scores + kTile * kTile;
    float* const values = queries + kTile * width_;
    float* const sums = values + kTile * width_;
    for (Index first = 0; first < problem_.words; first += kTile) {
      const Index count = std::min(kTile, problem_.words - first);
      Softmax softmax;
      transpose({q[first], q.row}, count, problem_.size, queries);
      for (Index key = 0; key <= first; key += kTile) {
        const Index keys = std::min(kTile, problem_.words - key);
        const bool diagonal = key == first;
        multiply_scores({k[key], k.row}, queries, scores, [&](Index column) {
          return std::pair(Index{0}, diagonal ? std::min(keys, column + products_.columns) : keys);
        });
        softmax.add(scores, keys, diagonal, problem_.scale());
        if (key > 0) {
          for (Index i = 0; i < count; ++i) {
            float* const row = sums + i * width_;
            const float factor = softmax.factor[i];
            for (Index c = 0; c < width_; ++c) row[c] *= factor;
          }
        }
        copy_rows({v[key], v.row}, keys, problem_.size, width_, values);
        multiply_rows({scores, 1, kTile}, diagonal ? Columns::kUpToRow : Columns::kAll, values,
                      count, keys, key > 0, sums);
      }
      for (Index i = 0; i < count; ++i) {
        const float scale = 1.0f / softmax.total[i];
        const float* const row = sums + i * width_;
        float* const to = y[first + i];
        for (Index c = 0; c < problem_.size; ++c) to[c] = row[c] * scale;
        logarithms[first + i] = softmax.largest[i] + std::log(softmax.total[i]);
      }
    }
  }

  // The softmax of a tile's queries over the keys so far (Milakov and Gimelshein 2018).
  struct Softmax {
    float largest[kTile], total[kTile], factor[kTile];

    Softmax() {
      std::fill_n(largest, kTile, -std::numeric_limits<float>::infinity());
      std::fill_n(total, kTile, 0.0f);
    }
    // Turns scores [keys, kTile] into exponentials; `factor` is what those before shrink by.
    void add(float* scores, Index keys, bool diagonal, float scale) {
      float now[kTile];
      std::copy_n(largest, kTile, now);
      for (Index key = 0; key < keys; ++key) {
        float* const row = scores + key * kTile;
        if (diagonal) std::fill_n(row, key, -std::numeric_limits<float>::infinity());
#pragma omp simd
        for (Index i = 0; i < kTile; ++i) {
          row[i] *= scale;
          now[i] = row[i] > now[i] ? row[i] : now[i];
        }
      }
#pragma omp simd
      for (Index i = 0; i < kTile; ++i) {
        factor[i] = exponential(largest[i] - now[i]);
        total[i] *= factor[i];
        largest[i] = now[i];
      }
      for (Index key = 0; key < keys; ++key) {
        float* const row = scores + key * kTile;
#pragma omp simd
        for (Index i = 0; i < kTile; ++i) {
          row[i] = exponential(row[i] - largest[i]);
          total[i] += row[i];
        }
      }
    }
  };
};

// Takes the keys tile by tile, so that the gradients of a tile of k and v are whole before they are
// written over it. Those of q add up in the workspace.
class AttentionGradCpu final : public HeadsKernel {
 public:
  using HeadsKernel::HeadsKernel;

 private:
  Index share_floats() const override {
    return kTile * (2 * kTile + 7 * width_) + problem_.words * (width_ + 1);
  }

  void run_head(const KernelArguments& arguments, Index head, float* workspace) const override {
    const Index words = problem_.words, size = problem_.size;
    const auto* qkv = arguments.input<float>(0);
    auto* const grad_qkv = arguments.output<float>(0);
    const HeadRows<const float> q = rows_of(qkv, head, 3, 0), k = rows_of(qkv, head, 3, 1),
                                v = rows_of(qkv, head, 3, 2),
                                y = rows_of(arguments.input<float>(1), head, 1),
                                grad_y = rows_of(arguments.input<float>(3), head, 1);
    const float* const logarithms = arguments.input<float>(2) + head * words;
    const auto take = [&workspace](Index floats) {
      return std::exchange(workspace, workspace + floats);
    };
    float *const scores = take(kTile * kTile), *const grad_scores = take(kTile * kTile),
                 *const keys_t = take(kTile * width_), *const values_t = take(kTile * width_),
                 *const keys = take(kTile * width_), *const queries = take(kTile * width_),
                 *const grad_rows = take(kTile * width_), *const grad_k = take(kTile * width_),
                 *const grad_v = take(kTile * width_), *const grad_q = take(words * width_),
                 *const dots = take(words);
    for (Index i = 0; i < words; ++i) {
      const float *const a = y[i], *const b = grad_y[i];
      float dot = 0;
#pragma omp simd reduction(+ : dot)
      for (Index c = 0; c < size; ++c) dot += a[c] * b[c];
      dots[i] = dot;
    }
    for (Index key = 0; key < words; key += kTile) {
      const Index count = std::min(kTile, words - key);
      transpose({k[key], k.row}, count, size, keys_t);
      transpose({v[key], v.row}, count, size, values_t);
      copy_rows({k[key], k.row}, count, size, width_, keys);
      for (Index query = key; query < words; query += kTile) {
        const Index rows = std::min(kTile, words - query);
        const bool diagonal = query == key;
        const auto lower = [&](Index column) { return std::pair(diagonal ? column : 0, rows); };
        multiply_scores({q[query], q.row}, keys_t, scores, lower);
        multiply_scores({grad_y[query], grad_y.row}, values_t, grad_scores, lower);
        for (Index i = 0; i < rows; ++i) {
          finish_row(logarithms[query + i], dots[query + i], diagonal ? i + 1 : kTile,
                     scores + i * kTile, grad_scores + i * kTile);
        }
        copy_rows({q[query], q.row}, rows, size, width_, queries);
        copy_rows({grad_y[query], grad_y.row}, rows, size, width_, grad_rows);
        const Columns later = diagonal ? Columns::kFromRow : Columns::kAll;
        multiply_rows({scores, 1, kTile}, later, grad_rows, count, rows, !diagonal, grad_v);
        multiply_rows({grad_scores, 1, kTile}, later, queries, count, rows, !diagonal, grad_k);
        multiply_rows({grad_scores, kTile, 1}, diagonal ? Columns::kUpToRow : Columns::kAll, keys,
                      rows, count, key > 0, grad_q + query * width_);
      }
      write(grad_k, count, problem_.scale(), rows_of(grad_qkv, head, 3, 1)[key]);
      write(grad_v, count, 1, rows_of(grad_qkv, head, 3, 2)[key]);
    }
    write(grad_q, words, problem_.scale(), rows_of(grad_qkv, head, 3, 0)[0]);
  }

  // Turns a query's scores into probabilities, and the gradients of those into the scores'. Those
  // of later keys are 0.
  void finish_row(float logarithm, float dot, Index keys, float* scores, float* grad_scores) const {
    const float scale = problem_.scale();
#pragma omp simd
    for (Index j = 0; j < kTile; ++j) {
      const float probability = exponential(scores[j] * scale - logarithm);
      const float gradient = probability * (grad_scores[j] - dot);
      scores[j] = j < keys ? probability : 0.0f;
      grad_scores[j] = j < keys ? gradient : 0.0f;
    }
  }

  void write(const float* rows, Index count, float scale, float* to) const {
    for (Index i = 0; i < count; ++i) {
      float* const row = to + i * 3 * problem_.channels();
      for (Index c = 0; c < problem_.size; ++c) row[c] = rows[i * width_ + c] * scale;
    }
  }
};

}  // namespace

std::unique_ptr<Kernel> make_attention_cpu(const CpuOptions& options,
                                           const AttentionProblem& problem) {
  return std::make_unique<AttentionCpu>(options, problem);
}

std::unique_ptr<Kernel> make_attention_grad_cpu(const CpuOptions& options,
                                                const AttentionProblem& problem) {
  return std::make_unique<AttentionGradCpu>(options, problem);
}

}  // namespace skyline
