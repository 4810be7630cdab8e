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

// The rows of a gradient sorted by id, and the gradient that is written word by word.
struct RowsOfWords {
  EmbeddingProblem problem;
  const float* grad_output;
  std::int32_t* first;  // words + 1: a word's first place among the sorted rows
  std::int32_t* rows;
  float* grad_table;

  // Counts, so rows of one id stay in order.
  void sort(const std::int32_t* ids) const {
    std::fill_n(first, problem.words + 1, 0);
    for (std::int64_t row = 0; row < problem.rows; ++row) ++first[ids[row]];
    for (std::int64_t word = 1; word <= problem.words; ++word) first[word] += first[word - 1];
    // first[word] starts as the end of the word's places; filling from the back makes it the
    // beginning.
    for (std::int64_t row = problem.rows - 1; row >= 0; --row) {
      rows[--first[ids[row]]] = static_cast<std::int32_t>(row);
    }
  }

  // Most words do not occur. They are cleared in long runs, which are written without being read
  // first.
  void write(std::int64_t begin, std::int64_t end) const {
    const auto occurs = [this](std::int64_t word) { return first[word] != first[word + 1]; };
    for (std::int64_t word = begin; word < end;) {
      if (occurs(word)) {
        sum(word);
        ++word;
        continue;
      }
      const std::int64_t unused = word;
      while (word < end && !occurs(word)) ++word;
      if (!problem.adds) {
        std::fill(grad_table + unused * problem.features, grad_table + word * problem.features,
                  0.0f);
      }
    }
  }

  // Sums some features at a time, before they are added to what is there.
  void sum(std::int64_t word) const {
    const std::int32_t* const end = rows + first[word + 1];
    for (std::int64_t begin = 0; begin < problem.features; begin += kVectors) {
      const std::int64_t count = std::min(kVectors, problem.features - begin);
      float sums[kVectors] = {};
      const std::int32_t* row = rows + first[word];
      const auto more = [&] { return grad_output + *row++ * problem.features + begin; };
      std::copy_n(more(), count, sums);
      while (row != end) {
        const float* const values = more();
        for (std::int64_t k = 0; k < count; ++k) sums[k] += values[k];
      }
      float* const to = grad_table + word * problem.features + begin;
      for (std::int64_t k = 0; k < count; ++k) to[k] = problem.adds ? to[k] + sums[k] : sums[k];
    }
  }
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

// One thread owns a word, so the order of additions is fixed.
std::unique_ptr<Kernel> make_embedding_grad_cpu(const EmbeddingProblem& problem) {
  const auto integers = static_cast<std::size_t>(problem.words + 1 + problem.rows);
  return make_kernel(integers * sizeof(std::int32_t), [problem](const KernelArguments& arguments) {
    constexpr std::int64_t kChunk = 256;  // words that a thread writes at a time
    const std::int64_t words = problem.words, elements = words * problem.features;
    const auto* const ids = arguments.input<std::int32_t>(0);
    auto* const first = reinterpret_cast<std::int32_t*>(arguments.workspace);
    auto* const grad_table = arguments.output<float>(0);
    check_ids(ids, problem);
    if (problem.adds && arguments.outputs[0] != arguments.inputs[2]) {
      std::copy_n(arguments.input<float>(2), elements, grad_table);
    }
    const RowsOfWords sorted{problem, arguments.input<float>(1), first, first + words + 1,
                             grad_table};
    sorted.sort(ids);
    const std::int64_t chunks = (words + kChunk - 1) / kChunk;
    for_each_index(chunks, elements >= kSerialArithmetic, [&](std::int64_t chunk) {
      sorted.write(chunk * kChunk, std::min((chunk + 1) * kChunk, words));
    });
  });
}

}  // namespace skyline
