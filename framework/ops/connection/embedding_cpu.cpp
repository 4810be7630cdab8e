#include <algorithm>

#include "framework/ops/connection/embedding.h"
#include "framework/ops/connection/linear_kernels.h"
#include "framework/ops/support/elementwise_cpu.h"

namespace skyline {
namespace {

void check_ids(const std::int32_t* ids, const EmbeddingProblem& problem) {
  for (std::int64_t row = 0; row < problem.rows; ++row) {
    if (ids[row] < 0 || ids[row] >= problem.words) throw WordError(row, ids[row], problem.words);
  }
}

// Sorts the rows by id (counting sort, so rows of one id stay in order), then writes the table's
// gradient word by word. One thread owns a word, so the order of additions is fixed.
class EmbeddingGradKernelCpu : public Kernel {
 public:
  explicit EmbeddingGradKernelCpu(const EmbeddingProblem& problem) : problem_(problem) {}

  // Holds the first place of each word among the sorted rows, and the sorted rows.
  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(problem_.words + 1 + problem_.rows) * sizeof(std::int32_t);
  }

  void run(const KernelArguments& arguments) override {
    const auto* ids = arguments.input<std::int32_t>(0);
    check_ids(ids, problem_);
    if (problem_.adds && arguments.outputs[0] != arguments.inputs[2]) {
      std::copy_n(arguments.input<float>(2), problem_.words * problem_.features,
                  arguments.output<float>(0));
    }
    auto* first = reinterpret_cast<std::int32_t*>(arguments.workspace);
    std::int32_t* rows = first + problem_.words + 1;
    sort_rows(ids, first, rows);
    const std::int64_t chunks = (problem_.words + kChunk - 1) / kChunk;
    for_each_index(
        chunks, problem_.words * problem_.features >= kSerialArithmetic, [&](std::int64_t chunk) {
          const std::int64_t begin = chunk * kChunk;
          write_words(begin, std::min(begin + kChunk, problem_.words),
                      {first, rows, arguments.input<float>(1)}, arguments.output<float>(0));
        });
  }

 private:
  // Words that a thread writes at a time.
  static constexpr std::int64_t kChunk = 256;
  struct Sorted {
    const std::int32_t* first;
    const std::int32_t* rows;
    const float* grad_output;
  };

  void sort_rows(const std::int32_t* ids, std::int32_t* first, std::int32_t* rows) const {
    std::fill_n(first, problem_.words + 1, 0);
    for (std::int64_t row = 0; row < problem_.rows; ++row) ++first[ids[row]];
    for (std::int64_t word = 1; word <= problem_.words; ++word) first[word] += first[word - 1];
    // first[word] starts as the end of the word's places; filling from the back makes it the
    // beginning.
    for (std::int64_t row = problem_.rows - 1; row >= 0; --row) {
      rows[--first[ids[row]]] = static_cast<std::int32_t>(row);
    }
  }

  // Most words do not occur. They are cleared in long runs, which are written without being read
  // first.
  void write_words(std::int64_t begin, std::int64_t end, const Sorted& sorted,
                   float* grad_table) const {
    const auto occurs = [&sorted](std::int64_t word) {
      return sorted.first[word] != sorted.first[word + 1];
    };
    for (std::int64_t word = begin; word < end;) {
      if (occurs(word)) {
        sum_rows(sorted, word, grad_table + word * problem_.features);
        ++word;
        continue;
      }
      std::int64_t next = word + 1;
      while (next < end && !occurs(next)) ++next;
      if (!problem_.adds) {
        std::fill(grad_table + word * problem_.features, grad_table + next * problem_.features,
                  0.0f);
      }
      word = next;
    }
  }

  // Sums some features at a time, before they are added to what is there.
  void sum_rows(const Sorted& sorted, std::int64_t word, float* grad_word) const {
    const std::int32_t* const end = sorted.rows + sorted.first[word + 1];
    for (std::int64_t first = 0; first < problem_.features; first += kVectors) {
      const std::int64_t count = std::min(kVectors, problem_.features - first);
      float sums[kVectors] = {};
      const std::int32_t* row = sorted.rows + sorted.first[word];
      const auto more = [&] { return sorted.grad_output + *row++ * problem_.features + first; };
      std::copy_n(more(), count, sums);
      while (row != end) {
        const float* const values = more();
        for (std::int64_t k = 0; k < count; ++k) sums[k] += values[k];
      }
      float* const to = grad_word + first;
      for (std::int64_t k = 0; k < count; ++k) to[k] = problem_.adds ? to[k] + sums[k] : sums[k];
    }
  }

  EmbeddingProblem problem_;
};

}  // namespace

std::unique_ptr<Kernel> make_embedding_cpu(const EmbeddingProblem& problem) {
  return make_kernel([problem](const KernelArguments& arguments) {
    const std::int64_t rows = problem.rows, features = problem.features;
    const auto* ids = arguments.input<std::int32_t>(0);
    check_ids(ids, problem);
    for_each_index(rows, rows * features >= kSerialArithmetic, [&](std::int64_t row) {
      std::copy_n(arguments.input<float>(1) + ids[row] * features, features,
                  arguments.output<float>(0) + row * features);
    });
  });
}

std::unique_ptr<Kernel> make_embedding_grad_cpu(const EmbeddingProblem& problem) {
  return std::make_unique<EmbeddingGradKernelCpu>(problem);
}

}  // namespace skyline
