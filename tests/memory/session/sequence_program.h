#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memory/allocator.h"

namespace skyline {

// The lengths of a batch of sentence pairs, longest first on each side, as in packed batches.
struct SequenceBatch {
  std::vector<std::size_t> source, target;

  static std::size_t words(const std::vector<std::size_t>& lengths) {
    std::size_t sum = 0;
    for (const std::size_t length : lengths) sum += length;
    return sum;
  }
  // Returns how many sentences have a word `t`.
  static std::size_t rows(const std::vector<std::size_t>& lengths, std::size_t t) {
    return static_cast<std::size_t>(
        std::count_if(lengths.begin(), lengths.end(), [t](std::size_t n) { return n > t; }));
  }
};

// Returns batches whose joined steps serve every batch of at most `sentences` sentences of at most
// `longest` words. The longest batch alone has the maximum bytes of each request, but not every
// request and lifetime: a loop over shorter sentences ends earlier and passes its block on from
// there (all sentences of one side have n words), and it narrows where sentences end (one has n).
inline std::vector<SequenceBatch> upper_bound_batches(std::size_t sentences, std::size_t longest) {
  const std::vector<std::size_t> full(sentences, longest);
  std::vector<SequenceBatch> batches = {{full, full}};
  for (std::size_t n = 1; n < longest; ++n) {
    const std::vector<std::size_t> shorter(sentences, n);
    std::vector<std::size_t> one_shorter = full;
    one_shorter.back() = n;
    batches.push_back({shorter, full});
    batches.push_back({full, shorter});
    batches.push_back({one_shorter, one_shorter});
  }
  return batches;
}

// Draws lengths like those of parallel text: most are medium, few are long, and the target is about
// as long as the source.
inline SequenceBatch random_batch(std::mt19937_64& random, std::size_t sentences,
                                  std::size_t longest) {
  const auto length = [&](double mean) {
    const double drawn = std::gamma_distribution<double>(4, mean / 4)(random);
    return std::clamp<std::size_t>(static_cast<std::size_t>(drawn + 0.5), 1, longest);
  };
  SequenceBatch batch;
  for (std::size_t i = 0; i < sentences; ++i) {
    batch.source.push_back(length(0.4 * static_cast<double>(longest)));
    batch.target.push_back(length(1.1 * static_cast<double>(batch.source.back())));
  }
  for (auto* lengths : {&batch.source, &batch.target}) {
    std::sort(lengths->begin(), lengths->end(), std::greater<>());
  }
  return batch;
}

// Makes the requests of one training step of an encoder and a decoder, with the sizes of a
// single-precision network of `units`. Packed, it handles all words of a batch at once and always
// makes the same number of requests. Unrolled, it goes cell by cell, and the number depends on the
// lengths.
class SequenceProgram {
 public:
  struct Sizes {
    std::size_t units = 64, vocabulary = 1000, layers = 2;
    bool unrolled = false;
  };
  explicit SequenceProgram(Sizes sizes) : sizes_(sizes) {}

  void step(Allocator& allocator, const SequenceBatch& batch, ShapeKey key) const {
    allocator.begin_step(key);
    run(allocator, batch);
    allocator.end_step();
  }

 private:
  // A layer of one side for all words, or for one word of each sentence that has one.
  struct Cell {
    Block gates, state, output;
    std::size_t rows = 0;
  };
  using Cells = std::vector<std::vector<Cell>>;  // layer, time

  std::size_t bytes(std::size_t rows, std::size_t width) const { return 4 * rows * width; }

  void run(Allocator& allocator, const SequenceBatch& batch) const {
    const std::size_t words = SequenceBatch::words(batch.target);
    Block source = request(allocator, "ids", "source", SequenceBatch::words(batch.source));
    Block target = request(allocator, "ids", "target", words);
    Cells encoder = forward(allocator, "encoder", batch.source);
    Cells decoder = forward(allocator, "decoder", batch.target);
    Block logits = request(allocator, "linear", "output", bytes(words, sizes_.vocabulary));
    Block loss = request(allocator, "cross_entropy", "", bytes(words, 1));
    phase_ = Phase::kBackward;
    Block grad_logits = request(allocator, "cross_entropy", "", bytes(words, sizes_.vocabulary));
    logits.reset();
    Block gradient = request(allocator, "linear", "output", bytes(words, sizes_.units));
    grad_logits.reset();
    gradient = backward(allocator, "decoder", decoder, std::move(gradient));
    gradient = backward(allocator, "encoder", encoder, std::move(gradient));
    gradient.reset();
    phase_ = Phase::kForward;
  }

  Cells forward(Allocator& allocator, std::string_view side,
                const std::vector<std::size_t>& lengths) const {
    Cells cells(sizes_.layers);
    const std::size_t steps = sizes_.unrolled ? lengths.front() : 1;
    for (std::size_t layer = 0; layer < sizes_.layers; ++layer) {
      const std::string name = std::string(side) + std::to_string(layer);
      for (std::size_t t = 0; t < steps; ++t) {
        const std::size_t rows =
            sizes_.unrolled ? SequenceBatch::rows(lengths, t) : SequenceBatch::words(lengths);
        Block narrowed;  // fewer sentences than the previous word has
        if (t > 0 && rows < cells[layer].back().rows) {
          narrowed = request(allocator, "slice_rows", name, bytes(rows, sizes_.units));
        }
        Cell cell{.rows = rows};
        Block workspace = request(allocator, "lstm", name, bytes(rows, 2 * sizes_.units));
        cell.gates = request(allocator, "linear", name, bytes(rows, 4 * sizes_.units));
        workspace.reset();
        cell.state = request(allocator, "lstm_cell", name, bytes(rows, sizes_.units));
        cell.output = request(allocator, "lstm_cell", name, bytes(rows, sizes_.units));
        cells[layer].push_back(std::move(cell));
      }
    }
    return cells;
  }

  // The last cell's gradient leaves each loop, so a shorter loop keeps a different block alive.
  Block backward(Allocator& allocator, std::string_view side, Cells& cells, Block gradient) const {
    for (std::size_t layer = sizes_.layers; layer-- > 0;) {
      const std::string name = std::string(side) + std::to_string(layer);
      while (!cells[layer].empty()) {
        Cell cell = std::move(cells[layer].back());
        cells[layer].pop_back();
        Block gates = request(allocator, "lstm_cell", name, bytes(cell.rows, 4 * sizes_.units));
        Block next = request(allocator, "linear", name, bytes(cell.rows, sizes_.units));
        gates.reset();
        gradient = std::move(next);
      }
    }
    return gradient;
  }

  Block request(Allocator& allocator, std::string_view op, std::string_view layer,
                std::size_t bytes) const {
    return allocator.allocate(bytes, {.op = op, .layer = layer, .phase = phase_});
  }

  Sizes sizes_;
  mutable Phase phase_ = Phase::kForward;
};

}  // namespace skyline
